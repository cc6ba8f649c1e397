"""Users or retries: requests in two windows, taken apart into first attempts and amplification."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from forensics.analysis.windows import find_windows
from forensics.model import Finding, Traffic, TrafficBin
from forensics.runner import Runner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_BINS = 720
_FIGURE_BINS = 120
_FEWEST_REQUESTS = 20
# Many logs stamp whole seconds: a finer step would show the comb of the clock.
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_BASES = (
    ("trace_id", "with_trace", "traces", "trace id"),
    ("request_id", "with_request", "request_ids", "request id"),
    ("idempotency_key", "with_key", "keys", "idempotency key"),
    ("order_id", "with_order", "orders", "order in the path"),
)

Window = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class TrafficAnswer:
    """The verdict and the timeline it was read from."""

    traffic: Traffic
    timeline: tuple[TrafficBin, ...]
    step_s: float
    parameters: Mapping[str, object]
    """With which traffic/requests_by_bin gives the counts behind the numbers."""


@dataclass(frozen=True, slots=True)
class _Counts:
    first: int
    retries: int
    unnumbered: int
    seconds: float

    @property
    def requests(self) -> int:
        return self.first + self.retries + self.unnumbered


@dataclass(frozen=True, slots=True)
class _Setting:
    """What is compared, and how attempts are told."""

    windows: tuple[Window, Window]
    why: str
    coverage: float
    basis: str
    scope: str


def measure_traffic(
    runner: Runner, incident: Window | None = None, baseline: Window | None = None
) -> TrafficAnswer | None:
    """Compare the incident with its baseline; None when no request in the logs can make an effect.

    Args:
        incident, baseline: windows the user gives; what is not given is found.
    """
    hops = runner.run("traffic/identities").records()
    if not hops:
        return None
    hop = max(hops, key=lambda h: (h["requests"], h["hop"]))
    basis, basis_words = _basis(hop)
    span_s = max((hop["last_at"] - hop["first_at"]).total_seconds(), 1.0)
    step_s = next((s for s in _STEPS_S if span_s / s <= _MOST_BINS), _STEPS_S[-1])
    bins = _bins(runner, step_s, basis, hop["hop"])
    windows, why = _windows(bins, step_s, incident, baseline)
    before, during = (_count(bins, step_s, w, _clipped(w, hop)) for w in windows)
    coverage = hop["with_attempt"] / hop["requests"]
    scope = "requests with a state-changing method (POST, PUT, PATCH, DELETE)" + (
        f" at hop {hop['hop']}" if hop["hop"] else ""
    )
    figure_s = next((s for s in _STEPS_S if span_s / s <= _FIGURE_BINS), _STEPS_S[-1])
    traffic = _split(before, during, _Setting(windows, why, coverage, basis_words, scope))
    parameters = {"bin_us": int(step_s * 1e6), "basis": basis, "at_hop": hop["hop"]}
    step = max(figure_s, step_s)
    return TrafficAnswer(traffic, _timeline(bins, step_s, step), step, parameters)


def _basis(hop: Mapping[str, Any]) -> tuple[str, str]:
    """What tells first attempts from retries at this hop: the attempt header, else an id that attempts share."""
    total = hop["requests"]
    if hop["with_attempt"] >= 0.95 * total:
        return "attempt", "attempt header"
    if hop["with_attempt"] >= _FEWEST_REQUESTS and not hop["numbered_one"]:
        return "retry_header", "attempt header, which callers send on retries only"
    for name, covered, distinct, words in _BASES:
        if hop[covered] >= 0.9 * total and hop[covered] >= 1.02 * max(1, hop[distinct]):
            return name, words
    return "attempt", "attempt header" if hop["with_attempt"] else "nothing: no header, and no id that attempts share"


def _bins(runner: Runner, step_s: float, basis: str, hop: str) -> dict[int, tuple[int, int, int, int]]:
    result = runner.run("traffic/requests_by_bin", bin_us=int(step_s * 1e6), basis=basis, at_hop=hop)
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in result.rows}


def _windows(
    bins: Mapping[int, tuple[int, int, int, int]], step_s: float, incident: Window | None, baseline: Window | None
) -> tuple[tuple[Window, Window], str]:
    first, last = min(bins), max(bins)
    length = max(2, last - first + 1)
    series = [[bins.get(first + i, (0, 0, 0, 0))[k] for i in range(length)] for k in range(4)]
    # Requests that do not say which attempt they are count as one series with the first attempts.
    series = [[a + b for a, b in zip(series[0], series[2], strict=True)], series[1], series[3]]
    found = find_windows(series)

    def at(index: int) -> datetime:
        return _EPOCH + timedelta(seconds=(first + index) * step_s)

    if incident is None:
        incident = (at(found.incident[0]), at(found.incident[1]))
        why = (
            "the stretch that stands out most against the time before it"
            if found.found
            else "no stretch stands out: the two halves of the log are compared"
        )
        base = (at(found.baseline[0]), at(found.baseline[1]))
    else:
        why = "incident as given"
        length_of = incident[1] - incident[0]
        base = (max(at(0), incident[0] - length_of), incident[0])
    if baseline is not None:
        base, why = baseline, f"{why}; baseline as given"
    return (base, incident), why


def _clipped(window: Window, hop: Mapping[str, Any]) -> Window:
    """The part of a window that the log covers, so that a rate is not diluted by time without a log."""
    clipped = max(window[0], hop["first_at"]), min(window[1], hop["last_at"])
    return clipped if clipped[0] < clipped[1] else window


def _count(bins: Mapping[int, tuple[int, int, int, int]], step_s: float, window: Window, covered: Window) -> _Counts:
    low, high = ((t - _EPOCH).total_seconds() / step_s for t in window)
    inside = [v for k, v in bins.items() if low <= k < high]
    return _Counts(
        sum(v[0] for v in inside),
        sum(v[1] for v in inside),
        sum(v[2] for v in inside),
        (covered[1] - covered[0]).total_seconds(),
    )


def _split(before: _Counts, during: _Counts, setting: _Setting) -> Traffic:
    """requests ratio = users ratio x amplification ratio; requests that do not say are taken to be like the others."""
    amplification = [_amplification(c) for c in (before, during)]
    rates = [c.requests / c.seconds if c.seconds else 0.0 for c in (before, during)]
    requests_ratio = rates[1] / rates[0] if rates[0] else None
    users_ratio = None
    if requests_ratio is not None and amplification[0] and amplification[1]:
        users_ratio = requests_ratio / (amplification[1] / amplification[0])
    share = 1 - 1 / amplification[1] if amplification[1] else None
    known_low = during.retries / during.requests if during.requests else None
    known_high = (during.retries + during.unnumbered) / during.requests if during.requests else None
    (baseline_start, baseline_end), (incident_start, incident_end) = setting.windows
    return Traffic(
        baseline_start=baseline_start,
        baseline_end=baseline_end,
        incident_start=incident_start,
        incident_end=incident_end,
        windows_why=setting.why,
        requests_ratio=_rounded(requests_ratio),
        users_ratio=_rounded(users_ratio),
        amplification_baseline=_rounded(amplification[0]),
        amplification_incident=_rounded(amplification[1]),
        retry_share_incident=_rounded(share),
        retry_share_low=_rounded(known_low),
        retry_share_high=_rounded(known_high),
        header_coverage=round(setting.coverage, 4),
        basis=setting.basis,
        verdict=_verdict(before, during, requests_ratio, users_ratio),
        scope=setting.scope,
    )


def _amplification(counts: _Counts) -> float | None:
    return (counts.first + counts.retries) / counts.first if counts.first else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _verdict(before: _Counts, during: _Counts, requests_ratio: float | None, users_ratio: float | None) -> str:
    """Which factor carries the growth, by its logarithmic share; nothing is said of a handful of requests."""
    if requests_ratio is None or users_ratio is None or min(before.requests, during.requests) < _FEWEST_REQUESTS:
        return "cannot_tell"
    growth, users = math.log(requests_ratio), math.log(users_ratio)
    retries = growth - users
    if max(growth, retries, users) < math.log(1.2):
        return "neither"
    share = retries / (abs(retries) + abs(users))
    return "retries" if share > 0.65 else "users" if share < 0.35 else "both"


def _timeline(bins: Mapping[int, tuple[int, int, int, int]], step_s: float, figure_s: float) -> tuple[TrafficBin, ...]:
    merged: dict[int, list[int]] = {}
    for k, counts in bins.items():
        cell = merged.setdefault(int(k * step_s // figure_s), [0, 0, 0])
        for i in range(3):
            cell[i] += counts[i]
    return tuple(TrafficBin(_EPOCH + timedelta(seconds=k * figure_s), *merged[k]) for k in sorted(merged))


def _statement(traffic: Traffic) -> str:
    """What was counted, and how far it can be trusted."""
    low, high = traffic.retry_share_low, traffic.retry_share_high
    text = growth_words(traffic)
    if traffic.verdict == "cannot_tell":
        few = "" if traffic.users_ratio is None else ", but these are too few requests to say so"
        return f"{text}{few}."
    if low is not None and high is not None and high - low >= 0.005:
        text += f"; between {low:.0%} and {high:.0%} of the incident's requests are retries"
    elif traffic.retry_share_incident is not None:
        text += f"; {traffic.retry_share_incident:.0%} of the incident's requests are retries"
    return f"{text}."


def growth_words(traffic: Traffic) -> str:
    """The growth taken apart, in words: 'requests x3.0 = users x1.05 x retries x2.86'."""
    ratios: Sequence[float | None] = (traffic.requests_ratio, traffic.users_ratio)
    if ratios[0] is None or ratios[1] is None or not ratios[1]:
        return "the growth cannot be taken apart"
    return f"requests x{ratios[0]:.2f} = users x{ratios[1]:.2f} x retries x{ratios[0] / ratios[1]:.2f}"


def find_traffic(answer: TrafficAnswer) -> Finding:
    """The finding that answers: did people come, or did clients retry?"""
    traffic = answer.traffic
    words = {
        "retries": "The growth is retries, not users",
        "users": "The growth is users, not retries",
        "both": "Both users and retries grew",
        "neither": "Traffic did not grow",
        "cannot_tell": "Users and retries cannot be told apart",
    }
    certain = traffic.header_coverage >= 0.95 and traffic.basis == "attempt header"
    return Finding(
        id="traffic-growth",
        rule="traffic/users_or_retries",
        title=words[traffic.verdict],
        severity={"retries": "high", "both": "medium"}.get(traffic.verdict, "note"),
        confidence=0.95 if certain else 0.3 if traffic.verdict == "cannot_tell" else 0.8,
        statement=_statement(traffic),
        why=(
            f"incident {traffic.incident_start:%Y-%m-%d %H:%M:%S} to {traffic.incident_end:%H:%M:%S} UTC: "
            + traffic.windows_why,
            f"first attempts are told from retries by: {traffic.basis}",
            f"{traffic.header_coverage:.0%} of the requests carry an attempt number",
            f"counted: {traffic.scope}",
        ),
        alternatives=(),
        numbers={
            "requests_ratio": traffic.requests_ratio,
            "users_ratio": traffic.users_ratio,
            "amplification_baseline": traffic.amplification_baseline,
            "amplification_incident": traffic.amplification_incident,
            "retry_share_incident": traffic.retry_share_incident,
        },
        money={},
        query="traffic/requests_by_bin",
        parameters=answer.parameters,
        evidence=(),
        evidence_total=0,
        next_steps=_next_steps(traffic),
    )


def _next_steps(traffic: Traffic) -> tuple[str, ...]:
    if traffic.verdict in ("retries", "both"):
        return (
            "retry at one layer only, with full jitter and a budget of 10 % of first attempts",
            "let clients send the attempt number, and log it at every hop",
        )
    if traffic.verdict == "cannot_tell":
        return ("log the attempt number or the idempotency key, then the next incident can be told apart",)
    return ()
