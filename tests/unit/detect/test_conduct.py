"""Rules of retrying: each is broken, kept, or not examined, and nothing is kept for want of evidence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from forensics.detect.conduct import NO_TIE, measure_conduct
from forensics.detect.violations import find_violations
from forensics.model import Conduct, ConductRule

NOON = datetime(2026, 11, 30, 12)  # noqa: DTZ001  what a TIMESTAMP column takes
Line = dict[str, Any]


def audit(given: Any, *lines: Line, **tables: Any) -> Conduct:
    found = measure_conduct(given(requests=lines, **tables))
    assert isinstance(found, Conduct)
    return found


def rules(found: Conduct) -> Mapping[str, ConductRule]:
    return {rule.name: rule for rule in found.rules}


def call(call_id: str, *statuses: int, start: float = 0, step: float = 1, **cells: Any) -> list[Line]:
    """The attempts of one call, `step` seconds apart, numbered, 0.1 s long."""
    common = {"request_id": call_id, "user_agent": "shop/1", "duration_us": 100_000, **cells}
    return [{"at": start + i * step, "attempt": i + 1, "status": s, **common} for i, s in enumerate(statuses)]


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 409, 422])
def test_an_answer_that_a_retry_cannot_change_is_violated_by_one(given: Any, status: int) -> None:
    found = audit(given, *call("a", status, status, 200), *call("b", status, start=60))
    rule = rules(found)[f"retried_{status}"]
    assert (rule.status, rule.broken, rule.chances) == ("violated", 2, 3)
    assert rule.callers == (("shop/1", 2),)


def test_a_caller_that_takes_a_refusal_for_an_answer_keeps_the_rule(given: Any) -> None:
    rule = rules(audit(given, *call("a", 400), *call("b", 503, 200, start=60)))["retried_400"]
    assert (rule.status, rule.broken, rule.chances) == ("kept", 0, 1)


def test_a_status_that_nobody_got_has_no_rule(given: Any) -> None:
    assert not [name for name in rules(audit(given, *call("a", 503, 200))) if name.startswith("retried_")]


def test_without_an_id_or_a_number_no_retry_can_be_told(given: Any) -> None:
    bare = [{"at": t, "status": 400, "user_agent": "shop/1"} for t in (0, 1)]
    found = audit(given, *bare)
    assert (rules(found)["retried_400"].status, rules(found)["retried_400"].why) == ("not_examined", NO_TIE)
    assert rules(found)["posts_retried_without_key"].status == "not_examined"
    assert "retried_400" not in found.violations


def test_the_ledger_ties_attempts_that_bear_a_new_id_each(given: Any) -> None:
    """402 three times under three request ids; the ledger names one order for them. Retries alone bear a number."""
    lines = [{"at": i, "status": 402, "request_id": f"q{i}", "attempt": i + 1 if i else None} for i in range(3)]
    rows = [{"at": i, "request_id": f"q{i}", "status": "failed"} for i in range(3)]
    found = audit(given, *lines, payments=rows)
    assert found.tied_by == "order_id"
    assert rules(found)["retried_402"].broken == 2


def test_without_a_ledger_the_address_ties_numbered_attempts(given: Any) -> None:
    lines = [{"at": i, "status": 402, "request_id": f"q{i}", "client": "10.0.0.1"} for i in range(3)]
    lines[1]["attempt"], lines[2]["attempt"] = 2, 3
    found = audit(given, *lines)
    assert found.tied_by == "caller"
    assert rules(found)["retried_402"].broken == 2


def test_retries_without_an_id_are_inferred_for_a_caller_that_ids_show_to_do_it(given: Any) -> None:
    keyed = [{"at": t, "status": 400, "idempotency_key": "k", "client": "10.0.0.9"} for t in (0, 2)]
    bare = [{"at": t, "status": 400, "client": "10.0.0.1"} for t in (10, 11)]
    rule = rules(audit(given, *keyed, *bare))["retried_400"]
    assert rule.broken == 2
    assert "1 of them bear no id" in rule.why


# Retry-After ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("step", "ignored"), [(2, 1), (5.2, 0), (9, 0)])
def test_the_next_attempt_is_held_against_retry_after(given: Any, step: float, ignored: int) -> None:
    found = audit(given, *call("a", 429, 200, step=step, retry_after_s=5.0))
    rule = rules(found)["retry_after_ignored"]
    assert (rule.status, rule.broken) == ("violated" if ignored else "kept", ignored)
    assert found.retry_after_honoured == 1 - ignored


def test_429_without_a_header_holds_nobody_to_anything(given: Any) -> None:
    found = audit(given, *call("a", 429, 200))
    rule = rules(found)["retry_after_ignored"]
    assert rule.status == "not_examined"
    assert "without Retry-After" in rule.why
    assert found.retry_after_honoured is None


# Keys, deadlines, caps ------------------------------------------------------------------------------------------


def test_a_post_retried_without_a_key_is_counted_and_a_put_is_not(given: Any) -> None:
    found = audit(given, *call("a", 503, 200), *call("b", 503, 200, start=60, method="PUT"))
    assert rules(found)["posts_retried_without_key"].broken == 1


def test_posts_that_bear_a_key_keep_the_rule(given: Any) -> None:
    found = audit(given, *call("a", 503, 200, idempotency_key="k"))
    assert found.tied_by == "request_id"
    assert rules(found)["posts_retried_without_key"].status == "kept"


def test_where_the_key_itself_ties_attempts_those_without_one_cannot_be_seen(given: Any) -> None:
    lines = [{"at": t, "status": 503, "idempotency_key": "k"} for t in (0, 1)]
    assert rules(audit(given, *lines))["posts_retried_without_key"].status == "not_examined"


@pytest.mark.parametrize(("deadline", "status", "over"), [(1.5, "violated", 1), (10, "kept", 0)])
def test_attempts_are_held_against_the_callers_deadline(given: Any, deadline: float, status: str, over: int) -> None:
    lines = call("a", 499, 499, 200, deadline_at=NOON + timedelta(seconds=deadline))
    rule = rules(audit(given, *lines))["attempts_over_deadline"]
    assert (rule.status, rule.broken, rule.chances) == (status, over, 3)


def test_without_a_deadline_in_the_log_the_rule_is_not_examined(given: Any) -> None:
    rule = rules(audit(given, *call("a", 499, 200)))["attempts_over_deadline"]
    assert (rule.status, rule.broken) == ("not_examined", None)


def test_the_eleventh_attempt_is_one_too_many(given: Any) -> None:
    assert rules(audit(given, *call("a", *[503] * 12)))["attempts_beyond_cap"].broken == 2


def test_ten_attempts_are_within_the_cap(given: Any) -> None:
    assert rules(audit(given, *call("a", *[503] * 10)))["attempts_beyond_cap"].status == "kept"


def test_without_attempt_numbers_the_cap_is_not_examined(given: Any) -> None:
    lines = [{"at": t, "status": 503, "request_id": "a"} for t in range(12)]
    assert rules(audit(given, *lines))["attempts_beyond_cap"].status == "not_examined"


# Breakers -------------------------------------------------------------------------------------------------------


def test_requests_after_ten_failures_in_a_row_are_needless(given: Any) -> None:
    lines = [{"at": t, "status": 503, "request_id": f"r{t}", "user_agent": "kiosk"} for t in range(30)]
    rule = rules(audit(given, *lines))["no_breaker_requests"]
    assert (rule.status, rule.broken, rule.chances) == ("violated", 20, 30)
    assert rule.callers == (("kiosk", 20),)


def test_silence_and_single_probes_are_what_a_breaker_does(given: Any) -> None:
    """Ten failures a second apart, then one probe every 30 s."""
    moments = [*range(10), *range(40, 400, 30)]
    lines = [{"at": t, "status": 503, "request_id": f"r{t}", "user_agent": "kiosk"} for t in moments]
    rule = rules(audit(given, *lines))["no_breaker_requests"]
    assert (rule.status, rule.broken) == ("kept", 0)
    assert "12 single probes" in rule.why


def test_runs_of_failures_that_chance_makes_are_no_dead_stretch(given: Any) -> None:
    """Eleven failures, then one success, over and over: nine in ten fail, and such runs are to be expected."""
    lines = [
        {"at": t, "status": 200 if t % 12 == 11 else 503, "request_id": f"r{t}", "user_agent": "app"}
        for t in range(1200)
    ]
    rule = rules(audit(given, *lines))["no_breaker_requests"]
    assert (rule.status, rule.broken) == ("not_examined", None)


def test_where_little_failed_a_breaker_was_not_put_to_the_test(given: Any) -> None:
    lines = [{"at": t, "status": 503 if t % 3 else 200, "request_id": f"r{t}"} for t in range(60)]
    assert rules(audit(given, *lines))["no_breaker_requests"].status == "not_examined"


def test_a_handful_of_requests_shows_no_breaker(given: Any) -> None:
    rule = rules(audit(given, *call("a", 503, 503, 503)))["no_breaker_requests"]
    assert rule.status == "not_examined"


# What is made of it ---------------------------------------------------------------------------------------------


def test_a_log_without_state_changing_requests_says_so(given: Any) -> None:
    answer = measure_conduct(given(requests=[{"at": 0, "method": "GET"}]))
    assert answer == "the logs hold no request with a state-changing method"


def test_each_broken_rule_is_a_finding_with_its_lines(given: Any) -> None:
    runner = given(requests=call("a", 400, 400, 200, idempotency_key="k"))
    found = measure_conduct(runner)
    assert isinstance(found, Conduct)
    (finding,) = find_violations(runner, found)
    assert (finding.id, finding.rule, finding.severity) == ("conduct-retried-400", "conduct/retried_400", "low")
    assert [(e.table, e.line_no, e.role) for e in finding.evidence] == [
        ("requests", 2, "retried_400"),
        ("requests", 3, "retried_400"),
    ]
    assert finding.evidence_total == 2
    assert finding.numbers["broken"] == 2
    assert finding.statement.startswith("2 of 2 answers 400 were followed by another attempt")
    assert len(finding.next_steps) == 1


def test_kept_rules_make_no_finding(given: Any) -> None:
    runner = given(requests=call("a", 400, idempotency_key="k"))
    found = measure_conduct(runner)
    assert isinstance(found, Conduct)
    assert find_violations(runner, found) == ()


# A call begun with too little time left -------------------------------------------------------------------------


def with_deadline(left_s: float) -> list[Line]:
    """Twenty successes of 0.4 s, and one request that began so long before its caller's deadline."""
    successes = [{"at": 10 * n, "status": 200, "duration_us": 400_000, "request_id": f"s{n}"} for n in range(20)]
    late = {"at": 500, "status": 504, "request_id": "x", "deadline_at": NOON + timedelta(seconds=500 + left_s)}
    return [*successes, {**late, "user_agent": "shop/1"}]


