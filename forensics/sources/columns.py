"""Which canonical table a staged table is, and which of its columns is which.

Names decide first (data/columns.toml), content fills what names leave open, and what the user says (`--map`) wins
over both. Every choice carries its reason, because it is shown.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Any

import duckdb

from forensics import schema
from forensics.errors import UsageError
from forensics.sources import contents
from forensics.sources.headings import name_by_words, says_nothing
from forensics.sources.staged import Sense, Staged, StagedColumn, normal

_GIVEN = "given"
_CONTENT = "content: the only column of its kind"
KINDS = ("payments", "settlements", "deliveries", "idempotency_log", "dead_letters")


@dataclass(frozen=True, slots=True)
class Choice:
    """One canonical column found in the source, and why."""

    column: StagedColumn
    why: str


@dataclass(frozen=True, slots=True)
class Recognition:
    """A staged table as one of ours."""

    kind: str
    mapping: Mapping[str, Choice]
    missing: tuple[str, ...]
    """Columns without which the kind makes no sense, and which were not found."""
    score: float


@cache
def _data() -> Mapping[str, Any]:
    return tomllib.loads((files("forensics.sources") / "data" / "columns.toml").read_text(encoding="utf-8"))


def tokens(heading: str) -> list[str]:
    """The words of a heading in upper case: 'amount_krw' -> AMOUNT, KRW; 'Amount (EUR)' -> AMOUNT, EUR."""
    return [w.upper() for w in re.findall(r"[A-Za-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", heading))]


def without_brackets(heading: str) -> str:
    """A heading without what stands in brackets: 'Amount (EUR)' -> 'Amount'."""
    return re.sub(r"[(\[（【].*?[)\]）】]", "", heading)


def shown_headings(staged: Staged) -> str:
    """The headings of the file in one line."""
    return ", ".join(" ".join(c.heading.split()) for c in staged.columns if not c.joins)


def recognise(
    connection: duckdb.DuckDBPyConnection,
    staged: Staged,
    *,
    kind: str | None = None,
    given: Mapping[str, str] | None = None,
) -> tuple[Recognition, ...]:
    """The kinds a staged table may be, likeliest first.

    Args:
        kind: the canonical table, when the user says it (`--as`).
        given: canonical column -> heading, as the user says (`--map`).

    Raises:
        UsageError: a mapping that names a column or heading that does not exist.
    """
    given = given or {}
    kinds = (kind,) if kind else tuple(k for k in KINDS if all(_has(k, name) for name in given))
    if not kinds:
        raise UsageError(f"--map {', '.join(given)}: no table has such columns", "say which table it is: --as payments")
    if kind is None and staged.sense is not None and staged.sense.kind in kinds:
        kind, kinds = staged.sense.kind, (staged.sense.kind,)
    candidates = [_recognise_as(connection, staged, k, given, said=kind is not None) for k in kinds]
    return tuple(sorted(candidates, key=lambda r: (bool(r.missing), -r.score)))


def _has(kind: str, name: str) -> bool:
    return any(c.name == name for c in schema.table(kind).columns[2:])


def _recognise_as(
    connection: duckdb.DuckDBPyConnection, staged: Staged, kind: str, given: Mapping[str, str], said: bool
) -> Recognition:
    spec = _data()[kind]
    mapping = _by_user(staged, kind, given)
    sense = staged.sense if staged.sense and staged.sense.kind == kind else None
    if sense:
        _by_layout(sense, mapping)
    open_names = {n: words for n, words in spec["columns"].items() if not sense or n not in sense.silent}
    _by_name(staged, open_names, mapping)
    if not sense:
        _by_words(connection, staged, kind, mapping)
    _by_joining(staged, kind, mapping)
    if kind == "payments":
        _by_content(connection, staged, mapping)
    missing = tuple(n for n in spec["needs"] if n not in mapping)
    doubt = 0.0
    if sense:
        missing = tuple(n for n in missing if n != "provider_ref")
    elif kind == "settlements":  # a ledger may have a fee or a payout beside its amount, hardly two of the three
        if len({"fee", "net", "payout"} & mapping.keys()) < 2:
            doubt = 1.1 if "settled_at" in mapping else 0.1
        elif "order_id" in mapping:
            missing = tuple(n for n in missing if n != "provider_ref")
    marks = sum(m in mapping and mapping[m].why != _CONTENT for m in spec["marks"])
    if kind != "payments" and not missing and not marks and not said:
        missing = tuple(spec["marks"][:1])  # an id and a time alone make no dead letter and no settlement
    found = len(spec["needs"]) - len(missing)
    return Recognition(kind, mapping, missing, marks + 0.05 * len(mapping) + (0.5 * found if missing else 0) - doubt)


def _by_user(staged: Staged, kind: str, given: Mapping[str, str]) -> dict[str, Choice]:
    mapping: dict[str, Choice] = {}
    known = [c.name for c in schema.table(kind).columns]
    for name, heading in given.items():
        if name not in known:
            raise UsageError(
                f"--map {name}={heading}: {kind} has no column {name!r}", f"it has: {', '.join(known[2:])}"
            )
        match = next((c for c in staged.columns if c.heading == heading), None) or next(
            (c for c in staged.columns if normal(c.heading) == normal(heading)), None
        )
        if match is None:
            headings = shown_headings(staged)
            raise UsageError(f"--map {name}={heading}: the file has no column {heading!r}", f"it has: {headings}")
        mapping[name] = Choice(match, _GIVEN)
    return mapping


def _by_layout(sense: Sense, mapping: dict[str, Choice]) -> None:
    """What the layout says; a column may serve twice there, as the word of a status and of a kind."""
    for name, column in sense.columns.items():
        mapping.setdefault(name, Choice(column, "layout"))


def _by_name(staged: Staged, synonyms: Mapping[str, Sequence[str]], mapping: dict[str, Choice]) -> None:
    """Full names first, then names without what stands in brackets; a column serves once."""
    for strip, why in ((str, "name"), (without_brackets, "name without brackets")):
        headings = {normal(strip(c.heading)): c for c in reversed(staged.columns)}
        ranked = sorted(
            ((rank, name, normal(word)) for name, words in synonyms.items() for rank, word in enumerate(words)),
            key=lambda r: r[0],
        )
        for _, name, word in ranked:
            column = headings.get(word)
            if column and name not in mapping and all(c.column != column for c in mapping.values()):
                mapping[name] = Choice(column, why)


def _by_words(connection: duckdb.DuckDBPyConnection, staged: Staged, kind: str, mapping: dict[str, Choice]) -> None:
    """What the words of the headings that are left say of the columns that are left, where the cells bear them out."""
    taken = {c.column for c in mapping.values()}
    left = {c.heading: c for c in staged.columns if c not in taken and not c.joins}
    for name, heading in name_by_words(left, kind).items():
        bears_out = _BORNE_OUT.get(schema.table(kind).column(name).type)
        if name not in mapping and (bears_out is None or bears_out(connection, left[heading])):
            mapping[name] = Choice(left[heading], "words of the heading")


def _by_joining(staged: Staged, kind: str, mapping: dict[str, Choice]) -> None:
    """A date joined with its time of day takes the place of either."""
    name = next(c.name for c in schema.table(kind).columns if c.type == "TIMESTAMP")
    for column in staged.columns:
        chosen = mapping.get(name)
        if column.joins and (chosen is None or (chosen.column.name in column.joins and chosen.why != _GIVEN)):
            mapping[name] = Choice(column, "a date and a time of day")


def _by_content(connection: duckdb.DuckDBPyConnection, staged: Staged, mapping: dict[str, Choice]) -> None:
    """Fill what a ledger can hardly do without, where exactly one column can be it by its cells.

    A wrong business key makes false duplicates of everything: beside known headings it must behave as an order does.
    """
    named = bool(mapping)
    for name, test in _BY_CELLS.items():
        _only(staged.columns, mapping, name, partial(test, connection), _CONTENT)
    if not named:
        _only(staged.columns, mapping, "order_id", partial(contents.is_key, connection), _CONTENT)
    elif "amount" in mapping and not ("sender" in mapping and "message_no" in mapping):
        amount = mapping["amount"].column
        why = "content: the only column that repeats with equal amounts, as an order does"
        unnamed = [c for c in staged.columns if says_nothing(c.heading)]
        _only(unnamed, mapping, "order_id", partial(contents.repeats_with, connection, amount=amount), why)


def _only(
    columns: Sequence[StagedColumn],
    mapping: dict[str, Choice],
    name: str,
    test: Callable[[StagedColumn], bool],
    why: str,
) -> None:
    """The one column left that passes the test, if it is one and the canonical column is open."""
    if name in mapping:
        return
    taken = {c.column for c in mapping.values()}
    found = [c for c in columns if c not in taken and test(c)]
    if len(found) == 1:
        mapping[name] = Choice(found[0], why)


_BORNE_OUT = {"TIMESTAMP": contents.is_time, schema.MONEY: contents.is_number}
"""What the cells must be where words name a column of that type."""
_BY_CELLS = {
    "created_at": contents.is_time,
    "amount": contents.is_amount,
    "currency": contents.is_currency,
    "status": contents.is_status,
}
