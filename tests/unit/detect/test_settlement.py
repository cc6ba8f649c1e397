"""Ledger against settlement: every class once, sums by hand."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from forensics.detect.ledger import judge_rows
from forensics.detect.rows import Judged
from forensics.detect.settlement import PARTS, Reconciled, measure_settlement
from forensics.detect.settlement_finding import find_settlement
from forensics.model import RepeatRow
from forensics.runner import Runner

Given = Callable[..., Runner]
HOUR = 3600


def as_row(judged: Judged) -> RepeatRow:
    """A judged row without the causes, which the settlement does not ask for."""
    row = judged.row
    named = {name: getattr(row, name) for name in ("order_id", "payment_id", "created_at", "amount", "currency")}
    named |= {name: getattr(row, name) for name in ("status", "kind", "provider_ref", "customer_id", "channel")}
    return RepeatRow(
        **named,
        group_id=judged.group_id,
        business_key=row.order_id,
        gap_us=None,
        role=judged.role,
        why=judged.why,
        cause=None,
        policy=None,
        confidence=1.0,
        excess_probability=None,
        alternatives=(),
        kept_payment_id=None,
        same_key=None,
        source_id=row.source_id,
        line_no=row.line_no,
    )


def reconcile(runner: Runner) -> Reconciled:
    rows = [as_row(judged) for judged in judge_rows(runner)]
    found = measure_settlement(runner, rows, ("Asia/Seoul", "UTC"))
    assert found is not None
    return found


def paid(at: float, ref: str | None, amount: int, fee: int = 0, **cells: Any) -> dict[str, Any]:
    """A settled row of that time, one second after the ledger's clock."""
    gross = Decimal(amount)
    movement = "refund" if amount < 0 else "payment"
    row = {"at": at + 1, "provider_ref": ref, "amount": gross, "fee": Decimal(fee), "net": gross - fee}
    return {**row, "movement": movement, **cells}


def booked(at: float, ref: str | None, order: str, amount: int = 1000, **cells: Any) -> dict[str, Any]:
    row = {"at": at, "payment_id": f"P-{ref or order}-{at:g}", "provider_ref": ref, "order_id": order}
    return {**row, "amount": Decimal(amount), **cells}


# Each line says what it is; the settlement covers second 1 to 3 hours, the ledger second 0 to 4 hours.
LEDGER = (
    booked(0, "t-1", "A"),  # matched, the first of the settlement
    booked(60, "t-2", "B", 2000),  # kept
    booked(72, "t-3", "B", 2000),  # refused by the provider: duplicate 2000
    booked(100, "t-4", "C", 3000),  # kept, not settled: the repeat stands in its place, duplicate 3000
    booked(112, "t-5", "C", 3000),  # excess, settled
    booked(200, "t-6", "D", 4000),  # amount differs: the provider has 3900, other 100
    booked(300, "t-7", "E", 500),  # missing at the provider: other 500
    booked(400, "t-8", "F", 700),  # matched and
    booked(500, "t-8r", "F", -700, kind="refund"),  # given back
    booked(600, None, "G", 800),  # matched by order and amount
    booked(700, "t-9", "H", 900, status="failed"),  # settled all the same: other -900
    booked(3 * HOUR, "t-10", "I", 100),  # the last of the settlement
    booked(4 * HOUR, "t-11", "J", 600),  # after the settlement: cut-off 600
    booked(60, "t-2", "B", 2000, payment_id="P-t-2-60"),  # the row of second 60 written again: no money
)
SETTLED = (
    paid(0, "t-1", 1000, 10),
    paid(60, "t-2", 2000, 20),
    paid(112, "t-5", 3000, 30),
    paid(200, "t-6", 3900, 39),
    paid(400, "t-8", 700, 7),
    paid(500, "t-8r", -700),
    paid(600, "x-1", 800, 8, order_id="G"),
    paid(700, "t-9", 900, 9),
    paid(800, "x-2", 1000, 10, order_id="A"),  # only the provider took A twice: duplicate -1000
    paid(900, "x-3", 5000, 50, order_id="Z"),  # unknown to the ledger: other -5000
    paid(3 * HOUR, "t-10", 100, 1),
    {"at": 3 * HOUR, "movement": "fee", "amount": Decimal(-33)},  # a fee of its own
)
# Ledger: 1000+2000+2000+3000+3000+4000+500+700-700+800+100+600 = 17000.
# Provider gross: 1000+2000+3000+3900+700-700+800+900+1000+5000+100 = 17700; fees 10+20+30+39+7+8+9+10+50+1+33 = 217.
BY_HAND = {
    "ledger_total": 17000,
    "provider_total": 17700 - 217,
    "difference": 17000 - 17483,
    "explained_by_duplicates": 2000 + 3000 - 1000,
    "fees": 217,
    "cutoff": 600,
    "other": 100 + 500 - 900 - 5000,
}


@pytest.fixture
def every_class(given: Given) -> Reconciled:
    """The hand-made ledger and settlement, reconciled."""
    return reconcile(given(payments=LEDGER, settlements=SETTLED))


def test_every_sum_is_what_was_added_up_by_hand(every_class: Reconciled) -> None:
    settlement = every_class.settlement
    assert {name: int(getattr(settlement, name)["KRW"]) for name in BY_HAND} == BY_HAND
    assert sum(BY_HAND[name] for name in PARTS) == BY_HAND["difference"]


