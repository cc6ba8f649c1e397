"""Measure whether the matcher's probabilities are worth their numbers: random policies, and how often it is right.

    python -m tests.bench.calibration [POLICIES] [SEED]

Draws policies as people configure them, lets each make the gaps of 20 to 150 groups under random weather, and asks the
matcher for the strongest. Right means right in every field: shape, jitter, base within 15 % (or 0.05 s), factor within
10 %, timeout within 15 % (or 0.5 s). Also said: whether the truth is among the policies the strongest is tied with.

    python -m tests.bench.calibration 100 11
    said         cases  mean said  right  right or tied
    0.00-0.30       40     0.16     0.23       0.53
    0.30-0.50       30     0.37     0.53       0.83
    0.50-0.65        8     0.57     0.88       0.88
    0.65-0.80       19     0.72     0.84       0.84
    Brier score 0.198; right 0.49
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from forensics.analysis.backoff import Weather, sample_gaps
from forensics.analysis.match import match_gaps
from forensics.model import Policy

_SHAPES = ("exponential", "exponential", "exponential", "fixed", "fixed", "linear")
_JITTERS = (("none", None), ("none", None), ("full", None), ("equal", None), ("proportional", 0.25), ("additive", 0.5))
_BASES = (0.1, 0.2, 0.25, 0.3, 0.5, 0.5, 0.7, 1.0, 1.0, 1.5, 2.0, 2.0, 3.0, 5.0)
_TIMEOUTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 30.0)
_EDGES = (0.0, 0.3, 0.5, 0.65, 0.8, 0.9, 0.97, 1.01)


def draw(rng: np.random.Generator) -> tuple[Policy, int, Weather, int]:
    """A policy, a number of groups, a weather and the resolution of the stamps in microseconds."""
    shape = str(rng.choice(_SHAPES))
    base = float(rng.choice(_BASES))
    factor = {"exponential": float(rng.choice((2.0, 2.0, 2.0, 1.5, 3.0))), "linear": base}.get(shape)
    jitter, amount = _JITTERS[int(rng.integers(len(_JITTERS)))]
    cap = float(rng.choice((5.0, 10.0, 30.0))) if shape == "exponential" and rng.uniform() < 0.4 else None
    policy = Policy(shape, base, factor, cap, (), jitter, amount, float(rng.choice(_TIMEOUTS)), int(rng.integers(3, 7)))
    weather = Weather(
        lost_share=float(rng.uniform(0.3, 0.6)),
        fast_share=float(rng.uniform(0.0, 0.2)),
        unseen_share=float(rng.uniform(0.0, 0.2)),
        latency_s=float(rng.choice((0.01, 0.03, 0.08, 0.2))),
        late_share=float(rng.uniform(0.0, 0.25)),
    )
    return policy, int(rng.integers(20, 150)), weather, int(rng.choice((1_000, 1_000, 1_000_000)))


def is_right(found: Policy, true: Policy) -> bool:
    """Whether every field is that of the policy behind the gaps."""
    if found.shape != true.shape or found.jitter != true.jitter:
        return False
    near_base = abs((found.base_s or 0) - (true.base_s or 0)) <= max(0.05, 0.15 * (true.base_s or 0))
    near_timeout = abs((found.timeout_s or 0) - (true.timeout_s or 0)) <= max(0.5, 0.15 * (true.timeout_s or 0))
    grows = true.shape == "exponential"
    near_factor = not grows or abs((found.factor or 0) - (true.factor or 0)) <= 0.1 * (true.factor or 1)
    return near_base and near_timeout and near_factor


def trials(count: int, seed: int) -> Iterator[tuple[float, bool, bool]]:
    """For each policy that was named: the probability said, whether right, whether the truth is among the tied."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        true, groups, weather, resolution_us = draw(rng)
        gaps = sample_gaps(true, groups, rng, weather, resolution_us)
        result = match_gaps(gaps, resolution_us=resolution_us)
        if result.verdict == "named":
            said = [r for k, r in enumerate(result.ranked) if k == 0 or r.tied]
            yield said[0].probability, is_right(said[0].policy, true), any(is_right(r.policy, true) for r in said)


def main(count: int, seed: int) -> None:
    """Print the table."""
    found = list(trials(count, seed))
    print(f"{count} policies, {len(found)} named; seed {seed}")
    print("said         cases  mean said  right  right or tied")
    for low, high in pairwise(_EDGES):
        inside = [f for f in found if low <= f[0] < high]
        if inside:
            said, right, tied = (float(np.mean([f[k] for f in inside])) for k in range(3))
            print(f"{low:.2f}-{min(high, 1):.2f}   {len(inside):6}     {said:.2f}     {right:.2f}       {tied:.2f}")
    brier = float(np.mean([(p - right) ** 2 for p, right, _ in found]))
    print(f"Brier score {brier:.3f}; right {np.mean([f[1] for f in found]):.2f}")


if __name__ == "__main__":
    given = [int(a) for a in sys.argv[1:]]
    main(*given, *(120, 7)[len(given) :])
