"""Which equal purchases are listed as second checkouts, and what stands beside them. Times are seconds after noon."""

from __future__ import annotations

from typing import Any

from forensics.detect.causes import Setting, explain
from forensics.detect.ledger import judge_rows
from forensics.detect.second_checkouts import find_second_checkouts, measure_second_checkouts
from forensics.model import RepeatRow, SecondCheckouts
from forensics.runner import Runner


def judged(runner: Runner) -> tuple[RepeatRow, ...]:
    return explain(runner, judge_rows(runner), Setting(1_000_000, 1, None, None)).rows


def measured(given: Any, *payments: dict[str, Any], **tables: Any) -> SecondCheckouts:
    runner = given(payments=[{"customer_id": "C", **row} for row in payments], **tables)
    found = measure_second_checkouts(runner, judged(runner))
    assert isinstance(found, SecondCheckouts)
    return found


def test_a_ledger_without_customers_is_not_examined_and_never_passes(given: Any) -> None:
    found = measure_second_checkouts(given(payments=[{"at": 0}, {"at": 60, "order_id": "B"}]), ())
    assert found == "no row that moved money names a customer, so purchases under another order cannot be held together"


def test_a_second_checkout_stands_in_no_sum_and_is_a_finding_of_its_own(given: Any) -> None:
    found = measured(given, {"at": 0}, {"at": 180, "order_id": "B", "payment_id": "P2"})
    assert [(r.role, r.order_id) for r in found.beside] == [("kept", "A"), ("second_checkout", "B")]
    (finding,) = find_second_checkouts(found)
    assert (finding.rule, finding.severity, dict(finding.money["suspected"])) == (
        "duplicates/second_checkout",
        "medium",
        {"KRW": 10000},
    )


def test_a_lost_first_reply_speaks_for_it_and_an_answer_against_it(given: Any) -> None:
    pair = {"at": 31, "request_id": "r"}, {"at": 90, "order_id": "B"}
    call = {"at": 0, "request_id": "r", "duration_us": 31_000_000}
    (lost,) = measured(given, *pair, requests=[{**call, "status": 504}]).suspects
    assert lost.excess_probability is not None
    assert lost.excess_probability > 0.85
    assert "the caller of the first got no answer in time" in lost.why


def test_a_caller_that_had_its_answer_bought_twice(given: Any) -> None:
    call = {"at": 0, "request_id": "r", "duration_us": 400_000, "status": 201}
    pair = {"at": 0.2, "request_id": "r"}, {"at": 90, "order_id": "B"}
    assert not measured(given, *pair, requests=[call]).suspects


def test_an_order_that_was_itself_repeated_is_listed_once_against_the_payment_that_stands(given: Any) -> None:
    # A was charged twice, then the customer checked out anew: B repeats A's kept payment, and A's excess is A's own.
    found = measured(given, {"at": 0, "payment_id": "P1"}, {"at": 4, "payment_id": "P2"}, {"at": 90, "order_id": "B"})
    assert [(r.order_id, r.kept_payment_id) for r in found.suspects] == [("B", "P1")]
    assert [r.order_id for r in found.beside] == ["B"]


def test_money_given_back_one_reference_and_numbers_of_a_series_settle_a_pair(given: Any) -> None:
    found = measured(
        given,
        {"at": 0, "customer_id": "D"},
        {"at": 9, "customer_id": "D", "order_id": "B"},
        {"at": 60, "customer_id": "D", "order_id": "B", "kind": "refund", "amount": -10000},
        {"at": 0, "customer_id": "E", "order_id": "E1", "provider_ref": "ch"},
        {"at": 9, "customer_id": "E", "order_id": "E2", "provider_ref": "ch"},
        {"at": 0, "customer_id": "F", "order_id": "F1", "instalment": "1"},
        {"at": 9, "customer_id": "F", "order_id": "F2", "instalment": "2"},
    )
    assert (found.within, found.suspects) == (3, ())


def test_a_third_checkout_is_held_against_the_first_in_whatever_order_the_rows_stand(given: Any) -> None:
    found = measured(
        given,
        {"at": 200, "order_id": "D", "payment_id": "P3"},
        {"at": 90, "order_id": "B", "payment_id": "P2"},
        {"at": 0, "payment_id": "P1"},
    )
    assert [(r.order_id, r.kept_payment_id) for r in found.suspects] == [("B", "P1"), ("D", "P1")]
    assert {(r.role, r.order_id) for r in found.beside} == {
        ("kept", "A"),
        ("second_checkout", "B"),
        ("second_checkout", "D"),
    }
    assert len({r.group_id for r in found.beside}) == 1
