"""The exports that are known by name: which product wrote a staged table, and what its columns are (data/layouts.toml).

A layout is recognised by headings that must all be there. It says what a heading alone cannot: that two columns are
one signed amount, that amounts are in minor units, which word of this product moves money. What the user says wins.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

import duckdb

from forensics.sources import derived, values
from forensics.sources.options import Options
from forensics.sources.staged import REJECT_TEXT, Sense, Staged, StagedColumn, normal, take_out


@dataclass(frozen=True, slots=True)
class Layout:
    """One known export."""

    id: str
    product: str
    kind: str
    """The canonical table of its rows."""
    headings: tuple[frozenset[str], ...]
    """Each of them must be there, under one of its names; names as `normal` makes them."""
    without: frozenset[str]
    """None of them may be there."""
    columns: Mapping[str, derived.Rule | None]
    """By the name of the canonical column; None where the export has none."""
    unit: str | None
    """minor | major | 'minor if whole': minor where no cell has a fraction."""
    currency: str | None
    """For exports that name none because they have but one."""
    zone: str | None
    """IANA zone of times without an offset, where the product writes but one."""
    status: Mapping[str, str]
    """Words of this product beside those of every ledger, in lower case."""
    skip: Mapping[str, str]
    """Heading -> expression: rows whose cell fits it have moved no money and are rejected."""
    notes: tuple[str, ...]


@cache
def layouts() -> tuple[Layout, ...]:
    """All layouts, in order of preference."""
    data = tomllib.loads((files("forensics.sources") / "data" / "layouts.toml").read_text(encoding="utf-8"))
    groups: Mapping[str, Sequence[str]] = data["groups"]
    return tuple(
        Layout(
            id=entry["id"],
            product=entry["product"],
            kind=entry["kind"],
            headings=tuple(frozenset(map(normal, _names(heading, groups))) for heading in entry["headings"]),
            without=frozenset(normal(name) for each in entry.get("without", ()) for name in _names(each, groups)),
            columns={name: _rule(spec, groups) for name, spec in entry["columns"].items()},
            unit=entry.get("unit"),
            currency=entry.get("currency"),
            zone=entry.get("zone"),
            status=entry.get("status", {}),
            skip=entry.get("skip", {}),
            notes=tuple(entry.get("notes", ())),
        )
        for entry in data["layout"]
    )


def _names(heading: str, groups: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(groups[heading[1:]]) if heading.startswith("@") else (heading,)


def _rule(spec: Any, groups: Mapping[str, Sequence[str]]) -> derived.Rule | None:
    if spec == "":
        return None
    ((how, headings),) = ({"first": [spec]} if isinstance(spec, str) else spec).items()
    return derived.Rule(how, tuple(_names(heading, groups) for heading in headings))


def find_layout(headings: Iterable[str]) -> Layout | None:
    """The first layout whose headings are all there; None when there is none."""
    present = {normal(heading) for heading in headings}
    for layout in layouts():
        if layout.without.isdisjoint(present) and not any(names.isdisjoint(present) for names in layout.headings):
            return layout
    return None


def make_sense(connection: duckdb.DuckDBPyConnection, staged: Staged, options: Options) -> Staged:
    """The staged table with what its layout says of it, and with the columns that are made of several; else as it is.

    The user's words come first: with another kind, or with a mapping that the layout's kind cannot have, it is left.
    """
    layout = find_layout(column.heading for column in staged.columns)
    if layout is None or options.kind not in (None, layout.kind):
        return staged
    _skip(connection, staged, layout)
    columns, added = _columns(connection, staged, layout)
    unit = layout.unit
    if unit == "minor if whole":
        amount = columns.get("amount")
        cells = values.sample(connection, amount) if amount else []
        unit = "minor" if cells and all(re.fullmatch(r"[-+]?\d+", cell) for cell in cells) else "major"
    sense = Sense(
        product=layout.product,
        kind=layout.kind,
        columns=columns,
        silent=frozenset(name for name, rule in layout.columns.items() if rule is None),
        unit=unit,
        currency=layout.currency,
        zone=layout.zone,
        status=layout.status,
    )
    notes = (*staged.notes, f"layout of {layout.product}", *layout.notes)
    return replace(staged, columns=(*staged.columns, *added), notes=notes, sense=sense)


def with_words(options: Options, staged: Staged) -> Options:
    """The options with the layout's words where the user says nothing."""
    sense = staged.sense
    if sense is None:
        return options
    return replace(
        options,
        unit=options.unit or sense.unit,
        currency=options.currency or sense.currency,
        status={**sense.status, **options.status},
    )


def _skip(connection: duckdb.DuckDBPyConnection, staged: Staged, layout: Layout) -> None:
    """Reject the rows that moved no money."""
    cells = " || ',' || ".join(f"coalesce(CAST({c.name} AS VARCHAR), '')" for c in staged.columns if not c.joins)
    for heading, pattern in layout.skip.items():
        column = derived.column_of(staged.columns, (heading,))
        if column is None:
            continue
        text = f"trim(CAST({column.name} AS VARCHAR))"
        fits = f"regexp_full_match({text}, $pattern)"
        reason = f"$heading || ' is ''' || left({text}, 60) || ''': no movement of money'"
        connection.execute(
            f"INSERT INTO staged_rejects SELECT line_no, {reason}, left({cells}, {REJECT_TEXT}) FROM staged "
            f"WHERE {fits}",
            {"pattern": pattern, "heading": column.heading},
        )
        take_out(connection, fits, {"pattern": pattern})


def _columns(
    connection: duckdb.DuckDBPyConnection, staged: Staged, layout: Layout
) -> tuple[dict[str, StagedColumn], list[StagedColumn]]:
    """The staged column of each canonical one, and those that were made for it."""
    found: dict[str, StagedColumn] = {}
    added: list[StagedColumn] = []
    for name, rule in layout.columns.items():
        column = derived.make(connection, (*staged.columns, *added), rule) if rule else None
        if column:
            found[name] = column
            if column not in staged.columns:
                added.append(column)
    return found, added
