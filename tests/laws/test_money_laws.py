"""Laws of money: whatever way an amount is written, it is read back to the last digit, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.amounts import plain
from forensics.sources.money import read_money
from forensics.sources.staged import StagedColumn

QUICK = settings(max_examples=25, deadline=None)
COLUMN = StagedColumn("amount", "c0", "VARCHAR")
CENTS = st.integers(-(10**17), 10**17)


def _grouped(digits: str, mark: str) -> str:
    head = len(digits) % 3
    groups = [digits[:head]] if head else []
    return mark.join(groups + [digits[i : i + 3] for i in range(head, len(digits), 3)])


def _style(thousands: str, mark: str, dress: str) -> Callable[[int], str]:
    """A writer of cents that shares nothing with the reader but the style."""

    def write(cents: int) -> str:
        digits = f"{abs(cents):03}"
        number = _grouped(digits[:-2], thousands) + mark + digits[-2:]
        return (dress if cents < 0 else re.sub("[-\u2212()]", "", dress)).replace("n", number)

    return write


STYLES = [
    _style(thousands, mark, dress)
    for thousands, mark in (("", "."), ("", ","), (",", "."), (".", ","), (" ", ","), ("\u00a0", ","), ("'", "."))
    for dress in ("-n", "n-", "(n)", "-€n", "€-n", "($n)", "n EUR-", "EUR -n", "-n €", "\u2212n")
]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    yield connection
    connection.close()


def _read(connection: duckdb.DuckDBPyConnection, cells: list[str], unit: str | None = "major") -> list[Decimal | None]:
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE staged AS SELECT i AS line_no, cells[i] AS c0 FROM "
        "(SELECT CAST($cells AS VARCHAR[]) AS cells, unnest(range(1, len($cells) + 1)) AS i)",
        {"cells": cells},
    )
    reading = read_money(connection, COLUMN, "'EUR'", "amount", unit)
    if reading is None:
        return [None] * len(cells)
    return [row[0] for row in connection.execute(f"SELECT {reading.sql} FROM staged ORDER BY line_no").fetchall()]


@QUICK
@given(cents=st.lists(CENTS, min_size=1, max_size=20), style=st.sampled_from(STYLES))
def test_an_amount_in_any_style_is_read_back_exactly(
    connection: duckdb.DuckDBPyConnection, cents: list[int], style: Callable[[int], str]
) -> None:
    amounts = [Decimal(c).scaleb(-2) for c in cents if abs(c) < 10**16]
    assert _read(connection, [style(int(a.scaleb(2))) for a in amounts]) == amounts


@QUICK
@given(ten_thousandths=st.lists(st.integers(-(10**18) + 1, 10**18 - 1), min_size=1, max_size=20))
def test_eighteen_digits_survive_and_plain_text_is_read_back(
    connection: duckdb.DuckDBPyConnection, ten_thousandths: list[int]
) -> None:
    amounts = [Decimal(n).scaleb(-4) for n in ten_thousandths]
    texts = [plain(a) for a in amounts]
    assert [Decimal(t) for t in texts] == amounts
    # An amount that happens to have three decimals throughout is read with the others of its column.
    assert _read(connection, [*texts, "0.01"])[:-1] == amounts


@QUICK
@given(cents=st.lists(st.integers(-(10**13), 10**13), min_size=1, max_size=20))
def test_minor_units_are_divided_exactly(connection: duckdb.DuckDBPyConnection, cents: list[int]) -> None:
    assert _read(connection, [str(c) for c in cents], "minor") == [Decimal(c).scaleb(-2) for c in cents]


@QUICK
@given(cells=st.lists(st.text("0123456789.,-+()€$e_ 'A%", max_size=9) | st.text(max_size=5), max_size=8))
def test_no_text_is_read_as_an_amount_that_its_digits_do_not_spell(
    connection: duckdb.DuckDBPyConnection, cells: list[str]
) -> None:
    """A reader may refuse; it may not drop, add or round digits."""
    cells = [cell.replace("\x00", "") for cell in cells]
    for cell, amount in zip(cells, _read(connection, cells), strict=True):
        if amount is not None:
            said = "".join(re.findall(r"\d", cell, re.ASCII))
            assert f"{abs(amount):f}".replace(".", "").strip("0") == said.strip("0")
