"""Users or retries: requests in two windows, taken apart into first attempts and amplification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forensics.analysis.growth import Growth, judge, judge_between, take_apart
from forensics.analysis.retry_share import Share
from forensics.analysis.what_if import ASSUMPTIONS, Load, suppose
from forensics.detect.crowd import Flood, find_flood
from forensics.detect.hops import busiest, read_hops
from forensics.detect.probes import find_probes
from forensics.detect.split import measure_splits, spans_of
from forensics.detect.timeline import (
    PLAIN,
    Calendar,
    Compared,
    Timeline,
    Window,
    WindowCounts,
    choose_windows,
    read_timeline,
)
from forensics.detect.told import Told, always_one, measure_share, tell_attempts
from forensics.model import Herd, Layers, Probe, Traffic, TrafficBin, TrafficSplit, WhatIf
from forensics.runner import Runner

_FEWEST_REQUESTS = 20
_GREW = 1.2


@dataclass(frozen=True, slots=True)
class TrafficAnswer:
    """The verdict and the timeline it was read from."""

    traffic: Traffic
    timeline: tuple[TrafficBin, ...]
    step_s: float
    parameters: Mapping[str, object]
    """With which traffic/requests_by_bin gives the counts behind the numbers."""
    loads: tuple[Load, ...]
    """The incident step by step; empty when there is none, or first attempts cannot be told."""
    load_step_s: float
    looked_at: Window | None
    """The incident with its tail, for the other questions about it; None where none was found or given."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """Baseline and incident side by side."""

    compared: Compared
    counts: tuple[WindowCounts, WindowCounts]
    shares: tuple[Share, Share]
    told: Told
    flood: Flood | None
    splits: tuple[TrafficSplit, ...]
    probes: tuple[Probe, ...]

    @property
    def requests_ratio(self) -> float | None:
        """Of the rates; None without requests in the baseline."""
        before, during = (c.requests / c.seconds if c.seconds else 0.0 for c in self.counts)
        return during / before if before else None


def measure_traffic(
    runner: Runner,
    incident: Window | None = None,
    baseline: Window | None = None,
    calendar: Calendar = PLAIN,
) -> TrafficAnswer | None:
    """Compare the incident with its baseline; None when no request in the logs can make an effect.

    Args:
        incident, baseline: windows the user gives; what is not given is found.
        calendar: where days are cut, and which of them are holidays.
    """
    hops = read_hops(runner)
    if not hops:
        return None
    hop = busiest(hops)
    told = tell_attempts(runner, hop)
    timeline = read_timeline(runner, told.basis, told.hop, (hop["first_at"], hop["last_at"]))
    compared = choose_windows(timeline, incident, baseline, calendar)
    windows = (compared.baseline, compared.incident)
    counts = (timeline.count(windows[0]), timeline.count(windows[1]))
    believed = always_one(runner, told, windows, counts[0].retries + counts[1].retries)
    if believed != told:
        told, timeline = believed, read_timeline(runner, believed.basis, told.hop, timeline.covered)
        counts = (timeline.count(windows[0]), timeline.count(windows[1]))
    shares = (measure_share(runner, told, windows[0], counts[0]), measure_share(runner, told, windows[1], counts[1]))
    flood, splits = None, tuple[TrafficSplit, ...]()
    if compared.found:
        flood = find_flood(runner, (told.hop, told.basis), spans_of(timeline, windows), counts)
        splits = measure_splits(runner, hops, told, timeline, windows)
    measured = _Measured(compared, counts, shares, told, flood, splits, find_probes(runner))
    parameters = {"bin_us": int(timeline.step_s * 1e6), "basis": told.basis, "at_hop": told.hop}
    step_s, bins = timeline.drawn()
    loads = _loads(timeline, compared.incident, shares[1]) if compared.found else ()
    looked_at = compared.incident[0], compared.recovered_at or compared.incident[1]
    return TrafficAnswer(
        _traffic(measured), bins, step_s, parameters, loads, timeline.step_s, looked_at if compared.found else None
    )


def _traffic(m: _Measured) -> Traffic:
    ratio, (before, during) = m.requests_ratio, m.shares
    apart = take_apart(ratio, before, during) if ratio else None
    verdict, why, beside = _verdict(m, apart)
    return Traffic(
        baseline_start=m.compared.baseline[0],
        baseline_end=m.compared.baseline[1],
        incident_start=m.compared.incident[0],
        incident_end=m.compared.incident[1],
        windows_why=m.compared.why,
        requests_ratio=_rounded(ratio),
        users_ratio=_rounded(apart.users if apart else None),
        amplification_baseline=_rounded(_amplification(before)),
        amplification_incident=_rounded(_amplification(during)),
        retry_share_incident=_rounded(during.point),
        retry_share_low=_rounded(during.low if m.counts[1].requests else None),
        retry_share_high=_rounded(during.high if m.counts[1].requests else None),
        header_coverage=round(m.told.coverage, 4),
        basis=m.told.words,
        verdict=verdict,
        scope=_scope(m.told),
        recovered_at=m.compared.recovered_at,
        users_ratio_low=_rounded(apart.users_low if apart else None),
        users_ratio_high=_rounded(apart.users_high if apart else None),
        growth_by_retries=_rounded(apart.by_retries if apart else None),
        verdict_why=why,
        cannot_tell_from=beside,
        splits=m.splits,
        probes=m.probes,
    )


def _scope(told: Told) -> str:
    return "requests with a state-changing method (POST, PUT, PATCH, DELETE)" + (
        f" at hop {told.hop}" if told.hop else ""
    )


def _amplification(share: Share) -> float | None:
    return 1 / (1 - share.point) if share.point is not None and share.point < 1 else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _verdict(m: _Measured, apart: Growth | None) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """The verdict, its reasons, and what it cannot be told apart from."""
    beside = _beside(m.told)
    if apart is None:
        return "cannot_tell", ("no first attempt can be told from a retry", *m.told.notes), beside
    if min(c.requests for c in m.counts) < _FEWEST_REQUESTS:
        return "cannot_tell", (f"a window holds fewer than {_FEWEST_REQUESTS} requests",), ()
    if not m.compared.found:
        why = "requests, their retries and their failures stay within their ordinary swing"
        return "neither", (why, *m.told.notes), beside
    if m.told.counted:
        verdict = likeliest = judge(apart.requests, apart.users)
    else:
        verdict, likeliest = judge_between(apart.requests, *m.shares)
    reasons = [_reason(verdict, likeliest, apart)]
    if m.flood is not None:
        calls_before = m.counts[0].first + m.counts[0].unnumbered
        people = max(apart.users - m.flood.added / max(1, calls_before) * _time_ratio(m), 0.0)
        decides = verdict in ("users", "both") and people < _GREW
        reasons.insert(0 if decides else 1, _flood_words(m.flood, people))
        if decides:
            verdict = "neither" if verdict == "users" else "retries"
            beside += ("a partner's customers behind one address",) if m.flood.converts else ()
    again = m.counts[1].asked_again
    if m.told.basis == "order_id" and again:
        reasons.append(f"{again} requests name an order again after a good answer in time: people's own, not retries")
    return verdict, (*reasons, *m.told.notes), beside


def _time_ratio(m: _Measured) -> float:
    before, during = m.counts
    return before.seconds / during.seconds if during.seconds else 0.0


def _reason(verdict: str, likeliest: str, apart: Growth) -> str:
    if verdict == "cannot_tell":
        return (
            f"the bounds of the share of retries allow more than one verdict; the likeliest is {likeliest} "
            f"(users x{apart.users_low:.2f} to x{apart.users_high:.2f})"
        )
    if verdict == "neither" or apart.by_retries is None:
        return f"neither users (x{apart.users:.2f}) nor retries (x{apart.requests / apart.users:.2f}) grew by a fifth"
    return f"of the growth's logarithm retries carry {apart.by_retries:.0%}, users {1 - apart.by_retries:.0%}"


def _flood_words(flood: Flood, people: float) -> str:
    few = "one client" if flood.clients == 1 else f"{flood.clients} clients"
    return (
        f"{few} of {flood.of_clients} started {flood.calls} of the incident's calls, of which {flood.good_share:.0%} "
        f"were answered well{f', for {flood.orders} orders' if flood.orders else ''}; without them users x{people:.2f}"
    )


def _beside(told: Told) -> tuple[str, ...]:
    if told.by_header:
        return ()
    if told.basis == "order_id":
        return ("a person who presses again after a failure, which names the order as a retry does",)
    if told.basis in ("none", "attempt"):
        return (
            "a person who presses again after a failure",
            "another person behind the same address",
            "a retry that comes from another address than the attempt before it",
        )
    return ("a second act sent with the id of the first",) if told.basis == "idempotency_key" else ()


def _loads(timeline: Timeline, incident: Window, share: Share) -> tuple[Load, ...]:
    """The incident's steps; requests that do not say are parted by the share of the whole incident."""
    if share.point is None:
        return ()
    counts = timeline.count(incident)
    silent = counts.unnumbered
    part = (share.point * counts.requests - counts.retries) / silent if silent else 0.0
    part = min(1.0, max(0.0, part))
    return tuple(
        Load(s.first + s.unnumbered * (1 - part), s.retries + s.unnumbered * part, s.failures)
        for s in timeline.within(incident)
    )


def measure_what_if(answer: TrafficAnswer, layers: Layers | None, herd: Herd | None) -> WhatIf | None:
    """What other ways to retry would have made of the incident; None when there are no loads to suppose it of."""
    if not answer.loads:
        return None
    scenarios = suppose(answer.loads, _one_layer(layers), _jittered_peak(herd))
    return WhatIf(answer.load_step_s, ASSUMPTIONS, scenarios)


def _one_layer(layers: Layers | None) -> float | None:
    tries: Sequence[Any] = [h.attempts_per_request for h in layers.hops if h.attempts_per_request] if layers else []
    retrying = [n for n in tries if n > 1]
    return retrying[0] / layers.product if layers and len(retrying) > 1 else None


def _jittered_peak(herd: Herd | None) -> float | None:
    if herd is None or not herd.synchronised or not herd.waves:
        return None
    return min(1.0, max(w.peak_full_jitter for w in herd.waves) / max(w.peak for w in herd.waves))