@pytest.mark.parametrize(("left_s", "status"), [(0.3, "violated"), (0.5, "kept")])
def test_a_call_needs_as_much_time_as_half_of_the_successes_took(given: Any, left_s: float, status: str) -> None:
    rule = rules(audit(given, *with_deadline(left_s)))["too_little_time_left"]
    assert (rule.status, rule.chances) == (status, 1)


def test_without_deadlines_nobody_can_tell_how_much_time_was_left(given: Any) -> None:
    assert rules(audit(given, *call("a", 200)))["too_little_time_left"].status == "not_examined"


def test_the_lines_of_a_rule_with_its_own_query_are_its_evidence(given: Any) -> None:
    runner = given(requests=with_deadline(0.3))
    found = measure_conduct(runner)
    assert isinstance(found, Conduct)
    (finding,) = (f for f in find_violations(runner, found) if f.rule == "conduct/too_little_time_left")
    assert [e.line_no for e in finding.evidence] == [21]
    assert (finding.query, finding.parameters) == ("conduct/too_little_time", {"at_hop": ""})


# Faster after 429 -----------------------------------------------------------------------------------------------


def waits(after_429: float, after_503: float, times: int = 5) -> list[Line]:
    busy = [line for n in range(times) for line in call(f"b{n}", 429, 200, start=100 * n, step=after_429)]
    failed = [line for n in range(times) for line in call(f"f{n}", 503, 200, start=5000 + 100 * n, step=after_503)]
    return [*busy, *failed]