def test_every_row_is_counted_in_its_class(every_class: Reconciled) -> None:
    counts = every_class.settlement.counts
    assert {name: n for name, n in counts.items() if n} == {
        "matched_ledger_rows": 8,
        "matched_provider_rows": 8,
        "by_reference": 7,
        "by_order": 1,
        "amount_differs": 1,
        "ledger_only": 4,
        "refused_duplicates": 2,
        "cutoff_ledger": 1,
        "missing_at_provider": 1,
        "recorded_twice": 1,
        "provider_only": 3,
        "provider_duplicates": 1,
        "missing_in_ledger": 1,
        "settled_without_effect": 1,
        "fee_rows": 11,
    }


def test_the_finding_says_the_equation_in_words(every_class: Reconciled) -> None:
    finding = find_settlement(every_class)
    assert finding.statement == (
        "The provider paid 483 KRW more than the ledger says: 4,000 KRW explained by duplicates, 217 KRW fees, "
        "600 KRW cut-off at the ends of the period, -5,300 KRW other."
    )
    assert finding.severity == "high"
    assert finding.money["difference"] == {"KRW": Decimal(-483)}


def test_the_evidence_begins_with_what_nothing_explains(every_class: Reconciled) -> None:
    evidence = find_settlement(every_class).evidence
    assert [(e.table, e.line_no, e.role) for e in evidence] == [
        ("payments", 7, "missing_at_provider"),
        ("payments", 6, "amount_differs"),
        ("settlements", 4, "amount_differs"),
        ("settlements", 10, "missing_in_ledger"),
        ("settlements", 8, "settled_without_effect"),
        ("settlements", 9, "provider_duplicate"),
        ("payments", 4, "refused_duplicate"),
        ("payments", 3, "refused_duplicate"),
        ("payments", 13, "cutoff"),
    ]


def test_a_settlement_that_agrees_is_a_note(given: Given) -> None:
    found = reconcile(given(payments=[booked(0, "t-1", "A")], settlements=[paid(0, "t-1", 1000)]))
    finding = find_settlement(found)
    assert finding.title == "Ledger and settlement agree"
    assert finding.statement == "The provider paid what the ledger says, 1,000 KRW."
    assert finding.severity == "note"
    assert finding.next_steps == ()


def test_a_doubled_row_that_matches_a_doubled_row_is_still_a_duplicate_and_makes_no_difference(given: Given) -> None:
    ledger = [booked(0, "t-1", "A"), booked(5, "t-2", "A")]
    found = reconcile(given(payments=ledger, settlements=[paid(0, "t-1", 1000), paid(5, "t-2", 1000)]))
    assert found.settlement.counts["settled_duplicates"] == 1
    assert found.settlement.difference == {"KRW": Decimal(0)}


def test_a_refund_in_the_ledger_alone_goes_with_the_refused_duplicate_that_it_gives_back(given: Given) -> None:
    ledger = [booked(0, "t-1", "A"), booked(5, "t-2", "A"), booked(9, None, "A", -1000, kind="refund")]
    found = reconcile(given(payments=ledger, settlements=[paid(0, "t-1", 1000)])).settlement
    assert (found.counts["refused_duplicates"], found.explained_by_duplicates["KRW"]) == (2, Decimal(0))
    assert found.other["KRW"] == found.cutoff["KRW"] == Decimal(0)


def test_rows_that_the_provider_settled_before_the_ledger_begins_are_cut_off(given: Given) -> None:
    ledger = [booked(HOUR, "t-1", "A"), booked(2 * HOUR, "t-2", "B")]
    settled = [paid(0, "x", 700, order_id="Z"), paid(HOUR, "t-1", 1000), paid(2 * HOUR, "t-2", 1000)]
    found = reconcile(given(payments=ledger, settlements=settled)).settlement
    assert (found.counts["cutoff_provider"], found.cutoff["KRW"], found.other["KRW"]) == (1, Decimal(-700), Decimal(0))


def test_where_settlement_comes_days_later_the_rows_matched_tell_the_period(given: Given) -> None:
    day = 24 * HOUR
    ledger = [booked(n * day, f"t-{n}", f"O{n}") for n in range(6)]
    settled = [paid(n * day + 2 * day + n * HOUR, f"t-{n}", 1000) for n in range(4) if n != 2]
    found = reconcile(given(payments=ledger, settlements=settled)).settlement
    assert (found.counts["missing_at_provider"], found.counts["cutoff_ledger"]) == (1, 2)


def test_sums_never_cross_currencies_and_a_row_without_one_takes_that_of_its_ledger_row(given: Given) -> None:
    ledger = [
        booked(0, "t-1", "A"),
        booked(5, "t-2", "B", 30, currency="USD"),
        booked(9, "t-3", "C", 7, currency="USD"),
    ]
    settled = [paid(0, "t-1", 1000, 10, currency=None), paid(5, "t-2", 30, 1, currency=None)]
    found = reconcile(given(payments=ledger, settlements=settled)).settlement
    assert found.ledger_total == {"KRW": Decimal(1000), "USD": Decimal(37)}
    assert found.provider_total == {"KRW": Decimal(990), "USD": Decimal(29)}
    assert found.fees == {"KRW": Decimal(10), "USD": Decimal(1)}


def test_a_settlement_of_payouts_alone_is_nothing_to_compare(given: Given) -> None:
    runner = given(
        payments=[booked(0, "t-1", "A")], settlements=[{"at": 0, "movement": "payout", "amount": Decimal(5)}]
    )
    assert measure_settlement(runner, (), ("UTC",)) is None


def test_files_that_share_nothing_are_said_not_to_belong_together(given: Given) -> None:
    found = reconcile(given(payments=[booked(0, "t-1", "A")], settlements=[paid(0, "x", 5, order_id="Z")]))
    finding = find_settlement(found)
    assert any("may not belong together" in why for why in finding.why)
    assert finding.confidence < 0.5
    assert found.settlement.covered_from is None
