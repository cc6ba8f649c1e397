"""Retry policies as laws of chance: the law of each drawn wait, and gaps drawn from them.

A wait is nominal (what the formula says, in `schedules`) or drawn (after jitter). A drawn wait's law is kept as
segments: pieces of uniform density (low, high, weight), seconds; one piece for most jitters, several for decorrelated
waits.
Formulas: full, equal and decorrelated jitter as in Brooker, "Exponential Backoff And Jitter" (AWS, 2015);
proportional, additive and a first wait of its own as read in the clients of the catalogue (data/policies.toml).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.schedules import jitter_bounds, waits
from forensics.model import Policy

Floats = NDArray[np.float64]
_PATHS = 10  # quantiles kept of a decorrelated wait; enough for a density that noise then smooths


def wait_segments(policy: Policy, n: int) -> list[Floats]:
    """For each of the first n waits its law as rows (low, high, weight); seconds, weights sum to 1."""
    if policy.jitter == "decorrelated" or policy.shape == "decorrelated":
        return _decorrelated_segments(policy, n)
    return [np.array([[*jitter_bounds(policy, w), 1.0]]) for w in waits(policy, n)]


def segment_points(segments: Floats, count: int) -> Floats:
    """The law of a wait as `count` equally likely values: the middles of its quantile bands, in seconds."""
    low, high, weight = segments.T
    if len(segments) == 1:
        return np.asarray(low[0] + (high[0] - low[0]) * (np.arange(count) + 0.5) / count)
    inner = (np.arange(24) + 0.5) / 24
    values = (low[:, None] + (high - low)[:, None] * inner).ravel()
    order = np.argsort(values)
    reached = np.cumsum(np.repeat(weight / 24, 24)[order])
    return np.asarray(np.interp((np.arange(count) + 0.5) / count, reached, values[order]))


def _decorrelated_segments(policy: Policy, n: int) -> list[Floats]:
    """Each wait is min(cap, U(base, 3 * previous)), the first after previous = base."""
    base, cap = policy.base_s or 0.0, policy.cap_s if policy.cap_s is not None else np.inf
    laws: list[Floats] = []
    previous = np.array([base])
    for _ in range(n):
        top, share = np.maximum(3 * previous, base), 1 / len(previous)
        inside = np.where(top > cap, (cap - base) / np.maximum(top - base, 1e-9), 1.0).clip(0, 1)
        rows = [(base, min(t, cap), share * s) for t, s in zip(top, inside, strict=True) if s > 0]
        if (inside < 1).any():
            rows.append((float(cap), float(cap), float(share * (1 - inside).sum())))
        laws.append(np.array(rows))
        previous = segment_points(laws[-1], _PATHS)
    return laws


def draw_wait(policy: Policy, n: int, previous_s: float, rng: np.random.Generator) -> float:
    """One drawn wait before attempt n + 1, in seconds; `previous_s` is the drawn wait before it (0: none)."""
    if policy.jitter == "decorrelated" or policy.shape == "decorrelated":
        base = policy.base_s or 0.0
        drawn = float(rng.uniform(base, max(base, 3 * (previous_s or base))))
        return drawn if policy.cap_s is None else min(policy.cap_s, drawn)
    low, high = jitter_bounds(policy, waits(policy, n)[-1])
    return float(rng.uniform(low, high)) if high > low else low


@dataclass(frozen=True, slots=True)
class Weather:
    """What the network and the receiver do to attempts during an incident; shares are probabilities."""

    lost_share: float = 0.5
    """Processed, but the reply is lost: a row, and the timeout passes."""
    fast_share: float = 0.1
    """Refused at once: no row, no time passes."""
    unseen_share: float = 0.1
    """Never arrives: no row, and the timeout passes."""
    fast_after_row_share: float = 0.05
    """Processed, but an error comes back at once: a row, no time passes."""
    latency_s: float = 0.05
    """Median time until the row is stamped, log-normal with sigma 0.6."""
    late_share: float = 0.1
    """Rows stamped later by up to `late_s`."""
    late_s: float = 1.5


def sample_gaps(
    policy: Policy, groups: int, rng: np.random.Generator, weather: Weather | None = None, resolution_us: int = 1
) -> list[list[int]]:
    """Gaps in microseconds of `groups` acts with two or more rows, as a ledger would show them.

    An act is tried until a reply arrives or `max_attempts` (6 where not known) are used; acts that leave
    fewer than two rows are drawn again.
    """
    weather = weather or Weather()
    found: list[list[int]] = []
    while len(found) < groups:
        stamps = sorted(int(t * 1e6) // resolution_us * resolution_us for t in _sample_rows(policy, rng, weather))
        if len(stamps) > 1:
            found.append([b - a for a, b in pairwise(stamps)])
    return found


def _sample_rows(policy: Policy, rng: np.random.Generator, weather: Weather) -> list[float]:
    now, wait, rows = float(rng.uniform(10, 1000)), 0.0, list[float]()
    edges = np.cumsum((weather.lost_share, weather.fast_share, weather.unseen_share, weather.fast_after_row_share))
    for attempt in range(1, (policy.max_attempts or 6) + 1):
        fate = int(np.searchsorted(edges, rng.uniform(), side="right"))
        latency = weather.latency_s * float(np.exp(rng.normal(0, 0.6)))
        if fate in (0, 3, 4):
            late = rng.uniform(0, weather.late_s) if rng.uniform() < weather.late_share else 0.0
            rows.append(now + latency + float(late))
        if fate == 4:
            break
        wait = draw_wait(policy, attempt, wait, rng)
        now += wait + ((policy.timeout_s or 0.0) if fate in (0, 2) else latency)
    return rows


def with_schedule(policy: Policy, n: int) -> Policy:
    """The policy with its first n nominal waits written out in `schedule_s`, rounded to a millisecond."""
    if policy.shape == "schedule":
        return policy
    return replace(policy, schedule_s=tuple(round(w, 3) for w in waits(policy, n)))
