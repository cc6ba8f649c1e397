"""The herd: calls cut at one instant, and the retries that follow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from forensics.detect.herd import find_herd, measure_herd
from forensics.model import Herd

WAITS = (1.0, 2.0, 4.0)
SECOND = 1_000_000


def outage(calls: int = 50, jittered: bool = False, apart_s: float = 0.0) -> list[dict[str, Any]]:
    """Calls that end `apart_s` after each other from 12:01:00, and come back after 1, 2 and 4 s, or after a share."""
    lines: list[dict[str, Any]] = []
    for call in range(calls):
        ended = 60 + call * apart_s
        lines.append({"at": ended - 0.5, "duration_us": 500_000, "request_id": f"r{call}", "status": 502})
        share = (call + 0.5) / calls
        for wait in WAITS:
            at = ended + wait * (share if jittered else 1.0)
            share = (share * 7) % 1
            lines.append({"at": at, "duration_us": 10_000, "request_id": f"r{call}", "status": 503})
            ended = at + 0.01
    return lines


def measured(given: Any, lines: list[dict[str, Any]], resolution_us: int = 1000) -> Herd:
    found = measure_herd(given(requests=lines), resolution_us)
    assert isinstance(found, Herd)
    return found


def test_calls_cut_together_come_back_in_waves(given: Any) -> None:
    herd = measured(given, outage())
    assert herd.synchronised
    assert [round(offset, 1) for offset in herd.wave_offsets_s] == [1.0, 3.0, 7.0]
    assert herd.confidence > 0.95
    assert herd.clients == 50
    assert [(w.attempt, w.retries, w.peak) for w in herd.waves] == [(2, 50, 50), (3, 50, 50), (4, 50, 50)]
    assert herd.ended is not None
    assert herd.ended[0] == datetime(2026, 11, 30, 12, 1, tzinfo=UTC)
    assert herd.waves[2].peak_full_jitter < 15  # 50 over four seconds and more
    assert [b.retries for b in herd.bins] == [0, 50, 0, 50, 0, 0, 0, 50]


def test_the_finding_names_the_wave_that_jitter_would_have_spread_most(given: Any) -> None:
    finding = find_herd(measured(given, outage()))
    assert (finding.id, finding.severity) == ("herd", "medium")
    assert "came back in waves after 1, 3" in finding.statement
    assert "Attempt 4 brought 50 in 1 s" in finding.statement
    assert finding.parameters["to_us"] - finding.parameters["from_us"] == SECOND  # type: ignore[operator]
    assert finding.next_steps


def test_jittered_waits_do_not_come_back_together(given: Any) -> None:
    herd = measured(given, outage(jittered=True))
    assert (herd.synchronised, herd.wave_offsets_s, herd.clients) == (False, (), 50)
    assert herd.confidence > 0.9
    assert find_herd(herd).severity == "note"


def test_retries_of_calls_that_failed_one_by_one_are_no_herd(given: Any) -> None:
    herd = measured(given, outage(calls=200, apart_s=0.5))
    assert (herd.synchronised, herd.ended, herd.bins, herd.confidence) == (False, None, (), 0.95)
    assert "one by one" in find_herd(herd).statement


def test_waits_below_the_clock_cannot_be_told(given: Any) -> None:
    herd = measured(given, outage(), resolution_us=60 * SECOND)
    finding = find_herd(herd)
    assert (herd.synchronised, herd.share_in_step, herd.confidence) == (False, None, 0.5)
    assert finding.title == "Whether retries come back together cannot be told"


def test_without_evidence_the_reason_is_given(given: Any) -> None:
    assert measure_herd(given(), 1000) == "no request in the logs can make an effect"


def test_attempts_that_no_id_ties_cannot_be_followed(given: Any) -> None:
    lines = [{**line, "request_id": None} for line in outage()]
    assert "no id ties the attempts" in str(measure_herd(given(requests=lines), 1000))


def test_every_bar_of_the_chart_is_what_the_query_of_the_finding_counts(given: Any) -> None:
    runner = given(requests=outage())
    herd = measure_herd(runner, 1000)
    assert isinstance(herd, Herd)
    finding = find_herd(herd)
    rows = runner.run(str(finding.query), **finding.parameters).records()
    grid_s = 0.1  # the default step of the query's times
    for n, bar in enumerate(herd.bins):
        low, high = n * herd.step_s, (n + 1) * herd.step_s
        assert bar.retries == sum(r["retries"] for r in rows if low <= r["started_step"] * grid_s + 1e-9 < high)
    for wave in herd.waves:
        assert wave.retries == sum(r["retries"] for r in rows if r["attempt"] == wave.attempt)
