"""Dead letters as products export them: fields nested in headers, attributes and bodies, found by paths kept as data.

Runs while JSON lines are staged: a shape that fits adds columns under the headings `letter.reason`, ..., which the
names in columns.toml know.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb

from forensics.sources.staged import StagedColumn

HEADING = "letter."
_FIELDS = (
    *("message_id", "business_key", "reason", "attempts", "first_failed_at", "last_failed_at", "original", "queue"),
    "trace_id",
)
_SAMPLE = 2000
# Names under which messages carry the business key, most telling first; matched in the text, at any depth.
_KEY_NAMES = (
    *("order_id", "orderId", "order_no", "orderNo", "order_number", "orderNumber", "orderRef", "order_ref", "order"),
    *("merchant_order_id", "business_key", "businessKey", "주문번호", "注文番号"),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """How one product's dead letters look."""

    id: str
    product: str
    exhausted: bool
    """Whether a letter without a reason died because its deliveries were used up."""
    detect: tuple[tuple[str, ...], ...]
    paths: Mapping[str, tuple[str, ...]]
    how: Mapping[str, str]
    """Field -> how it is read, where the text alone is not it."""
    plus: int
    base64: bool


@cache
def shapes() -> tuple[Shape, ...]:
    """All shapes, the more special before the more general."""
    text = (files("forensics.sources") / "data" / "dead_letters.toml").read_text(encoding="utf-8")
    return tuple(_shape(entry) for entry in tomllib.loads(text)["shape"])


def _shape(entry: Mapping[str, Any]) -> Shape:
    return Shape(
        id=entry["id"],
        product=entry["product"],
        exhausted=entry.get("exhausted", False),
        detect=tuple(tuple(group) for group in entry["detect"]),
        paths={name: tuple(entry[name]) for name in _FIELDS if name in entry},
        how={name: entry[f"{name}_as"] for name in _FIELDS if f"{name}_as" in entry},
        plus=entry.get("plus", 0),
        base64=entry.get("base64", False),
    )


def gives_no_reason(file_format: str | None) -> bool:
    """Whether letters of that format die only when their deliveries are used up, and carry no reason."""
    return any(shape.id == file_format and shape.exhausted for shape in shapes())


def find_shape(connection: duckdb.DuckDBPyConnection) -> Shape | None:
    """The first shape that fits the objects in `staged_lines`; None when none does."""
    tests = ", ".join(_fits(shape) for shape in shapes())
    row = connection.execute(
        f"SELECT {tests} FROM (SELECT object FROM staged_lines WHERE object IS NOT NULL LIMIT {_SAMPLE})"
    ).fetchone()
    return next((s for s, fits in zip(shapes(), row or (), strict=False) if fits), None)


def _fits(shape: Shape) -> str:
    groups = (" OR ".join(f"{_text(path)} IS NOT NULL" for path in group) for group in shape.detect)
    return f"coalesce(bool_or({' AND '.join(f'({group})' for group in groups)}), false)"


def columns_of(shape: Shape) -> tuple[tuple[StagedColumn, str], ...]:
    """The columns a shape adds to `staged`, each with its expression over `object`."""
    expressions = {name: _expression(shape, name) for name in shape.paths}
    return tuple(
        (StagedColumn(f"{HEADING}{name}", f"l{i}", "VARCHAR"), sql) for i, (name, sql) in enumerate(expressions.items())
    )


def business_key_sql(text: str) -> str:
    """The business key named anywhere in a message's text, cut-off texts included; NULL when none is whole.

    Args:
        text: SQL of the message as text; JSON in JSON text and PHP's `s:7:"orderId";s:3:"A-1"` are read as well.
    """
    plain = f"replace({text}, '\\\"', '\"')"
    after = r"(?:\s*:\s*|;s:\d+:)(?:\"([^\"]+)\"|(-?\w+)\s*[,}\]])"
    found = (
        f"nullif(regexp_extract({plain}, '\"{name}\"{after}', {n}), '')"  # a text, or a number
        for name in _KEY_NAMES
        for n in (1, 2)
    )
    return f"nullif(coalesce({', '.join(found)}), 'null')"


