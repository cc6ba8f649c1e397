"""Rows of a query as a table for people, or as CSV or JSON lines for machines: exact, and obeyed by no terminal."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.render import tabular

COLUMNS = ("name", "amount", "at", "n")
AT = datetime(2026, 11, 30, 13, 0, 4, 250_000, tzinfo=UTC)
ROWS = (("A", Decimal("10000.0000"), AT, 2), ("주문", Decimal("12.5000"), None, None))
HOSTILE = "\x1b[31m=cmd\x00\r\n\u202e\x9b,\"'"


def test_a_table_is_aligned_numbers_to_the_right_and_counted() -> None:
    assert tabular.render(COLUMNS, ROWS, "table").splitlines() == [
        "name  amount  at                        n",
        "A      10000  2026-11-30T13:00:04.250Z  2",
        "주문     12.50",
        "(2 rows)",
    ]


def test_an_empty_table_says_so() -> None:
    assert tabular.render(COLUMNS, (), "table").splitlines()[-1] == "(0 rows)"
    assert tabular.render(COLUMNS, ROWS[:1], "table").splitlines()[-1] == "(1 row)"


def test_a_long_cell_is_cut_and_marked() -> None:
    (_, line, _) = tabular.render(("x",), (("a" * 1_000_000,),), "table").splitlines()
    assert (len(line), line[-1]) == (48, "…")


def test_csv_is_exact_and_neutral() -> None:
    text = tabular.render(COLUMNS, (*ROWS, ("=1+1", Decimal("-1"), AT, -2)), "csv")
    assert list(csv.reader(io.StringIO(text))) == [
        list(COLUMNS),
        ["A", "10000", "2026-11-30T13:00:04.250Z", "2"],
        ["주문", "12.50", "", ""],
        ["'=1+1", "-1", "2026-11-30T13:00:04.250Z", "-2"],
    ]


def test_json_is_one_object_a_line_money_as_text_and_null_as_null() -> None:
    first, second = map(json.loads, tabular.render(COLUMNS, ROWS, "json").splitlines())
    assert first == {"name": "A", "amount": "10000", "at": "2026-11-30T13:00:04.250Z", "n": 2}
    assert second == {"name": "주문", "amount": "12.50", "at": None, "n": None}


@pytest.mark.parametrize("form", tabular.FORMATS)
def test_no_form_holds_anything_that_a_terminal_obeys(form: str) -> None:
    text = tabular.render(("x",), ((HOSTILE,),), form)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text.splitlines()) == {"table": 3, "csv": 2, "json": 1}[form]


@given(st.lists(st.text(), min_size=1))
def test_json_gives_back_what_went_in(cells: list[str]) -> None:
    names = [f"c{n}" for n in range(len(cells))]
    (line,) = tabular.render(names, (cells,), "json").split("\n")[:-1]
    assert json.loads(line) == dict(zip(names, cells, strict=True))
    assert line.isprintable()


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="xml"):
        tabular.render(COLUMNS, ROWS, "xml")


@pytest.mark.parametrize(("value", "text"), [(None, ""), (True, "True"), (1.5, "1.5"), (Decimal("0"), "0")])
def test_cells_as_text(value: Any, text: str) -> None:
    assert tabular.text_rows(((value,),)) == [[text]]
