"""The growth split: which routes, clients, user agents and hops carry it, each taken apart into users and retries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forensics.detect.hops import Hop
from forensics.detect.timeline import Timeline, Window
from forensics.detect.told import Told, tell_attempts
from forensics.model import TrafficPart, TrafficSplit
from forensics.runner import Runner

_WAYS = ("route", "client")
_LISTED = 10

Spans = Mapping[str, int]


def measure_splits(
    runner: Runner, hops: Sequence[Hop], told: Told, timeline: Timeline, windows: tuple[Window, Window]
) -> tuple[TrafficSplit, ...]:
    """Each way to split that the log names anything for; by hop only where there is more than one.

    Args:
        told: what tells attempts apart at the hop of the timeline.
        windows: baseline and incident.
    """
    counts = timeline.count(windows[0]), timeline.count(windows[1])
    scale = counts[1].seconds / counts[0].seconds if counts[0].seconds else 0.0
    growth = counts[1].requests - scale * counts[0].requests
    spans = spans_of(timeline, windows)
    splits = []
    for way in _WAYS:
        asked = {"split_by": way, "at_hop": told.hop, "basis": told.basis, **spans}
        records = runner.run("traffic/split", most=_LISTED, **asked).records()
        if any(r["part"] for r in records):
            parts = tuple(_part(r, told.basis, scale, growth) for r in records)
            splits.append(TrafficSplit(way, parts, records[0]["parts"], asked))
    return (*splits, *_by_hop(runner, hops, told, spans, scale))


def spans_of(timeline: Timeline, windows: tuple[Window, Window]) -> dict[str, int]:
    """The windows as parameters of traffic/split: whole steps of the timeline, so that both count the same."""
    return {
        f"{name}_{edge}_us": at
        for name, window in zip(("baseline", "incident"), windows, strict=True)
        for edge, at in zip(("start", "end"), timeline.edges_us(window), strict=True)
    }


def _by_hop(runner: Runner, hops: Sequence[Hop], told: Told, spans: Spans, scale: float) -> tuple[TrafficSplit, ...]:
    """Hops do not add up: one request passes them all. So each has a growth of its own."""
    if len(hops) < 2:
        return ()
    parts = []
    for hop in hops:
        basis = told.basis if hop["hop"] == told.hop else tell_attempts(runner, hop).basis
        for r in runner.run("traffic/split", split_by="hop", at_hop=hop["hop"], basis=basis, **spans).records():
            parts.append(_part(r, basis, scale, None))
    parts.sort(key=lambda part: (-part.incident_requests, part.part))
    asked = {"split_by": "hop", "at_hop": told.hop, "basis": told.basis, **spans}
    return (TrafficSplit("hop", tuple(parts), len(parts), asked),) if parts else ()


def _part(r: Mapping[str, Any], basis: str, scale: float, growth: float | None) -> TrafficPart:
    before, during = (
        sum(r[f"{window}_{kind}"] for kind in ("first", "retries", "unnumbered")) for window in ("baseline", "incident")
    )
    silent = r["baseline_unnumbered"] + r["incident_unnumbered"]
    return TrafficPart(
        part=r["part"],
        basis=basis,
        baseline_requests=before,
        baseline_first=r["baseline_first"],
        incident_requests=during,
        incident_first=r["incident_first"],
        incident_retries=r["incident_retries"],
        requests_ratio=_rate(during, before, scale),
        users_ratio=None if silent else _rate(r["incident_first"], r["baseline_first"], scale),
        amplification_baseline=_amplification(r, "baseline"),
        amplification_incident=_amplification(r, "incident"),
        growth_share=round((during - scale * before) / growth, 4) if growth and growth > 0 else None,
    )


def _rate(during: int, before: int, scale: float) -> float | None:
    return round(during / (scale * before), 4) if before and scale else None


def _amplification(r: Mapping[str, Any], window: str) -> float | None:
    first = r[f"{window}_first"]
    return round((first + r[f"{window}_retries"]) / first, 4) if first else None


def split_words(split: TrafficSplit) -> str | None:
    """Which parts carry the growth, in words; None where there is only one."""
    if split.of < 2:
        return None
    if split.by == "hop":
        each = "; ".join(f"{_name(p)} {_factors(p)}" for p in split.parts)
        return f"by hop (a request passes all of them): {each}"
    by = split.by.replace("_", " ")
    most = max(split.parts, key=lambda p: (p.growth_share or 0.0, p.part))
    if not split.is_carried or most.growth_share is None:
        return f"by {by}: none of {split.of:,} carries a tenth of the growth"
    return f"by {by}: {_name(most)} carries {most.growth_share:.0%} of the growth ({_factors(most)})"


def _name(part: TrafficPart) -> str:
    return part.part or "requests that name none"


def _factors(part: TrafficPart) -> str:
    if part.requests_ratio is None:
        return "no request in the baseline"
    if part.users_ratio:
        retries = part.requests_ratio / part.users_ratio
        return f"requests x{part.requests_ratio:.2f} = users x{part.users_ratio:.2f} x retries x{retries:.2f}"
    return f"requests x{part.requests_ratio:.2f}"
