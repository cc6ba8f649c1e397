"""Roles of unnamed fields, by what is in them: an attempt number, a key, a request id, a duration ...

Operators append fields to a product's format without naming them in the line. What they are shows in their values over
many lines: their syntax, where they are blank, how often they repeat, and how they go with the status and the method.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from forensics.sources.logs.fields import Field, header

_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_TRACEPARENT = re.compile(r"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")
_AMAZON_TRACE = re.compile(r"^(?:Self=[^;]*;)?Root=1-[0-9a-f]{8}-[0-9a-f]{24}")
_MILLIS = re.compile(r"^\d+\.\d{3}(?:(?:, | : )(?:\d+\.\d{3}|-))*$")
_DECIMAL = re.compile(r"^\d+\.\d{4,9}$")
_SUFFIXED = re.compile(r"^\d+(?:\.\d+)?(?:ns|us|µs|ms|s)$")
_STATUSES = re.compile(r"^[1-5]\d\d(?:(?:, | : )(?:\d{3}|-))*$")
_INTEGER = re.compile(r"^\d{1,12}$")
_SMALL = re.compile(r"^\d{1,2}$")
_EPOCH_MS = re.compile(r"^1\d{12}$")
_ADDRESSES = re.compile(r"^(?:unix:\S+|(?:\d{1,3}\.){3}\d{1,3}:\d+|\[[0-9a-fA-F:]+\]:\d+)(?:(?:, | : ).*)?$")
_CLIENTS = re.compile(r"^(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+)(?:, ?[0-9a-fA-F:.]+)*$")
_ID = re.compile(r"^(?=[^ /?=]*\d)[A-Za-z0-9][A-Za-z0-9_:.+=~-]{5,127}$")
_NO_ID = re.compile(r"^(?:[\d.]+|HTTP/.*|TLSv.*|.*\.(?:com|net|org|io|local|internal|example)(?::\d+)?)$")
_AGENT = re.compile(r"^(?:Mozilla/|curl/|[A-Za-z][\w.-]*/\d)")
_SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True, slots=True)
class Column:
    """One unnamed field over the sample, with the method and status of each line."""

    where: str
    """In words: "field 2 after the user agent"."""
    values: tuple[str, ...]
    methods: tuple[str, ...]
    statuses: tuple[str, ...]
    bare: bool = False
    label: str = ""
    """The line itself names it: `kong_request_id: "..."`."""

    @property
    def filled(self) -> tuple[str, ...]:
        """Values that are not blank; nginx and Apache write - for a missing header."""
        return tuple(v for v in self.values if v not in ("", "-"))

    def share(self, test: re.Pattern[str]) -> float:
        """Of the filled values, those that pass."""
        filled = self.filled
        return sum(1 for v in filled if test.match(v)) / len(filled) if filled else 0.0

    def filled_where(self, test: Callable[[str, str], bool]) -> float:
        """Share of filled values among the lines whose method and status pass; 0 when there are none."""
        lines = [v for v, m, s in zip(self.values, self.methods, self.statuses, strict=True) if test(m, s)]
        return sum(1 for v in lines if v not in ("", "-")) / len(lines) if lines else 0.0


def guess(columns: Sequence[Column], *, has_duration: bool = False) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """The role of each column, and why, in words.

    Args:
        columns: in order of the line.
        has_duration: the format has a duration of its own, so no integer need be one.
    """
    found: list[Field | None] = [_at_sight(c) for c in columns]
    _durations(columns, found, has_duration)
    _small_numbers(columns, found, has_duration)
    _identifiers(columns, found)
    fields = tuple(
        f if f is not None else Field("other" if c.filled else "undecided", c.where)
        for f, c in zip(found, columns, strict=True)
    )
    return fields, tuple(_words(f) for f in fields if f.role not in ("other", "undecided"))


def _words(field: Field) -> str:
    name = field.role.replace("_", " ")
    unit = {"s": " in seconds", "ms": " in milliseconds", "us": " in microseconds"}.get(field.unit, "")
    return f"{field.name} is the {name}{unit}"


def _at_sight(column: Column) -> Field | None:
    """What the syntax alone tells."""
    if column.label:
        named = header(column.label)
        return named if named is not None else Field("other", column.label)
    if not column.filled:
        return None
    sure: tuple[tuple[re.Pattern[str], str, str], ...] = (
        (_TRACEPARENT, "trace_id", ""),
        (_AMAZON_TRACE, "trace_id", ""),
        (_SUFFIXED, "duration", "text"),
        (_ADDRESSES, "other", ""),
        (_CLIENTS, "forwarded_for", ""),
        (_EPOCH_MS, "deadline", "epoch"),
        (_AGENT, "user_agent", ""),
    )
    for test, role, unit in sure:
        if column.share(test) >= 0.9:
            return Field(role, column.where, unit)
    if column.share(_STATUSES) >= 0.9 and _agrees(column):
        return Field("upstream_status", column.where)
    return None


def _agrees(column: Column) -> bool:
    """The last of its statuses is the line's own, mostly: a proxy hands on what it got."""
    pairs = [(v, s) for v, s in zip(column.values, column.statuses, strict=True) if v not in ("", "-")]
    return sum(1 for v, s in pairs if v[-3:] == s) >= 0.7 * len(pairs)


