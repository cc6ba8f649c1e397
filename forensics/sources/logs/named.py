"""Logs whose lines name their fields: JSON objects, `label:value` and `key=value`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from forensics.sources.headings import name_by_words, split_words
from forensics.sources.logs import fields as log_fields
from forensics.sources.logs.catalogue import JsonShape, LogFormat, json_keys
from forensics.sources.logs.fields import Field
from forensics.sources.logs.strings import stamp_notes

_DEPTH = 4
_ISO = re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(Z| ?[+-]\d\d:?\d\d)?$")
_CLF = re.compile(r"^\[?\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\]?$")
_EPOCH = re.compile(r"^1\d{9,18}(?:\.\d+)?$")
_REQUEST = re.compile(r"^[A-Z]{3,10} \S+")
_METHOD = re.compile(r"^[A-Z]{3,10}$")
_TARGET = re.compile(r"^(?:/|\*$|[a-z]+://)")
_STATUS = re.compile(r"^-?\d{1,3}$")
_TEXT_DURATION = re.compile(r"^\d+(?:\.\d+)?(?:ns|us|µs|ms|s)$")

BROKEN_JSON = (
    (r"\\x([0-9A-Fa-f]{2})", r"\\u00\1"),
    (r'":\s*-?\s*([,}])', r'":null\1'),
    (r'":\s*(\d[\d.]*(?:(?:, | : )[\d.-]+)+)\s*([,}])', r'":"\1"\2'),
)
"""What nginx writes when a template quotes too little: \\x22 in a string, a missing value, a bare list of tries."""


def parsed(line: str) -> dict[str, Any] | None:
    """The object of a line, mended where nginx broke it; None when it is none."""
    for attempt in (line, _mended(line)):
        try:
            found = json.loads(attempt)
        except (ValueError, RecursionError):
            continue
        return found if isinstance(found, dict) else None
    return None


def _mended(line: str) -> str:
    for pattern, by in BROKEN_JSON:
        line = re.sub(pattern, by, line)
    return line


@dataclass(frozen=True, slots=True)
class _Path:
    """One path of the objects: as DuckDB writes it, its keys, its values over the sample."""

    path: str
    keys: tuple[str, ...]
    values: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """Its keys folded, those with dots in them cut: http.method and {"http": {"method": ...}} are one."""
        return tuple(log_fields.fold(part) for key in self.keys for part in key.split(".") if part)

    @property
    def dotted(self) -> str:
        return re.sub(r'\$\.?|"', "", self.path)


def json_log(lines: Sequence[str], shapes: Sequence[JsonShape], *, dated: bool = False) -> LogFormat | None:
    """The format of JSON lines that are requests: a time, a method and a path among the keys; None for other JSON.

    Args:
        lines: a sample.
        shapes: products whose keys are known.
        dated: the lines need no time, for a collector put one beside them.
    """
    objects = [o for line in lines if line.startswith("{") and (o := parsed(line)) is not None]
    if not objects:
        return None
    gathered: dict[str, tuple[tuple[str, ...], list[str]]] = {}
    for record in objects:
        for path, keys, value in _leaves(record, "$", ()):
            gathered.setdefault(path, (keys, []))[1].append(value)
    paths = [_Path(p, keys, tuple(values)) for p, (keys, values) in gathered.items()]
    shape = _shape(shapes, paths, len(objects))
    found = [*(_known(shape, paths) if shape else ()), *_by_name(paths, shape)]
    fields = _chosen([*found, *(() if shape else _by_words(paths, found))])
    return _named_format(fields, shape, "json", "operator-written JSON (nginx escape=json and the like)", dated)


def _leaves(value: Any, path: str, keys: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Every scalar with its path; of a list of scalars the first; a list of objects as it stands."""
    if isinstance(value, dict) and len(keys) < _DEPTH:
        for key, inner in value.items():
            if '"' not in key:
                yield from _leaves(inner, f'{path}."{key}"', (*keys, key))
    elif isinstance(value, list) and value and isinstance(value[0], str):
        yield f"{path}[0]", keys, value[0]
    elif isinstance(value, list):
        yield path, keys, json.dumps(value)
    elif value is not None and not isinstance(value, bool):
        yield path, keys, value if isinstance(value, str) else json.dumps(value)


