"""Health checks, known by their behaviour: machines that ask whether all is well are no people."""

from __future__ import annotations

from forensics.model import Probe
from forensics.runner import Runner

_LISTED = 3


def find_probes(runner: Runner) -> tuple[Probe, ...]:
    """The callers that the queries of this pack leave out, those with most requests first."""
    records = runner.run("traffic/health_checks").records()
    found = [Probe(**{k: v for k, v in r.items() if k != "period_us"}, period_s=r["period_us"] / 1e6) for r in records]
    return tuple(sorted(found, key=lambda p: (-p.requests, p.hop, p.client, p.user_agent, p.route)))


def probe_words(probes: tuple[Probe, ...]) -> str:
    """What was counted apart, why, and what it could be instead."""
    requests = sum(p.requests for p in probes)
    callers = "1 caller" if len(probes) == 1 else f"{len(probes)} callers"
    behave = "behaves as a health check" if len(probes) == 1 else "behave as health checks"
    shown = "; ".join(_words(p) for p in probes[:_LISTED])
    more = f"; and {len(probes) - _LISTED} more" if len(probes) > _LISTED else ""
    return (
        f"{requests:,} requests of {callers} are counted apart, in no number here: each {behave} ({shown}{more}). "
        "A machine that pays at a fixed period, and whose log lines name neither order nor key, would look the same"
    )


def _words(p: Probe) -> str:
    who = " ".join(part for part in (p.client, p.user_agent and f'"{p.user_agent}"') if part)
    size = "answers of no known size" if p.good_bytes is None else f"every good answer {p.good_bytes:,} bytes"
    hours = (p.last_at - p.first_at).total_seconds() / 3600
    night = "day and night" if hours >= 20 else f"throughout the log's {hours:.1f} h, which shows no whole day"
    return (
        f"{who}: {p.method} {p.route} every {p.period_s:.3g} s, {p.regular:,} of {p.requests - 1:,} gaps regular, "
        f"{size}, no order, key or retry, {night}"
    )