def _durations(columns: Sequence[Column], found: list[Field | None], has_duration: bool) -> None:
    """$request_time before $upstream_response_time; else decimals; else Apache's %D."""
    open_columns = [i for i, f in enumerate(found) if f is None]
    millis = [i for i in open_columns if columns[i].share(_MILLIS) >= 0.9]
    if millis:
        whole = _longest(columns, millis)
        for i in millis:
            taken = i != whole or has_duration
            found[i] = Field("other" if taken else "duration", columns[i].where, "s")
        return
    if has_duration or any(f is not None and f.role == "duration" for f in found):
        return
    decimals = [i for i in open_columns if columns[i].share(_DECIMAL) >= 0.9]
    if decimals:
        found[decimals[0]] = Field("duration", columns[decimals[0]].where, "s")
        return
    for i in open_columns:
        if columns[i].share(_INTEGER) >= 0.95 and columns[i].share(_SMALL) < 0.7 and columns[i].bare:
            typical = median(int(v) for v in columns[i].filled)
            found[i] = Field("duration", columns[i].where, "us" if typical >= 1000 else "ms")
            return


def _longest(columns: Sequence[Column], candidates: Sequence[int]) -> int:
    """Of several times in seconds, the whole request: never blank, and no shorter than a part of it."""
    best = candidates[0]
    for i in candidates[1:]:
        filled, held = len(columns[i].filled), len(columns[best].filled)
        if filled > held or (filled == held and _total(columns[i]) > 1.02 * _total(columns[best])):
            best = i
    return best


def _total(column: Column) -> float:
    return sum(float(re.split("[, ]", v, maxsplit=1)[0]) for v in column.filled if v[0].isdigit())


def _small_numbers(columns: Sequence[Column], found: list[Field | None], has_duration: bool) -> None:
    """An attempt number, unless it only stands beside 429 and 503 (Retry-After) or is a duration in seconds (%T)."""
    for i, column in enumerate(columns):
        if found[i] is not None or column.share(_INTEGER) < 0.95:
            continue
        asked = column.filled_where(lambda _, status: status in ("429", "503"))
        if asked > 0 and column.filled_where(lambda _, status: status not in ("429", "503")) == 0:
            found[i] = Field("retry_after", column.where, "s")
        elif (
            column.bare
            and len(column.filled) == len(column.values)
            and "0" in column.values
            and not (has_duration or _timed(found))
        ):
            found[i] = Field("duration", column.where, "s")  # %T: whole seconds, mostly none
        elif column.share(_SMALL) >= 0.97 and _looks_like_tries(column):
            taken = any(f is not None and f.role == "attempt" for f in found)
            found[i] = Field("other" if taken else "attempt", column.where)


def _timed(found: Sequence[Field | None]) -> bool:
    return any(f is not None and f.role == "duration" for f in found)


def _looks_like_tries(column: Column) -> bool:
    """Second tries need first ones: counts fall, and no number is skipped far (1, 2, 3 against 0, 3, 10, 30)."""
    counts = {int(v): 0 for v in column.filled}
    for value in column.filled:
        counts[int(value)] += 1
    numbers = sorted(counts)
    steady = all(b - a <= 2 for a, b in pairwise(numbers)) and numbers[0] <= 2
    falling = all(counts[b] <= counts[a] * 1.5 + 3 for a, b in pairwise(numbers))
    return steady and falling


def _identifiers(columns: Sequence[Column], found: list[Field | None]) -> None:
    """The key and the request id among fields that hold ids."""
    ids = [i for i, f in enumerate(found) if f is None and _is_id(columns[i])]
    if not ids:
        return
    attempt = next((i for i, f in enumerate(found) if f is not None and f.role == "attempt"), None)
    if len(ids) == 1:
        role = "idempotency_key" if _key_score(columns[ids[0]]) > 0.05 else "request_id"
        found[ids[0]] = Field(role, columns[ids[0]].where)
        return

    def preference(i: int) -> tuple[float, float, int]:
        distance = -abs(i - attempt) if attempt is not None else 0
        return _key_score(columns[i]), distance, -i

    ranked = sorted(ids, key=preference, reverse=True)
    roles = ["idempotency_key", "request_id"] + ["other"] * (len(ranked) - 2)
    rest = sorted(ranked[1:], key=lambda i: (-len(columns[i].filled), i))
    for role, i in zip(roles, [ranked[0], *rest], strict=True):
        found[i] = Field(role, columns[i].where)


def _is_id(column: Column) -> bool:
    filled = column.filled
    if not filled or column.share(_ID) < 0.9 or column.share(_NO_ID) > 0.5:
        return False
    return column.share(re.compile(_UUID)) > 0.9 or len(set(filled)) >= max(0.2 * len(filled), min(2, len(filled)))


def _key_score(column: Column) -> float:
    """Above 0: more like an idempotency key than like a request id.

    Keys go with requests that change something; request ids go with all. Keys are blank for callers that send none.
    """
    filled = column.filled
    if filled and sum(1 for v in filled if re.match(r"(?i)idem|key|ik[-_]", v)) > 0.5 * len(filled):
        return 10.0
    if filled and sum(1 for v in filled if re.match(r"(?i)req|rid[-_]", v)) > 0.5 * len(filled):
        return -10.0
    safe = column.filled_where(lambda method, _: method in _SAFE)
    changing = column.filled_where(lambda method, _: method not in _SAFE)
    if any(m in _SAFE for m in column.methods) and changing > 0:
        return 5.0 if safe < 0.2 * changing else -5.0 if safe > 0.8 * changing else 0.0
    return round(1.0 - len(filled) / len(column.values), 2)