@pytest.mark.parametrize(
    ("after_429", "after_503", "times", "outcome"),
    [
        (1, 4, 5, ("violated", 5)),  # 0.9 s after the answer 429, 3.9 s after 503
        (4, 4, 5, ("kept", 0)),
        (9, 4, 5, ("kept", 0)),
        (1, 4, 4, ("not_examined", None)),
    ],
)
def test_429_asks_to_slow_down(
    given: Any, after_429: float, after_503: float, times: int, outcome: tuple[str, int | None]
) -> None:
    rule = rules(audit(given, *waits(after_429, after_503, times)))["faster_after_429"]
    assert (rule.status, rule.broken) == outcome


# The retry budget -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("calls", "retried", "outcome"),
    [
        (40, 4, ("kept", 0)),  # 4 of 40 is a tenth
        (40, 6, ("violated", 2)),  # a tenth of 40 is 4
        (19, 9, ("not_examined", None)),
    ],
)
def test_retries_may_be_a_tenth_of_the_first_attempts(
    given: Any, calls: int, retried: int, outcome: tuple[str, int | None]
) -> None:
    lines = [
        line for n in range(calls) for line in call(f"c{n}", *((503, 200) if n < retried else (200,)), start=20 * n)
    ]
    rule = rules(audit(given, *lines))["retries_over_budget"]
    assert (rule.status, rule.broken) == outcome
