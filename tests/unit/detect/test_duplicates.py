"""The ledger as a whole: exact sums by currency, and findings that say what was counted and what was not."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from forensics.detect.causes import Setting, explain
from forensics.detect.duplicates import (
    EVIDENCE_CAP,
    find_duplicates,
    hold_back_refused,
    is_refundable,
    needs_review,
    summarise,
)
from forensics.detect.ledger import judge_rows
from forensics.model import BusinessKey, Finding, PaymentsSummary, RepeatRow

THRESHOLD = 0.95
BY_ORDER = BusinessKey(("order_id",), given=False, why="", cautions=(), candidates=(), day_zone=None)


def asked(given: Any, payments: Any) -> tuple[PaymentsSummary, dict[str, Finding], Any]:
    runner = given(payments=payments)
    rows = explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows
    summary = summarise(runner, rows, THRESHOLD)
    return summary, {f.id: f for f in find_duplicates(summary, rows, BY_ORDER)}, rows


def tied(order: str, times: list[float], **cells: Any) -> list[dict[str, Any]]:
    """Effects of one order that share a request id, and so are beyond doubt."""
    return [{"at": t, "order_id": order, "request_id": order, **cells} for t in times]


def test_sums_are_exact_and_never_cross_currencies(given: Any) -> None:
    payments = [
        *tied("A", [0, 4, 9]),  # 2 x 10000 KRW too many
        *tied("B", [0, 4], amount=Decimal("0.1"), currency="USD"),  # 0.1 USD
        *tied("C", [0, 4], amount=Decimal("0.2"), currency="USD"),  # and 0.2: in floats not 0.3
        {"at": 0, "order_id": "D"},
    ]
    summary, findings, _ = asked(given, payments)
    assert (summary.rows, summary.orders, summary.effects) == (8, 4, 8)
    assert (summary.orders_with_excess, summary.excess_rows) == (3, 4)
    assert summary.excess_amount == summary.refund_amount == {"KRW": Decimal(20000), "USD": Decimal("0.3")}
    finding = findings["excess-payments"]
    assert finding.severity == "high"
    assert "4 payments of 3 orders took effect once too often: 20,000 KRW and 0.30 USD" in finding.statement


def test_what_went_back_is_in_the_gross_sum_and_told_apart(given: Any) -> None:
    payments = [*tied("A", [0, 4, 9]), {"at": 900, "kind": "refund", "amount": -10000}]
    summary, _, rows = asked(given, payments)
    assert (summary.excess_rows, summary.already_refunded_rows, summary.refund_rows, summary.review_rows) == (
        2,
        1,
        1,
        0,
    )
    assert summary.already_refunded_amount == {"KRW": Decimal(10000)}
    assert summary.refund_amount == {"KRW": Decimal(10000)}
    assert [r.role for r in rows if is_refundable(r, THRESHOLD)] == ["excess"]


def test_what_is_not_beyond_doubt_is_for_a_person(given: Any) -> None:
    summary, _, _ = asked(given, [{"at": 0}, {"at": 41}])
    assert (summary.excess_rows, summary.refund_rows, summary.review_rows, summary.refund_amount) == (1, 0, 1, {})


def test_every_excess_row_is_refunded_refundable_or_for_review(given: Any) -> None:
    payments = [*tied("A", [0, 4, 9]), {"at": 900, "kind": "refund", "amount": -10000}]
    payments += [{"at": t, "order_id": "B"} for t in (0, 41)]
    summary, _, _ = asked(given, payments)
    assert summary.excess_rows == summary.already_refunded_rows + summary.refund_rows + summary.review_rows == 3


def test_rows_recorded_twice_move_no_money(given: Any) -> None:
    summary, findings, _ = asked(given, [{"at": 0, "payment_id": "P"}, {"at": 0, "payment_id": "P"}])
    assert (summary.recorded_twice_rows, summary.excess_rows, summary.excess_amount) == (1, 0, {})
    assert findings.keys() == {"recorded-twice"}
    assert [e.line_no for e in findings["recorded-twice"].evidence] == [2]


def test_rows_without_an_order_or_with_an_unreadable_status_are_told(given: Any) -> None:
    payments = [{"at": 0, "order_id": None}, {"at": 4, "order_id": None}, {"at": 9, "status": "unknown"}]
    summary, findings, _ = asked(given, payments)
    assert (summary.without_order, summary.unknown_status, summary.excess_rows) == (2, 1, 0)
    assert {name: f.title for name, f in findings.items()} == {
        "without-order": "2 ledger rows without an order number",
        "unknown-status": "1 ledger row with a status in no list",
    }


def test_evidence_is_capped_and_its_total_told(given: Any) -> None:
    payments = [row for n in range(EVIDENCE_CAP + 5) for row in tied(f"O{n:03}", [0, 4])]
    _, findings, _ = asked(given, payments)
    finding = findings["excess-payments"]
    assert (len(finding.evidence), finding.evidence_total) == (EVIDENCE_CAP, EVIDENCE_CAP + 5)


def test_a_clean_ledger_has_no_findings(given: Any) -> None:
    summary, findings, _ = asked(given, [{"at": 0}, {"at": 4, "order_id": "B"}])
    assert (summary.excess_rows, findings) == (0, {})


def excess_row(line: int, role: str, group: str = "g") -> RepeatRow:
    return RepeatRow(
        group_id=group,
        business_key="A",
        order_id="A",
        payment_id=f"p{line}",
        created_at=datetime(2026, 3, 2, 1, 0, line, tzinfo=UTC),
        amount=Decimal(500),
        currency="KRW",
        status="captured",
        kind="charge",
        gap_us=None,
        role=role,
        why="same order",
        cause="retry" if role == "excess" else None,
        policy=None,
        confidence=0.99,
        excess_probability=0.99 if role == "excess" else None,
        alternatives=(),
        kept_payment_id=None,
        same_key=None,
        provider_ref=None,
        customer_id=None,
        channel=None,
        source_id=1,
        line_no=line,
    )


def refundable(rows: tuple[RepeatRow, ...]) -> list[int]:
    return [r.line_no for r in rows if is_refundable(r)]


def test_an_excess_that_the_provider_does_not_have_is_not_given_back() -> None:
    rows = (excess_row(1, "kept"), excess_row(2, "excess"), excess_row(3, "excess"))
    held = hold_back_refused(rows, {(1, 2)})
    assert refundable(held) == [3]
    assert held[1].why == "same order; the provider did not settle it: no money to give back"


def test_an_excess_that_stands_in_for_a_kept_payment_the_provider_lacks_is_not_given_back() -> None:
    # The provider has lines 2 and 3 of three: one of them stands, one goes back.
    rows = (excess_row(1, "kept"), excess_row(2, "excess"), excess_row(3, "excess"))
    assert refundable(hold_back_refused(rows, {(1, 1)})) == [3]


def test_what_the_provider_has_of_other_orders_changes_nothing() -> None:
    rows = (excess_row(1, "kept"), excess_row(2, "excess"))
    assert hold_back_refused(rows, {(1, 9)}) == rows


def test_a_person_judges_what_is_neither_refundable_nor_settled_by_rule() -> None:
    sure = excess_row(1, "excess")
    doubtful = replace(sure, excess_probability=0.9)
    held = replace(doubtful, held_back="the provider did not settle it")
    by_weight = replace(excess_row(2, "legitimate"), alternatives=(("double_submit", 0.3),))
    by_rule = excess_row(3, "legitimate")
    assert [needs_review(r) for r in (sure, doubtful, held, by_weight, by_rule)] == [False, True, False, True, False]
