"""Decisions of people: what they move, and when they are not applied."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from forensics.detect.causes import Setting, explain
from forensics.detect.decisions import apply_decisions, decide_checkouts, find_decisions, with_states
from forensics.detect.duplicates import is_refundable, needs_review
from forensics.detect.ledger import judge_rows
from forensics.detect.second_checkouts import measure_second_checkouts
from forensics.model import Decision, DecisionOutcome, RepeatRow, SecondCheckouts

Rows = tuple[RepeatRow, ...]
DAY = 86_400


@pytest.fixture
def rows(given: Any) -> Rows:
    """A paid three times at one request id (beyond doubt), B twice ten days apart (lawful by rule)."""
    runner = given(
        payments=[
            {"at": 0, "payment_id": "a1", "request_id": "r"},
            {"at": 4, "payment_id": "a2", "request_id": "r"},
            {"at": 9, "payment_id": "a3", "request_id": "r"},
            {"at": 0, "order_id": "B", "payment_id": "b1"},
            {"at": 10 * DAY, "order_id": "B", "payment_id": "b2"},
        ]
    )
    return with_states(explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows)


def group(rows: Rows, business_key: str) -> RepeatRow:
    return next(r for r in rows if r.business_key == business_key)


def decided(row: RepeatRow, *, is_duplicate: bool, state: str | None = None, until: date | None = None) -> Decision:
    seen = row.group_state if state is None else state
    return Decision(row.group_id, None, seen, is_duplicate, "jin", "asked", until, "decisions.csv:2")


def roles(rows: Rows, business_key: str) -> list[str]:
    return [r.role for r in rows if r.business_key == business_key]


def statuses(outcomes: tuple[DecisionOutcome, ...]) -> list[str]:
    return [o.status for o in outcomes]


def test_not_a_duplicate_takes_the_repeats_out_of_excess_refunds_and_review(rows: Rows) -> None:
    assert roles(rows, "A") == ["kept", "excess", "excess"]
    after, (outcome,) = apply_decisions(rows, [decided(group(rows, "A"), is_duplicate=False)], None)
    assert roles(after, "A") == ["legitimate"] * 3
    assert not any(is_refundable(r) or needs_review(r) for r in after)
    assert (outcome.status, outcome.rows, outcome.amount) == ("applied", 2, {"KRW": Decimal(20000)})
    assert after[1].cause is None
    assert after[1].why.endswith("decided by jin: not a duplicate (asked)")


def test_a_duplicate_makes_the_repeats_beyond_doubt_also_where_they_were_read_as_lawful(rows: Rows) -> None:
    assert roles(rows, "B") == ["legitimate", "legitimate"] or roles(rows, "B") == ["kept", "legitimate"]
    after, (outcome,) = apply_decisions(rows, [decided(group(rows, "B"), is_duplicate=True)], None)
    assert roles(after, "B") == ["kept", "excess"]
    second = after[-1]
    assert (second.cause, second.kept_payment_id, second.excess_probability) == ("unexplained", "b1", 1.0)
    assert is_refundable(second)
    assert (outcome.rows, outcome.amount) == (1, {"KRW": Decimal(10000)})


def test_no_row_is_lost_or_added_and_other_groups_stay_as_they_are(rows: Rows) -> None:
    after, _ = apply_decisions(rows, [decided(group(rows, "A"), is_duplicate=False)], None)
    assert [(r.source_id, r.line_no) for r in after] == [(r.source_id, r.line_no) for r in rows]
    assert [r for r in after if r.business_key == "B"] == [r for r in rows if r.business_key == "B"]


def test_a_group_may_be_named_by_its_business_key(rows: Rows) -> None:
    a = group(rows, "A")
    decision = Decision(None, "A", a.group_state, False, "jin", "asked", None, "decisions.csv:2")
    after, (outcome,) = apply_decisions(rows, [decision], None)
    assert (roles(after, "A"), outcome.group_id) == (["legitimate"] * 3, a.group_id)


@pytest.mark.parametrize(
    ("today", "status"), [(date(2027, 3, 31), "applied"), (date(2027, 4, 1), "expired"), (None, "applied")]
)
def test_a_decision_counts_through_its_last_day(rows: Rows, today: date | None, status: str) -> None:
    decision = decided(group(rows, "A"), is_duplicate=False, until=date(2027, 3, 31))
    after, outcomes = apply_decisions(rows, [decision], today)
    assert statuses(outcomes) == [status]
    assert (after == rows) == (status == "expired")


def test_a_group_that_changed_or_is_gone_is_told_and_left_as_the_evidence_has_it(rows: Rows) -> None:
    old = decided(group(rows, "A"), is_duplicate=False, state="00000000")
    gone = Decision("nowhere", None, "s", False, "jin", "asked", None, "decisions.csv:3")
    after, outcomes = apply_decisions(rows, [old, gone], None)
    assert after == rows
    assert statuses(outcomes) == ["changed", "gone"]
    assert "now 3 rows, 30,000 KRW" in outcomes[0].why
    (finding,) = find_decisions(outcomes, after)
    assert (finding.severity, finding.title, finding.evidence_total) == ("low", "2 decisions not applied", 3)
    assert finding.why[1] == "decisions.csv:3: no such group among the repeated acts of this evidence"


def test_opposite_decisions_are_followed_by_none_and_one_said_twice_once(rows: Rows) -> None:
    a = group(rows, "A")
    no, yes = decided(a, is_duplicate=False), decided(a, is_duplicate=True)
    after, outcomes = apply_decisions(rows, [no, yes], None)
    assert (after, statuses(outcomes)) == (rows, ["contradicted", "contradicted"])
    once, _ = apply_decisions(rows, [no], None)
    twice, outcomes = apply_decisions(rows, [no, no], None)
    assert (twice, statuses(outcomes)) == (once, ["applied", "applied"])


def test_without_decisions_and_with_all_applied_there_is_no_finding(rows: Rows) -> None:
    assert apply_decisions(rows, [], None) == (rows, ())
    assert find_decisions((), rows) == ()
    after, outcomes = apply_decisions(rows, [decided(group(rows, "A"), is_duplicate=False)], None)
    assert find_decisions(outcomes, after) == ()


def test_the_state_of_a_group_changes_with_its_rows_and_not_with_their_order_or_file(given: Any) -> None:
    def state(*payments: dict[str, Any]) -> str:
        runner = given(payments=list(payments))
        found = with_states(explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows)
        runner._connection.execute("DELETE FROM payments")
        return found[0].group_state

    one, two, three = ({"at": at, "payment_id": f"p{at}"} for at in (0, 5, 9))
    first = state(one, two)
    assert state({**two, "source_id": 7}, {**one, "line_no": 40}) == first
    assert state(one, two, three) != first
    assert state(one, {**two, "status": "refunded"}) != first


# Second checkouts -----------------------------------------------------------------------------------------------

Checkouts = tuple[Rows, SecondCheckouts]


@pytest.fixture
def checkouts(given: Any) -> Checkouts:
    """C buys the same again under order B three minutes after A; nothing is a repeated act."""
    one = {"customer_id": "C"}
    runner = given(
        payments=[
            {"at": 0, "payment_id": "a", **one},
            {"at": 180, "order_id": "B", "payment_id": "b", **one},
        ]
    )
    found = measure_second_checkouts(runner, ())
    assert isinstance(found, SecondCheckouts)
    return (), found


def decide(checkouts: Checkouts, *decisions: Decision) -> tuple[Rows, SecondCheckouts, tuple[DecisionOutcome, ...]]:
    rows, found = checkouts
    after, outcomes = apply_decisions(rows, decisions, TODAY)
    return decide_checkouts(after, found, outcomes, TODAY)


TODAY = date(2027, 1, 1)


def test_a_second_checkout_that_is_not_a_duplicate_is_no_suspect_any_more(checkouts: Checkouts) -> None:
    (suspect,) = checkouts[1].suspects
    rows, found, (outcome,) = decide(checkouts, decided(suspect, is_duplicate=False))
    assert (rows, found.suspects, found.amount) == ((), (), {})
    assert [r.role for r in found.beside] == ["legitimate", "legitimate"]
    assert (outcome.status, outcome.rows, outcome.amount) == ("applied", 1, {"KRW": Decimal(10000)})


def test_a_second_checkout_that_is_a_duplicate_is_an_excess_that_finance_may_act_on(checkouts: Checkouts) -> None:
    (suspect,) = checkouts[1].suspects
    rows, found, (outcome,) = decide(checkouts, decided(suspect, is_duplicate=True))
    assert [(r.payment_id, r.role) for r in rows] == [("a", "kept"), ("b", "excess")]
    assert is_refundable(rows[1])
    assert (rows[1].cause, rows[1].kept_payment_id) == ("double_submit", "a")
    assert (found.suspects, found.beside) == ((), ())
    assert (outcome.status, outcome.rows) == ("applied", 1)


@pytest.mark.parametrize("key", ["A", "B"], ids=["of the first order", "of the second"])
def test_a_second_checkout_may_be_named_by_either_business_key(checkouts: Checkouts, key: str) -> None:
    (suspect,) = checkouts[1].suspects
    by_key = Decision(None, key, suspect.group_state, True, "jin", "asked", None, "decisions.csv:2")
    assert statuses(decide(checkouts, by_key)[2]) == ["applied"]


@pytest.mark.parametrize(
    ("state", "until", "status"),
    [("00000000", None, "changed"), (None, date(2026, 12, 31), "expired")],
)
def test_a_stale_decision_about_a_second_checkout_is_said_and_not_applied(
    checkouts: Checkouts, state: str | None, until: date | None, status: str
) -> None:
    (suspect,) = checkouts[1].suspects
    rows, found, outcomes = decide(checkouts, decided(suspect, is_duplicate=True, state=state, until=until))
    assert (rows, found.suspects, statuses(outcomes)) == ((), (suspect,), [status])
    (finding,) = find_decisions(outcomes, found.members)
    assert finding.evidence_total == 2


def test_decisions_about_a_second_checkout_that_contradict_are_both_left_out(checkouts: Checkouts) -> None:
    (suspect,) = checkouts[1].suspects
    said = [decided(suspect, is_duplicate=yes) for yes in (True, False)]
    said[1] = replace(said[1], where="decisions.csv:3")
    assert statuses(decide(checkouts, *said)[2]) == ["contradicted", "contradicted"]


def test_a_second_checkout_of_a_repeated_act_has_a_group_of_its_own(given: Any) -> None:
    one = {"customer_id": "C"}
    runner = given(
        payments=[
            {"at": 0, "payment_id": "a", "request_id": "r", **one},
            {"at": 4, "payment_id": "a2", "request_id": "r", **one},
            {"at": 180, "order_id": "B", "payment_id": "b", **one},
        ]
    )
    rows = with_states(explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows)
    found = measure_second_checkouts(runner, rows)
    assert isinstance(found, SecondCheckouts)
    (suspect,) = found.suspects
    assert suspect.group_id not in {r.group_id for r in rows}
    after, _, outcomes = decide((rows, found), decided(suspect, is_duplicate=True))
    assert [(r.payment_id, r.role) for r in after] == [("a", "kept"), ("a2", "excess"), ("b", "excess")]
    assert statuses(outcomes) == ["applied"]
