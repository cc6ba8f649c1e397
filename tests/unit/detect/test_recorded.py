"""Which rows were written again, though money moved once. Rows as in test_ledger: charges of 10000 KRW, by seconds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forensics.detect.ledger import judge_order
from forensics.detect.recorded import shifted_copies, written_again

HOUR = 3600


def lines(found: Any) -> list[int]:
    return sorted(line for _, line in found)


def test_a_webhook_and_a_checkout_that_record_one_charge_by_clocks_of_their_own(row: Any) -> None:
    # The webhook's row has whole seconds and an id of its own; the provider's reference is one.
    rows = [row(0.48, line_no=1, provider_ref="ch_1"), row(1, line_no=2, provider_ref="ch_1")]
    assert lines(written_again(rows)) == [2]
    assert [item.role for item in judge_order(rows)] == ["legitimate", "recorded_twice"]
    assert judge_order(rows)[1].why == "the same provider reference as line 1: one payment, two rows"


@pytest.mark.parametrize(
    "other",
    [{"provider_ref": "ch_2"}, {"amount": 400}, {"status": "failed"}, {"kind": "capture"}, {"kind": "refund"}],
)
def test_another_reference_amount_state_or_kind_is_another_row(row: Any, other: dict[str, Any]) -> None:
    assert not written_again([row(0, provider_ref="ch_1"), row(1, **{"provider_ref": "ch_1", **other})])


def test_a_reference_that_names_the_act_says_nothing_about_its_rows(row: Any) -> None:
    assert not written_again([row(n, business_key="ch_1", provider_ref="ch_1") for n in (0, 4)])


def test_of_two_exports_the_row_that_says_refunded_stands(row: Any) -> None:
    rows = [row(0, payment_id="P"), row(0, payment_id="P", line_no=1, status="refunded"), row(4, line_no=2)]
    # P went back, so nothing is owed for the repeat at 4: it stands in the place of P.
    assert [item.role for item in judge_order(rows)] == ["recorded_twice", "kept", "refunded"]


def shifted(row: Any, *, hours: float, orders: int = 3, odd_s: float = 0, **cells: Any) -> list[Any]:
    """Rows of some orders a minute apart, and each again some hours later; the last also by `odd_s`."""
    first = [row(60 * n, line_no=n, order_id=f"O{n}", payment_id=None, **cells) for n in range(orders)]
    late = [hours * HOUR] * (orders - 1) + [hours * HOUR + odd_s]
    again = [
        row(60 * n + late[n], line_no=100 + n, order_id=f"O{n}", payment_id=None, source_id=2, **cells)
        for n in range(orders)
    ]
    return first + again


@pytest.mark.parametrize("hours", [9, 5.5, 24])
def test_equal_rows_all_the_same_hours_later_are_one_file_read_in_another_zone(row: Any, hours: float) -> None:
    found = shifted_copies(shifted(row, hours=hours))
    assert lines(found) == [100, 101, 102]
    assert not found[(2, 100)].beyond_doubt


@pytest.mark.parametrize(
    "rows",
    [{"hours": 9, "odd_s": 2}, {"hours": 9, "orders": 2}, {"hours": 27}, {"hours": 0.25}],
    ids=["not by one shift", "too few", "further than clocks are apart", "no zone's shift"],
)
def test_other_repeats_are_no_shift(row: Any, rows: dict[str, Any]) -> None:
    assert not shifted_copies(shifted(row, **rows))


def test_rows_with_ids_of_their_own_are_no_copies(row: Any) -> None:
    assert not shifted_copies([replace(r, payment_id=f"P{r.line_no}") for r in shifted(row, hours=9)])


def test_days_within_one_file_may_have_been_booked_again_the_next_day(row: Any) -> None:
    # Noon less twelve hours is midnight: a ledger that holds days only.
    rows = [
        row((24 * day - 12) * HOUR, line_no=day, order_id=f"O{order}", payment_id=None)
        for order in (10, 20, 30)
        for day in (order, order + 1)
    ]
    assert not shifted_copies(rows)
    assert shifted_copies([replace(r, source_id=2) if r.line_no % 10 else r for r in rows])
