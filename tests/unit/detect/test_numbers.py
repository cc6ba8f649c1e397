"""Every number of the charts and tables of traffic, layers, herd and what-if, worked out again from the queries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import pytest

from forensics.detect.herd import find_herd, measure_herd
from forensics.detect.layers import find_layers, measure_layers
from forensics.detect.traffic import TrafficAnswer, measure_traffic, measure_what_if
from forensics.detect.traffic_finding import find_traffic
from forensics.model import Herd, Layers
from forensics.runner import Runner

ROUTES = ("/pay", "/pay", "/refund")
KINDS = ("first", "retries", "unnumbered")


def storm() -> list[dict[str, Any]]:
    """Half an hour of two hops. Users double in minutes 10 to 20, and each tries three times at the ledger.

    A machine asks the ledger every ten seconds, day and night, and names nothing.
    """
    lines: list[dict[str, Any]] = []
    for second in range(1800):
        incident = 600 <= second < 1200
        for user in range(2 if incident else 1):
            call = {"trace_id": f"t{second}.{user}", "client": f"c{second % 40}", "route": ROUTES[second % 3]}
            tries = 3 if incident else 1
            failed = 503 if incident else 201
            lines.append({"at": second + user / 10, "hop": "edge", "status": failed, "duration_us": 900_000, **call})
            for n in range(tries):
                at, took = second + user / 10 + n / 5, {"duration_us": 100_000}
                lines.append({"at": at, "hop": "ledger", "status": failed, "source_id": 4, **took, **call})
    checker = {"hop": "ledger", "client": "10.0.0.9", "route": "/rpc", "bytes": 2, "source_id": 4}
    return [*lines, *[{"at": float(at), **checker} for at in range(0, 1800, 10)]]


@pytest.fixture
def runner(given: Any) -> Runner:
    """A case of the storm."""
    made: Runner = given(requests=storm())
    return made


@pytest.fixture
def answer(runner: Runner) -> TrafficAnswer:
    """What traffic says of it."""
    found = measure_traffic(runner)
    assert found is not None
    return found


def counted(runner: Runner, answer: TrafficAnswer, window: tuple[datetime, datetime]) -> list[dict[str, Any]]:
    """The steps of a window, by the query and parameters of the finding."""
    finding = find_traffic(answer)
    step_s = int(str(finding.parameters["bin_us"])) / 1e6
    low, high = (t.timestamp() / step_s for t in window)
    return [r for r in runner.run(str(finding.query), **finding.parameters).records() if low <= r["bin"] < high]


def windows(answer: TrafficAnswer) -> tuple[tuple[datetime, datetime], tuple[datetime, datetime]]:
    t = answer.traffic
    return (t.baseline_start, t.baseline_end), (t.incident_start, t.incident_end)


def totals(rows: list[dict[str, Any]]) -> Mapping[str, int]:
    return {name: sum(r[name] for r in rows) for name in ("first_attempts", "retries", "unnumbered")}


def test_the_ratios_of_the_two_windows(runner: Runner, answer: TrafficAnswer) -> None:
    baseline, incident = windows(answer)
    before, during = totals(counted(runner, answer, baseline)), totals(counted(runner, answer, incident))
    seconds = [(end - start).total_seconds() for start, end in (baseline, incident)]
    t, both = answer.traffic, [sum(c.values()) for c in (before, during)]
    assert t.verdict == "retries" or t.verdict == "both"
    assert t.requests_ratio == pytest.approx(both[1] / seconds[1] / (both[0] / seconds[0]), abs=1e-4)
    users = during["first_attempts"] / seconds[1] / (before["first_attempts"] / seconds[0])
    assert t.users_ratio == pytest.approx(users, abs=1e-4)
    assert t.amplification_baseline == pytest.approx(both[0] / before["first_attempts"], abs=1e-4)
    assert t.amplification_incident == pytest.approx(both[1] / during["first_attempts"], abs=1e-4)
    assert t.retry_share_incident == pytest.approx(during["retries"] / both[1], abs=1e-4)


def test_the_parts_of_a_split_are_what_its_query_counts_and_add_up_to_the_windows(
    runner: Runner, answer: TrafficAnswer
) -> None:
    totals_of = [totals(counted(runner, answer, window)) for window in windows(answer)]
    splits = {split.by: split for split in answer.traffic.splits}
    assert set(splits) == {"route", "client", "hop"}
    for by in ("route", "client"):
        rows = runner.run("traffic/split", **{**splits[by].parameters, "most": 1000}).records()
        assert len(rows) == splits[by].of
        for name, total in zip(("baseline", "incident"), totals_of, strict=True):
            assert sum(r[f"{name}_first"] for r in rows) == total["first_attempts"]
            assert sum(r[f"{name}_retries"] for r in rows) == total["retries"]
            assert sum(r[f"{name}_unnumbered"] for r in rows) == total["unnumbered"]
        for part, row in zip(splits[by].parts, rows, strict=False):
            assert part.part == row["part"]
            assert part.baseline_requests == sum(row[f"baseline_{kind}"] for kind in KINDS)
            assert part.incident_requests == sum(row[f"incident_{kind}"] for kind in KINDS)
            assert (part.incident_first, part.incident_retries) == (row["incident_first"], row["incident_retries"])
    shares = [part.growth_share or 0.0 for part in splits["route"].parts]
    assert sum(shares) == pytest.approx(1.0, abs=1e-3)
    # No id of the edge's lines repeats, so there nothing tells a retry.
    assert {p.part: p.amplification_incident for p in splits["hop"].parts} == {"edge": None, "ledger": 3.0}
    assert {p.part: p.requests_ratio for p in splits["hop"].parts} == {"edge": 2.0, "ledger": 6.0}


def test_requests_are_first_attempts_times_retries_in_every_part(answer: TrafficAnswer) -> None:
    for split in answer.traffic.splits:
        for part in (part for part in split.parts if part.basis != "none"):
            assert part.amplification_incident is not None
            assert part.incident_requests == pytest.approx(part.incident_first * part.amplification_incident, rel=1e-3)


def test_health_checks_are_counted_apart_and_told(runner: Runner, answer: TrafficAnswer) -> None:
    (probe,) = answer.traffic.probes
    (row,) = runner.run("traffic/health_checks").records()
    assert (probe.client, probe.requests, probe.regular, probe.period_s) == ("10.0.0.9", 180, 179, 10.0)
    assert (row["client"], row["requests"]) == (probe.client, probe.requests)
    assert all(part.part != "/rpc" for split in answer.traffic.splits for part in split.parts)
    assert any(why.startswith("180 requests of 1 caller are counted apart") for why in find_traffic(answer).why)


def test_the_model_starts_from_the_steps_that_the_query_counts(runner: Runner, answer: TrafficAnswer) -> None:
    rows = counted(runner, answer, windows(answer)[1])
    model = measure_what_if(answer, None, None)
    assert model is not None
    supposed = {s.name: (s.requests, s.peak) for s in model.scenarios}
    sent = [r["first_attempts"] + r["retries"] for r in rows]
    first = [r["first_attempts"] for r in rows]
    assert supposed["as_seen"] == (sum(sent), max(sent))
    assert supposed["no_retries"] == (sum(first), max(first))
    for share in (0.1, 0.2):
        allowed = [n + min(r["retries"], share * n) for n, r in zip(first, rows, strict=True)]
        assert supposed[f"budget_{share * 100:.0f}"] == (round(sum(allowed)), round(max(allowed)))


def test_the_chain_of_hops_in_the_incident(runner: Runner, answer: TrafficAnswer) -> None:
    layers = measure_layers(runner, answer.looked_at)
    assert isinstance(layers, Layers)
    assert layers.window == answer.looked_at == windows(answer)[1]
    finding = find_layers(layers)
    rows = runner.run(str(finding.query), **finding.parameters).records()
    lost = [r for r in rows if r["in_span"] and r["outer_failures"] == r["outer_requests"]]
    assert {r["inner_requests"] / r["outer_requests"] for r in lost} == {layers.product} == {layers.seen_product}
    assert layers.hops[0].failed_calls == sum(r["calls"] for r in lost) == 1200
    requests = {r["hop"]: r["requests"] for r in runner.run("traffic/identities").records()}
    assert {h.hop: h.requests for h in layers.hops} == requests


def test_the_herd_is_looked_for_in_the_incident(given: Any) -> None:
    lines = [
        {**line, "request_id": line["trace_id"]}
        for line in storm()
        if line.get("hop") == "ledger" and "trace_id" in line
    ]
    cut = [{"at": 800.0 + n / 1000, "request_id": f"x{n}", "status": 503, "duration_us": 1000} for n in range(400)]
    again = [{**line, "at": line["at"] + wait} for wait in (5.0, 15.0) for line in cut]
    runner = given(requests=[*lines, *({"hop": "ledger", **line} for line in [*cut, *again])])
    found = measure_traffic(runner)
    assert found is not None
    herd = measure_herd(runner, 1000, found.looked_at)
    assert isinstance(herd, Herd)
    assert (herd.window, herd.synchronised) == (found.looked_at, True)
    finding = find_herd(herd)
    rows = runner.run(str(finding.query), **finding.parameters).records()
    assert herd.clients == sum(r["retries"] for r in rows if r["attempt"] == 2)
    assert sum(b.retries for b in herd.bins) == sum(r["retries"] for r in rows)
    assert herd.peak == max(b.retries for b in herd.bins)
    assert herd.mean == pytest.approx(sum(b.retries for b in herd.bins) / len(herd.bins), abs=0.01)
    for wave in herd.waves:
        assert wave.retries == sum(r["retries"] for r in rows if r["attempt"] == wave.attempt)


def test_without_an_incident_the_whole_log_is_looked_at(given: Any) -> None:
    lines = [line for line in storm() if line["at"] < 600 or line["at"] >= 1200]
    layers = measure_layers(given(requests=[*lines, *[line for line in storm() if 600 <= line["at"] < 610]]))
    assert isinstance(layers, Layers)
    assert (layers.window, layers.window_why) == (None, "the whole log, for no incident stood out in it")
