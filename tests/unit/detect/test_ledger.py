"""What each row of a repeated order is, and why: each rule on the fewest rows that show it.

Rows are charges of 10000 KRW for one order, written by their seconds after noon; `roles` gives one letter a row:
Kept, eXcess, Refunded, Legitimate, Not an effect, recorded Twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.detect.ledger import judge_order
from forensics.detect.rows import Judged, LedgerRow

LETTERS = {"kept": "K", "excess": "X", "refunded": "R", "legitimate": "L", "not_an_effect": "N", "recorded_twice": "T"}
DAY = 86_400


def roles(judged: Sequence[Judged]) -> str:
    return "".join(LETTERS[item.role] for item in judged)


def test_the_first_effect_stands_and_its_repeats_are_excess(row: Any) -> None:
    judged = judge_order([row(0), row(4), row(9)])
    assert roles(judged) == "KXX"
    assert [item.gap_us for item in judged] == [None, 4_000_000, 5_000_000]
    assert [item.kept and item.kept.payment_id for item in judged] == [None, "P0", "P0"]
    assert [item.previous and item.previous.payment_id for item in judged] == [None, "P0", "P4"]


def test_nothing_but_order_and_amount_leaves_doubt_and_a_shared_id_leaves_none(row: Any) -> None:
    alone, tied = judge_order([row(0), row(4)])[1], judge_order([row(0, request_id="r"), row(4, request_id="r")])[1]
    assert (alone.beyond_doubt, alone.why) == (False, "same order, amount and currency as P0")
    assert (tied.beyond_doubt, tied.why) == (True, "same order, amount and currency as P0, and the same request id")


def test_the_same_instrument_is_told_but_leaves_doubt(row: Any) -> None:
    item = judge_order([row(0, instrument="****1"), row(4, instrument="****1")])[1]
    assert (item.beyond_doubt, item.why) == (False, "same order, amount and currency as P0, same instrument")


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"amount": 4000}, "part_payment"),
        ({"instrument": "points"}, "split_tender"),
        ({"currency": "USD"}, "part_payment"),
    ],
)
def test_a_payment_split_by_amount_instrument_or_currency_is_lawful(row: Any, other: dict[str, Any], name: str) -> None:
    judged = judge_order([row(0, instrument="card"), row(5, **{"instrument": "card", **other})])
    assert roles(judged) == "LL"
    assert [item.lawful_class for item in judged] == [name, name]


def test_a_repeat_within_a_split_payment_is_excess(row: Any) -> None:
    assert roles(judge_order([row(0, amount=6000), row(3, amount=4000), row(7, amount=6000)])) == "KLX"


@pytest.mark.parametrize("order", list(permutations([None, "card", "points"])))
def test_a_row_without_an_instrument_goes_with_a_known_one(row: Any, order: tuple[str | None, ...]) -> None:
    # None joins the first known instrument: it and that one are one act; the other instrument is a part payment.
    judged = judge_order([row(n, instrument=name) for n, name in enumerate(order)])
    assert sorted(roles(judged)) == ["K", "L", "X"]


def test_declines_before_a_success_are_no_effects(row: Any) -> None:
    judged = judge_order([row(0, status="failed"), row(20, status="failed"), row(45), row(49)])
    assert roles(judged) == "NNKX"
    assert judged[0].why == "charge failed: no money moved into the ledger"


def test_captures_within_an_authorisation_are_parts_of_one_payment(row: Any) -> None:
    judged = judge_order(
        [row(0, kind="authorisation", status="authorised"), capture(row, 10, 6000), capture(row, 20, 4000)]
    )
    assert roles(judged) == "NLL"
    assert judged[1].why == "a capture within the 10000 KRW that were authorised"


@pytest.mark.parametrize(
    ("amounts", "expected"),
    [
        ([10000, 10000], "NKX"),
        ([10000, 10000, 10000], "NKXX"),
        ([5000, 5000, 5000], "NLKX"),
        ([5000, 5000, 5000, 5000], "NLKXX"),
        ([6000, 4000, 4000], "NLKX"),
        ([6000, 6000], "NKX"),
        ([6000, 4000, 1000], "NLLL"),
    ],
)
def test_a_capture_beyond_the_authorisation_repeats_the_last_of_its_amount(
    row: Any, amounts: list[int], expected: str
) -> None:
    # 10000 were authorised; captures are taken in order until the next would exceed that.
    captures = [capture(row, 10 * n, amount) for n, amount in enumerate(amounts, 1)]
    assert roles(judge_order([row(0, kind="authorisation", status="authorised"), *captures])) == expected


def capture(make: Any, at: float, amount: int) -> LedgerRow:
    found: LedgerRow = make(at, kind="capture", amount=amount)
    return found


@pytest.mark.parametrize("number", [("instalment", "1", "2"), ("memo", "delivery 1/4", "delivery 2/4")])
def test_another_number_in_a_series_is_lawful(row: Any, number: tuple[str, str, str]) -> None:
    column, first, second = number
    assert roles(judge_order([row(0, **{column: first}), row(4, **{column: second})])) == "KL"
    assert roles(judge_order([row(0, **{column: first}), row(4, **{column: first})])) == "KX"


def test_more_than_six_days_later_is_a_series_unless_a_key_ties_the_two(row: Any) -> None:
    assert roles(judge_order([row(0), row(6 * DAY)])) == "KX"
    assert roles(judge_order([row(0), row(6 * DAY + 1)])) == "KL"
    assert roles(judge_order([row(0, idempotency_key="k"), row(7 * DAY, idempotency_key="k")])) == "KX"


def test_a_charge_after_the_one_before_was_given_back_is_lawful(row: Any) -> None:
    judged = judge_order([row(0), row(60, kind="refund", amount=-10000), row(90)])
    assert roles(judged) == "KNL"
    assert judged[2].why == "charged again after what came before it was given back"


def test_a_refund_of_another_amount_does_not_make_a_repeat_lawful(row: Any) -> None:
    assert roles(judge_order([row(0), row(60, kind="refund", amount=-3000), row(90)])) == "KNX"


def test_a_top_up_is_lawful_unless_a_key_ties_it(row: Any) -> None:
    assert roles(judge_order([row(0, kind="topup"), row(40, kind="topup")])) == "KL"
    assert roles(judge_order([row(n, kind="topup", request_id="r") for n in (0, 40)])) == "KX"


def test_one_payment_id_in_two_rows_is_recorded_twice_and_moves_no_money(row: Any) -> None:
    judged = judge_order([row(0, payment_id="P"), row(0, payment_id="P", line_no=7), row(4)])
    assert roles(judged) == "KTX"
    assert judged[1].why == "the same payment id as line 0: one payment, two rows"


def test_one_payment_id_with_another_status_is_another_row(row: Any) -> None:
    assert roles(judge_order([row(0, payment_id="P", status="failed"), row(1, payment_id="P")])) == "NL"


# Given back -----------------------------------------------------------------------------------------------------


def refund(make: Any, at: float, **cells: Any) -> LedgerRow:
    found: LedgerRow = make(at, kind="refund", amount=-10000, **cells)
    return found


def test_a_refund_afterwards_makes_the_latest_excess_refunded(row: Any) -> None:
    judged = judge_order([row(0), row(4), row(9), refund(row, 60)])
    assert roles(judged) == "KXRN"
    assert judged[2].why.endswith("; given back in line 60")


def test_a_refund_that_names_a_payment_goes_to_it_whatever_else_was_given_back(row: Any) -> None:
    assert roles(judge_order([row(0), row(4), row(9), refund(row, 60, original_ref="P4")])) == "KRXN"
    assert roles(judge_order([row(0), row(4), row(9), refund(row, 60), refund(row, 70, original_ref="P9")])) == "KRRNN"


def test_a_refund_may_name_the_providers_reference_or_something_unknown(row: Any) -> None:
    rows = [row(0), row(4, provider_ref="ch_4"), row(9)]
    assert roles(judge_order([*rows, refund(row, 60, original_ref="ch_4")])) == "KRXN"
    assert roles(judge_order([*rows, refund(row, 60, original_ref="case 5512")])) == "KXRN"


def test_after_a_refund_of_the_payment_that_stands_nothing_is_owed_for_one_repeat(row: Any) -> None:
    judged = judge_order([row(0), row(4), refund(row, 60, original_ref="P0")])
    assert roles(judged) == "KRN"
    assert judged[1].why.endswith("; the payment that it repeats was given back in line 60")
    assert roles(judge_order([row(0), row(4), row(9), refund(row, 60, original_ref="P0")])) == "KXRN"


def test_a_status_says_refunded_as_well_as_a_row_does(row: Any) -> None:
    assert roles(judge_order([row(0), row(4, status="refunded"), row(9)])) == "KRX"
    assert roles(judge_order([row(0, status="refunded"), row(4)])) == "KR"
    # The status and the row are one refund, not two.
    assert roles(judge_order([row(0), row(4, status="refunded"), row(9), refund(row, 60)])) == "KRXN"
    assert roles(judge_order([row(0, status="refunded"), row(4), row(9), refund(row, 60, original_ref="P0")])) == "KXRN"


def test_one_refund_gives_back_one_payment_also_when_it_is_recorded_twice(row: Any) -> None:
    twice = [refund(row, 60, payment_id="R"), refund(row, 60, payment_id="R", line_no=61)]
    assert roles(judge_order([row(0), row(4), row(9), *twice])) == "KXRNT"


@pytest.mark.parametrize("status", ["failed", "pending"])
def test_a_refund_that_did_not_happen_gives_nothing_back(row: Any, status: str) -> None:
    assert roles(judge_order([row(0), row(4), refund(row, 60, status=status)])) == "KXN"


def test_a_refund_of_another_amount_gives_nothing_back(row: Any) -> None:
    assert roles(judge_order([row(0), row(4), row(60, kind="refund", amount=-9999)])) == "KXN"


# Laws -----------------------------------------------------------------------------------------------------------

CELLS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["charge", "capture", "topup", "authorisation", "refund", "void"]),
        "status": st.sampled_from(["captured", "failed", "refunded", "pending", "authorised"]),
        "amount": st.sampled_from([-10000, -4000, 4000, 10000]),
        "instrument": st.sampled_from([None, "a", "b"]),
        "payment_id": st.sampled_from([None, "P1", "P2", "P3"]),
        "original_ref": st.sampled_from([None, "P1", "P2", "x"]),
        "idempotency_key": st.sampled_from([None, "k"]),
        "instalment": st.sampled_from([None, "1", "2"]),
    }
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0, 1.0, 600.0, 700_000.0]), CELLS), max_size=8))
def test_every_row_has_exactly_one_role_and_money_goes_back_once(row: Any, given_rows: list[Any]) -> None:
    waits = [wait for wait, _ in given_rows]
    rows = [row(sum(waits[: n + 1]), line_no=n, **cells) for n, (_, cells) in enumerate(given_rows)]
    judged = judge_order(rows)
    assert [item.row for item in judged] == rows
    assert {item.role for item in judged} <= LETTERS.keys()
    assert all((item.kept is not None) == (item.role in ("excess", "refunded")) for item in judged)
    effects = sum(r.is_effect for r in rows)
    assert (
        sum(item.role in ("kept", "excess", "refunded", "legitimate") for item in judged)
        + sum(item.role == "recorded_twice" and item.row.is_effect for item in judged)
        == effects
    )
    given_back = sum(item.role == "refunded" for item in judged)
    assert given_back <= sum(r.is_refund for r in rows) + sum(r.is_effect and r.status == "refunded" for r in rows)
    assert sum((item.row.amount for item in judged if item.role == "excess"), Decimal()) >= 0