def _expression(shape: Shape, name: str) -> str:
    paths = shape.paths[name]
    if shape.how.get(name) == "x_death":
        return _x_death(name, f"coalesce({', '.join(_json(path) for path in paths)})")
    text = f"coalesce({', '.join(_text(path) for path in paths)})"
    if name == "attempts":
        return f"CAST(TRY_CAST({text} AS BIGINT) + {shape.plus} AS VARCHAR)"
    if name.endswith("_at"):
        return _time(text)
    if name == "original" and shape.base64:
        return f"coalesce(TRY(decode(from_base64({text}))), {text})"
    return text


def _text(path: str) -> str:
    """SQL of the text at a path; '' counts as nothing, so that the next path is tried."""
    parts = path.split(" + ")
    if len(parts) > 1:
        return " || ': ' || ".join(_text(part) for part in parts)
    if "[]" in path:
        place, name = path.split("[]")
        listed = f"TRY_CAST(json_extract(object, {_literal(place)}) AS VARCHAR[])"
        return f"nullif({listed}[list_position({listed}, {_literal(name)}) + 1], '')"
    return f"nullif(json_extract_string(object, {_literal(_jsonpath(path))}), '')"


def _json(path: str) -> str:
    return f"json_extract(object, {_literal(_jsonpath(path))})"


def _jsonpath(pointer: str) -> str:
    """A pointer as the engine's other notation where it counts from the end of a list."""
    if "#" not in pointer:
        return pointer
    parts = (f"[{p}]" if p.isdigit() or p.startswith("#") else f'."{p}"' for p in pointer.strip("/").split("/"))
    return "$" + "".join(parts)


def _time(text: str) -> str:
    """A time as text: counts of seconds, milliseconds or microseconds since 1970 become ISO 8601."""
    number = f"TRY_CAST({text} AS DOUBLE)"
    unit = f"CASE WHEN {number} < 1e11 THEN 1e6 WHEN {number} < 1e14 THEN 1e3 WHEN {number} < 1e17 THEN 1 ELSE 1e-3 END"
    moment = f"make_timestamp(CAST(round({number} * ({unit})) AS BIGINT))"
    return (
        f"CASE WHEN {number} IS NULL THEN {text} WHEN {number} > 0 THEN strftime({moment}, '%Y-%m-%dT%H:%M:%S.%fZ') END"
    )


def _x_death(name: str, header: str) -> str:
    """From RabbitMQ's x-death: tries, first time or last time of its work queue (where it died first).

    Entries of wait queues are waits, not tries. A time stands for the first death of its entry, so the last one is
    known only where every entry counts one.
    """
    entries = f"TRY_CAST({header} AS JSON[])"
    first = "json_extract_string(object, ['/headers/x-first-death-queue', '/properties/headers/x-first-death-queue'])"
    queue = f"coalesce(({first})[1], ({first})[2], {entries}[-1] ->> 'queue')"
    work = f"list_filter({entries}, lambda e: e ->> 'queue' = {queue})"
    counts = f"list_transform({work}, lambda e: TRY_CAST(e ->> 'count' AS BIGINT))"
    time = "coalesce(json_extract_string(e, '/time/value'), e ->> 'time')"
    seconds = f"list_transform({work}, lambda e: TRY_CAST({time} AS DOUBLE))"
    if name == "attempts":
        return f"CAST(list_sum({counts}) AS VARCHAR)"
    if name == "first_failed_at":
        return _time(f"CAST(list_min({seconds}) AS VARCHAR)")
    return _time(f"CAST(CASE WHEN list_max({counts}) = 1 THEN list_max({seconds}) END AS VARCHAR)")


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def notes_of(shape: Shape) -> tuple[str, ...]:
    """What a reader should know about how the letters were read."""
    return (f"dead letters as {shape.product} writes them: {', '.join(shape.paths)} stand where it keeps them",)