def _shape(shapes: Sequence[JsonShape], paths: Sequence[_Path], rows: int) -> JsonShape | None:
    counts = {p.dotted: len(p.values) for p in paths}
    return next((s for s in shapes if all(2 * counts.get(n, 0) >= rows for n in s.needs)), None)


def _known(shape: JsonShape, paths: Sequence[_Path]) -> Iterator[tuple[Field, _Path]]:
    by_name = {p.dotted: p for p in paths}
    for field in shape.fields:
        found = by_name.get(field.path)
        if found is not None:
            unit = field.unit or (_time_unit(found.values) if field.role == "time" else "")
            yield replace(field, path=found.path, unit=unit or ""), found


def _by_name(paths: Sequence[_Path], shape: JsonShape | None) -> Iterator[tuple[Field, _Path]]:
    """Fields by the names of their keys; a product with known keys only adds what headers say."""
    taken = {field.path for field in shape.fields} if shape else set()
    for path in paths:
        if not path.parts or path.dotted in taken:
            continue
        *parents, key = path.parts
        known = _known_key(path.parts) if shape is None else None
        field = known or next(
            filter(None, map(log_fields.header, (path.keys[-1], key, "-".join(path.parts[-2:])))), None
        )
        answer = "resp" in " ".join(parents) or (known is None and key.startswith(("downstream-", "origin-", "resp")))
        if field is None or (answer and field.role not in ("retry_after", "status", "bytes")):
            continue
        if _SETTINGS & set(parents) or (field.role == "client" and _OTHERS & set(parents)):
            continue
        settled = _with_unit(replace(field, name=path.keys[-1], path=path.path), path.values)
        if settled is not None:
            yield settled, path


def _known_key(parts: Sequence[str]) -> Field | None:
    """The meaning of a key by as many of its parts as are known together: http.request.method is request-method."""
    known = json_keys()
    return next((known[name] for start in range(len(parts)) if (name := "-".join(parts[start:])) in known), None)


def _by_words(paths: Sequence[_Path], found: Sequence[tuple[Field, _Path]]) -> Iterator[tuple[Field, _Path]]:
    """Fields for roles that no key names, by the words of the keys that are left, where the values bear them out."""
    roles, used = {field.role for field, _ in found}, {path.path for _, path in found}
    left = {" ".join(p.parts): p for p in paths if p.path not in used and not (_SETTINGS | _OTHERS) & set(p.parts[:-1])}
    for role, name in name_by_words(left, "requests").items():
        unit = _unit_of(split_words(name)) if role == "duration" else ""
        settled = _with_unit(Field(role, left[name].keys[-1], unit, path=left[name].path), left[name].values)
        if role not in roles and settled is not None:
            yield settled, left[name]


def _unit_of(words: Sequence[str]) -> str:
    return next((unit for unit, said in _UNITS.items() if said & set(words)), "?")


_UNITS = {
    "ms": {"ms", "millis", "msec", "milliseconds"},
    "us": {"us", "micros", "usec", "microseconds"},
    "ns": {"ns", "nanos", "nsec", "nanoseconds"},
    "s": {"s", "sec", "secs", "seconds"},
}
_OTHERS = {"server", "destination", "dest", "upstream", "backend", "origin", "local", "host", "peer-service", "log"}
"""Parents of keys that speak of somebody other than the caller."""
_SETTINGS = {"service", "route", "upstream", "balancer", "config", "resource", "labels"}
"""Parents of keys that are no part of a request: {"service": {"retries": 5}} is no attempt."""

_MUST_LOOK: dict[str, re.Pattern[str]] = {
    "request": _REQUEST, "method": _METHOD, "target": _TARGET, "status": _STATUS,
}  # fmt: skip


def _with_unit(field: Field, values: Sequence[str]) -> Field | None:
    """The field with the unit its values show; None when they do not look like its role."""
    filled = [v for v in values if v not in ("", "-")]
    if field.role == "time":
        unit = _time_unit(filled)
        # "start" stays in the unit's place until the format knows which moment its stamp is
        return replace(field, unit=unit + (" start" if field.unit == "start" else "")) if unit else None
    test = _MUST_LOOK.get(field.role)
    if test is not None and 2 * sum(1 for v in filled if test.match(v)) < len(filled):
        return None
    if field.role == "duration":
        return replace(field, unit=_duration_unit(field.unit, filled))
    return field


