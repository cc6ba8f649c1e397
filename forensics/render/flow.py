"""Traffic, and what it would have been, as findings.json holds them."""

from __future__ import annotations

from typing import Any

from forensics.model import Probe, Scan, TrafficPart, TrafficSplit
from forensics.render.words import iso


def plain_traffic(scan: Scan) -> dict[str, Any] | None:
    """`traffic` of findings.json; None when not examined."""
    t = scan.traffic
    if t is None:
        return None
    return {
        "baseline_start": iso(t.baseline_start),
        "baseline_end": iso(t.baseline_end),
        "incident_start": iso(t.incident_start),
        "incident_end": iso(t.incident_end),
        "recovered_at": iso(t.recovered_at) if t.recovered_at else None,
        "windows_why": t.windows_why,
        "requests_ratio": t.requests_ratio,
        "users_ratio": t.users_ratio,
        "users_ratio_low": t.users_ratio_low,
        "users_ratio_high": t.users_ratio_high,
        "growth_by_retries": t.growth_by_retries,
        "amplification_baseline": t.amplification_baseline,
        "amplification_incident": t.amplification_incident,
        "retry_share_incident": t.retry_share_incident,
        "retry_share_low": t.retry_share_low,
        "retry_share_high": t.retry_share_high,
        "header_coverage": t.header_coverage,
        "basis": t.basis,
        "verdict": t.verdict,
        "verdict_why": list(t.verdict_why),
        "cannot_tell_from": list(t.cannot_tell_from),
        "scope": t.scope,
        "splits": [_split(split) for split in t.splits],
        "health_checks": [_probe(probe) for probe in t.probes],
    }


def _split(found: TrafficSplit) -> dict[str, Any]:
    return {
        "by": found.by,
        "of": found.of,
        "parts": [_part(part) for part in found.parts],
        "query": {"name": "traffic/split", "params": dict(found.parameters)},
    }


def _part(p: TrafficPart) -> dict[str, Any]:
    return {
        "part": p.part,
        "basis": p.basis,
        "baseline_requests": p.baseline_requests,
        "baseline_first": p.baseline_first,
        "incident_requests": p.incident_requests,
        "incident_first": p.incident_first,
        "incident_retries": p.incident_retries,
        "requests_ratio": p.requests_ratio,
        "users_ratio": p.users_ratio,
        "amplification_baseline": p.amplification_baseline,
        "amplification_incident": p.amplification_incident,
        "growth_share": p.growth_share,
    }


def _probe(p: Probe) -> dict[str, Any]:
    return {
        "hop": p.hop,
        "client": p.client,
        "user_agent": p.user_agent,
        "method": p.method,
        "route": p.route,
        "requests": p.requests,
        "regular": p.regular,
        "period_s": p.period_s,
        "good_bytes": p.good_bytes,
        "first_at": iso(p.first_at),
        "last_at": iso(p.last_at),
    }


def plain_what_if(scan: Scan) -> dict[str, Any] | None:
    """`what_if` of findings.json; None without an incident to suppose it of."""
    model = scan.what_if
    if model is None:
        return None
    return {
        "step_s": model.step_s,
        "assumptions": list(model.assumptions),
        "scenarios": [{"name": s.name, "requests": s.requests, "peak": s.peak} for s in model.scenarios],
    }
