"""Find query files and read their headers.

A query file is one plain SELECT under a TOML header written in SQL comments, so the same file runs in the
command line, in a notebook and in the duckdb shell. This module knows text only; it runs nothing.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import MappingProxyType
from typing import Any

from forensics.errors import QueryError, UsageError

KINDS = ("view", "measure", "detection")
PARAMETER_TYPES = ("BIGINT", "DOUBLE", "VARCHAR", "TIMESTAMP")

_OPEN, _CLOSE = "-- /// query", "-- ///"
_PLACEHOLDER = re.compile(r"\$([a-z_][a-z0-9_]*)")
_LINE_COMMENT = re.compile(r"--[^\n]*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `$name` of a query: always bound, never pasted."""

    name: str
    type: str
    default: Any
    help: str


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column that a query returns."""

    name: str
    type: str
    help: str


@dataclass(frozen=True, slots=True)
class Query:
    """One query file: what it answers, what it needs, and its SQL."""

    name: str
    """`pack/name`, the path below queries/ without the ending."""
    title: str
    answers: str
    kind: str
    needs: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    columns: tuple[ResultColumn, ...]
    sql: str
    """The SELECT alone, without header and closing semicolon."""
    text: str
    """The whole file."""


def root() -> Traversable:
    """The folder of packs: inside the wheel, or the checkout's own (an editable install sees the latter)."""
    packaged = files("forensics") / "queries"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parent.parent / "queries"


def _walk(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".sql"):
            yield prefix + entry.name.removesuffix(".sql"), entry


@cache
def load_all() -> Mapping[str, Query]:
    """Every query of the packs by name.

    Raises:
        QueryError: a header is malformed; the message names the file.
    """
    return MappingProxyType({name: parse(name, entry.read_text(encoding="utf-8")) for name, entry in _walk(root())})


def get(name: str) -> Query:
    """The query of that name; a short name will do where it is unique.

    Raises:
        UsageError: no such query; the hint lists the nearest ones.
    """
    queries = load_all()
    if name in queries:
        return queries[name]
    ending = [q for full, q in queries.items() if full.rsplit("/", 1)[-1] == name]
    if len(ending) == 1:
        return ending[0]
    from difflib import get_close_matches

    near = [q.name for q in ending] or get_close_matches(name, queries, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "'forensics queries' lists them all"
    raise UsageError(f"no query is called {name!r}", hint)


def views() -> tuple[Query, ...]:
    """The queries of kind view, which a case keeps as views so that the others can read them; the read ones first."""
    waiting = {q.name.rsplit("/", 1)[-1]: q for q in load_all().values() if q.kind == "view"}
    found: list[Query] = []
    while waiting:
        ready = [name for name, q in waiting.items() if not waiting.keys() & set(q.needs)]
        if not ready:
            raise QueryError(f"views read one another in a circle: {', '.join(waiting)}")
        found += [waiting.pop(name) for name in ready]
    return tuple(found)


def placeholders(sql: str) -> frozenset[str]:
    """The `$names` of a statement, comments aside."""
    return frozenset(_PLACEHOLDER.findall(_LINE_COMMENT.sub("", sql)))


def parse(name: str, text: str) -> Query:
    """Read one query file.

    Raises:
        QueryError: no header, malformed TOML, an unknown kind or type, or parameters that differ from the placeholders.
    """
    lines = text.splitlines()
    if not lines or lines[0].strip() != _OPEN:
        raise QueryError(f"{name}.sql:1: expected the header line {_OPEN!r}")
    try:
        end = next(i for i, line in enumerate(lines[1:], 1) if line.strip() == _CLOSE)
    except StopIteration:
        raise QueryError(f"{name}.sql: the header is not closed by a line {_CLOSE!r}") from None
    try:
        header = tomllib.loads("\n".join(line.removeprefix("--").removeprefix(" ") for line in lines[1:end]))
    except tomllib.TOMLDecodeError as exc:
        raise QueryError(f"{name}.sql: the header is not TOML: {exc}") from exc
    sql = "\n".join(lines[end + 1 :]).strip().rstrip(";").rstrip()
    return _query(name, header, sql, text)


def _query(name: str, header: dict[str, Any], sql: str, text: str) -> Query:
    missing = {"title", "answers", "kind", "needs", "columns"} - header.keys()
    if missing:
        raise QueryError(f"{name}.sql: the header lacks {', '.join(sorted(missing))}")
    if header["kind"] not in KINDS:
        raise QueryError(f"{name}.sql: kind {header['kind']!r} is none of {', '.join(KINDS)}")
    parameters = {
        key: Parameter(key, value["type"], value.get("default"), value.get("help", ""))
        for key, value in header.get("params", {}).items()
    }
    for parameter in parameters.values():
        if parameter.type not in PARAMETER_TYPES:
            raise QueryError(f"{name}.sql: parameter {parameter.name} has type {parameter.type!r}")
    if placeholders(sql) != parameters.keys():
        odd = ", ".join(sorted(placeholders(sql) ^ parameters.keys()))
        raise QueryError(f"{name}.sql: header parameters and placeholders differ: {odd}")
    return Query(
        name=name,
        title=header["title"],
        answers=header["answers"],
        kind=header["kind"],
        needs=tuple(header["needs"]),
        parameters=MappingProxyType(parameters),
        columns=tuple(ResultColumn(k, v["type"], v.get("help", "")) for k, v in header["columns"].items()),
        sql=sql,
        text=text,
    )


def bind(query: Query, values: Mapping[str, Any]) -> dict[str, Any]:
    """The complete parameter set of a query, each value converted to the header's type.

    Raises:
        UsageError: a name the query does not have, or a value that is not of its type.
    """
    unknown = values.keys() - query.parameters.keys()
    if unknown:
        has = ", ".join(query.parameters) or "no parameters"
        raise UsageError(f"query {query.name} has no parameter {sorted(unknown)[0]!r}", f"it has: {has}")
    return {
        name: convert(query.name, parameter, values.get(name, parameter.default))
        for name, parameter in query.parameters.items()
    }


def convert(query_name: str, parameter: Parameter, value: Any) -> Any:
    """One value as the type its header names; None stays None (SQL NULL).

    Raises:
        UsageError: the value is not of that type.
    """
    try:
        match parameter.type:
            case _ if value is None:
                return None
            case "BIGINT" if not isinstance(value, bool | float) and abs(int(value)) < 2**63:
                return int(value)
            case "DOUBLE" if not isinstance(value, bool) and math.isfinite(float(value)):
                return float(value)
            case "TIMESTAMP":
                moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
                return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
            case "VARCHAR":
                return str(value)
    except (TypeError, ValueError):
        pass
    raise UsageError(
        f"query {query_name}: parameter {parameter.name} expects {parameter.type}, got {value!r}", parameter.help
    )
