"""Repeats whose gap a set clock leaves open: no policy is read from them, none is beyond doubt by its gap."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from forensics.analysis.causes import Clues, judge
from forensics.detect.causes import Setting, comparable_gaps, explain
from forensics.detect.clues import collect_clues
from forensics.detect.duplicates import is_refundable, needs_review
from forensics.detect.ledger import judge_rows
from forensics.model import RepeatRow
from forensics.runner import Runner

HOUR = 3600.0
NOON = datetime(2026, 11, 30, 12)  # noqa: DTZ001


def case(given: Any, second_at: float, ids: tuple[str | None, str | None] = (None, None), **cells: Any) -> Runner:
    """Two effects of one order; the time of the second, in line 2, may be an hour earlier as well."""
    payments = [{"at": at, "payment_id": name, **cells} for at, name in zip((0.0, second_at), ids, strict=True)]
    folds = [{"line_no": 2, "at": second_at, "other_at": NOON + timedelta(seconds=second_at - HOUR)}]
    return given(payments=payments, clock_folds=folds)


def repeat(runner: Runner) -> RepeatRow:
    rows = explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows
    [found] = [r for r in rows if r.role == "excess"]
    return found


def test_the_gap_of_such_a_repeat_has_a_second_reading_and_names_no_policy(given: Any) -> None:
    runner = case(given, HOUR + 4)
    judged = judge_rows(runner)
    clues = collect_clues(runner, judged, 1000, 1000)
    [only] = clues.values()
    assert (only.gap_s, only.other_gaps_s) == (HOUR + 4, (4.0,))
    assert comparable_gaps(judged, clues) == []


def test_two_rows_of_one_moment_by_the_other_reading_go_to_review_with_the_reason(given: Any) -> None:
    row = repeat(case(given, HOUR, instrument="card-1"))
    assert row.excess_probability == 0.5
    assert needs_review(row)
    assert not is_refundable(row)
    assert "by one of the readings both are of one moment" in row.why


def test_ids_of_their_own_tell_two_payments_apart_at_any_moment(given: Any) -> None:
    row = repeat(case(given, HOUR, ("P1", "P2"), request_id="r-1"))
    assert row.excess_probability is not None
    assert row.excess_probability > 0.95
    assert "the gap is not known" in row.why


def test_without_a_tie_a_repeat_with_two_readings_goes_to_review(given: Any) -> None:
    row = repeat(case(given, HOUR + 4, instrument="card-1"))
    assert needs_review(row)
    assert "the gap is not known" in row.why


def test_the_same_repeat_at_a_time_that_is_known_is_beyond_doubt(given: Any) -> None:
    runner = given(payments=[{"at": 0.0, "instrument": "card-1"}, {"at": 4.0, "instrument": "card-1"}])
    assert is_refundable(repeat(runner))


@pytest.mark.parametrize("gap", [0.8, 4.0, 1800.0])
def test_a_gap_with_two_readings_is_never_surer_of_a_cause_than_both_are(gap: float) -> None:
    [here], [there], [both] = (
        judge([Clues(g, 0.001, None, other)]) for g, other in ((gap, ()), (gap + HOUR, ()), (gap, (gap + HOUR,)))
    )
    best = max(dict(here.probabilities)[both.cause], dict(there.probabilities)[both.cause])
    assert both.confidence <= best + 1e-6
