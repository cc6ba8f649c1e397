"""What columns are by their cells, where their headings say nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk


def table(*columns: str, rows: int = 10) -> str:
    """A ledger under headings that mean nothing; order n is paid at minute n, order 3 twice."""
    cells = {
        "when": [f"2026-03-14T00:{n:02}:53Z" for n in range(rows)],
        "much": [f"{n + 10}.50" for n in range(rows)],
        "order": [f"R-{n}" for n in range(rows)],
        "who": [f"C-{n % 8}" for n in range(rows)],
        "basket": [f"B-{n}" for n in range(rows)],
        "coin": ["EUR" if n % 3 else "USD" for n in range(rows)],
        "end": ["paid" if n % 4 else "declined" for n in range(rows)],
    }
    for n, name in ((rows - 1, "much"), (rows - 1, "order"), (rows - 1, "basket")):
        cells[name][n] = cells[name][3]
    head = ",".join(f"x{n}" if name != "much" else "amount" for n, name in enumerate(columns))
    return "\n".join([head, *(",".join(cells[name][row] for name in columns) for row in range(rows))]) + "\n"


def test_an_order_is_what_repeats_with_equal_amounts(desk: Desk) -> None:
    """R-3 comes twice with one amount; the customers C-0 and C-1 come twice with two."""
    source = desk.source(table("when", "much", "order", "who"))
    assert (
        source.mapping["order_id"] == "x2 (content: the only column that repeats with equal amounts, as an order does)"
    )


def test_two_columns_that_behave_as_an_order_leave_it_open(desk: Desk) -> None:
    refused = desk.refusal(table("when", "much", "order", "basket"))
    assert "no column could be recognised as order_id" in refused.message


def test_a_column_whose_heading_means_something_else_is_no_order(desk: Desk) -> None:
    refused = desk.refusal(table("when", "much", "order", "who").replace("x2", "payout batch"))
    assert "no column could be recognised as order_id" in refused.message


def test_codes_of_currencies_and_words_for_outcomes_are_known_by_their_cells(desk: Desk) -> None:
    source = desk.source(table("when", "much", "order", "coin", "end"))
    assert {name: source.mapping[name].split()[0] for name in ("currency", "status")} == {
        "currency": "x3",
        "status": "x4",
    }
    assert desk.rows("SELECT status, count(*) FROM payments GROUP BY status ORDER BY status") == [
        ("captured", 7),
        ("failed", 3),
    ]


def test_words_name_a_time_only_where_the_cells_are_times(desk: Desk) -> None:
    """`data` is a date in Italian, and anything at all in English."""
    rows = "".join(f"R-{n},1.00,blob-{n},2026-03-14T00:26:{n + 10}Z\n" for n in range(9))
    source = desk.source("order_id,amount,data,x\n" + rows)
    assert source.mapping["created_at"].startswith("x ")
