"""Traffic split and health checks: in findings.json number by number, in the report as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from forensics.model import Probe, Scan, TrafficPart, TrafficSplit
from forensics.render.export import render_findings
from forensics.render.html import ReportMeta, render_report

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


def part(name: str, growth_share: float | None) -> TrafficPart:
    """100 requests before, 300 in the incident, 110 of them first attempts; a growth of 200."""
    return TrafficPart(
        part=name,
        basis="attempt",
        baseline_requests=100,
        baseline_first=100,
        incident_requests=300,
        incident_first=110,
        incident_retries=190,
        requests_ratio=3.0,
        users_ratio=1.1,
        amplification_baseline=1.0,
        amplification_incident=2.7273,
        growth_share=growth_share,
    )


PROBE = Probe("edge", "10.0.0.9", "checker/1", "POST", "/rpc", 8641, 8640, 10.0, 2, START, START)


@pytest.fixture
def split(incident: Scan) -> Scan:
    """The incident, split by route (a tag in one's name) and by clients of whom none stands out."""
    assert incident.traffic is not None
    by_route = TrafficSplit("route", (part("/pay<b>", 0.9), part("", 0.1)), 12, {"split_by": "route"})
    by_client = TrafficSplit("client", (part("c-1", 0.01), part("c-2", 0.01)), 5000, {"split_by": "client"})
    return replace(incident, traffic=replace(incident.traffic, splits=(by_route, by_client), probes=(PROBE,)))


def test_findings_hold_every_part_and_the_query_that_counts_them(split: Scan) -> None:
    traffic = json.loads(render_findings(split, "1"))["traffic"]
    route, client = traffic["splits"]
    assert (route["by"], route["of"], client["of"]) == ("route", 12, 5000)
    assert route["query"] == {"name": "traffic/split", "params": {"split_by": "route"}}
    assert (route["parts"][0]["incident_first"], route["parts"][0]["growth_share"]) == (110, 0.9)
    assert (traffic["health_checks"][0]["route"], traffic["health_checks"][0]["requests"]) == ("/rpc", 8641)


def test_the_report_shows_who_carries_the_growth_and_says_where_nobody_does(split: Scan, meta: ReportMeta) -> None:
    page = render_report(split, meta)
    assert "The same windows by route" in page
    assert "/pay&lt;b&gt;" in page
    assert "/pay<b>" not in page
    assert "The same windows by client" not in page
    assert "By client: none of 5,000 carries a tenth of the growth." in page


def test_the_report_lists_health_checks_with_their_evidence(split: Scan, meta: ReportMeta) -> None:
    page = render_report(split, meta)
    assert "Health checks, known by their behaviour and counted in none of the numbers above" in page
    assert "8,640 of 8,640" in page