def _time_unit(values: Sequence[str]) -> str:
    def most(test: Callable[[str], object]) -> bool:
        return 2 * sum(1 for v in values if test(v)) > len(values)

    if most(_CLF.match):
        return "clf"
    if most(_EPOCH.match):
        return "epoch"
    if most(_ISO.match):
        return "iso" if most(lambda v: (m := _ISO.match(v)) and m[1]) else "iso_local"
    return ""


def _duration_unit(unit: str, values: Sequence[str]) -> str:
    """The unit as named, or as the numbers show: 184ms is said, 0.184 is seconds, 184 milliseconds, 184023 micro."""
    if any(_TEXT_DURATION.match(v) for v in values):
        return "text"
    if unit != "?":
        return unit
    numbers = [float(v) for v in values if re.fullmatch(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", v)]
    if not numbers:
        return "ms"
    typical = median(numbers)
    if any(n != int(n) for n in numbers):
        return "s" if typical < 10 else "ms"
    return "ms" if typical < 20_000 else "us" if typical < 20_000_000 else "ns"


def _chosen(found: Sequence[tuple[Field, _Path]]) -> tuple[Field, ...]:
    """One field a role: known paths first, then finer clocks, fuller and shallower paths."""
    best: dict[str, tuple[tuple[int, int, int], Field]] = {}
    for order, (field, path) in enumerate(found):
        filled = sum(1 for v in path.values if v not in ("", "-"))
        fine = 0
        if field.role == "time":
            fine = -2 * ("start" in field.unit) - any(re.search(r"[.,]\d|\d{13}", v) for v in path.values)
        elif field.role == "deadline":
            fine = log_fields.rank(field)
        rank = (fine, -filled if field.role != "attempt" else 0, order)
        if field.role not in best or rank < best[field.role][0]:
            best[field.role] = (rank, field)
    return tuple(field for _, field in best.values())


def _named_format(
    fields: tuple[Field, ...], shape: JsonShape | None, format_id: str, product: str, dated: bool
) -> LogFormat | None:
    roles = {f.role for f in fields}
    if not (dated or roles & {"time", "date"}) or not ("request" in roles or {"method", "target"} <= roles):
        return None
    starts = any(f.role == "time" and f.unit.endswith(" start") for f in fields)
    time_is = shape.time_is if shape else "start" if starts else "end"
    plain = tuple(replace(f, unit=f.unit.removesuffix(" start")) for f in fields)
    notes = (*(shape.notes if shape else ()), *stamp_notes(plain, time_is))
    return LogFormat(
        id=shape.id if shape else format_id,
        product=shape.product if shape else product,
        reader="json" if format_id == "json" else "labels",
        fields=plain,
        time_is=time_is,
        notes=notes,
        hangup=shape.hangup if shape else "",
    )


# Labels ---------------------------------------------------------------------------------------------------------------

_LTSV = re.compile(r"(?:^|\t)([A-Za-z_@][\w.-]*):([^\t]*)")
_LOGFMT = re.compile(r'(?:^|\s)([A-Za-z_@][\w.-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)')
_LTSV_KEYS = {"host": Field("client", "host"), "taken_time": Field("duration", "taken_time", "us")}


def label_log(lines: Sequence[str], *, dated: bool = False) -> LogFormat | None:
    """LTSV (`label:value` and tabs) or key=value lines that are requests; None for others."""
    for split, pattern, format_id in (
        (_LTSV, "(?:^|\t)@label@:([^\t]*)", "ltsv"),
        (_LOGFMT, r'(?:^|\s)@label@=("(?:[^"\\]|\\.)*"|[^\s"]*)', "logfmt"),
    ):
        rows = [dict(split.findall(line)) for line in lines]
        rows = [row for row in rows if len(row) >= 3]
        if 2 * len(rows) < len(lines):
            continue
        gathered: dict[str, list[str]] = {}
        for row in rows:
            for label, value in row.items():
                gathered.setdefault(label, []).append(value.strip('"'))
        paths = [_Path(label, (label,), tuple(values)) for label, values in gathered.items()]
        extra = [
            (replace(_LTSV_KEYS[p.path], path=p.path), p) for p in paths if format_id == "ltsv" and p.path in _LTSV_KEYS
        ]
        named = [*_by_name(paths, None), *extra]
        fields = _chosen([*named, *_by_words(paths, named)])
        found = _named_format(fields, None, format_id, f"{format_id.upper()} lines", dated)
        if found is not None:
            return replace(found, pattern=pattern)
    return None
