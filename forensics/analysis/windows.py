"""Find the incident in counts over time, and the stretch before it to compare with.

The series are cut where their rates change (optimal partitioning of Poisson counts by dynamic programming; Jackson et
al. 2005, doi 10.1109/LSP.2001.838216), the variance being scaled by what neighbouring bins show. The incident lies
between the cut where rates jump up most and the one where they fall back most, each judged against the time right
beside it: a day is not an incident because the night before it was quiet, and a recovery tail stays out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LEAST_GAIN = 10.0
_BESIDE_SHARE = 10


@dataclass(frozen=True, slots=True)
class Windows:
    """Half-open ranges of bins."""

    baseline: tuple[int, int]
    incident: tuple[int, int]
    found: bool
    """False when nothing stands out and the two halves are compared."""


def find_windows(series: Sequence[Sequence[int]]) -> Windows:
    """The incident and its baseline.

    Args:
        series: counts per bin, one row a series (first attempts, retries, failures, ...), all of one length >= 2.
    """
    counts = np.asarray(series, dtype=np.float64)
    bins = counts.shape[1]
    spread = _dispersion(counts)
    cuts = _partition(counts, spread)
    totals = np.concatenate([np.zeros((counts.shape[0], 1)), np.cumsum(counts, axis=1)], axis=1)
    beside = max(2, bins // _BESIDE_SHARE)
    best: tuple[int, int] | None = None
    gain = _LEAST_GAIN * spread
    for k, start in enumerate(cuts[1:-1], 1):
        for end in cuts[k + 1 :]:
            reach = min(beside, end - start)
            up = _step(totals, (max(0, start - beside), start), (start, start + reach))
            down = _step(totals, (end, min(bins, end + beside)), (end - reach, end)) if end < bins else 0.0
            if up > _LEAST_GAIN * spread / 2 and up + down > gain:
                best, gain = (start, end), up + down
    if best is None:
        return Windows((0, bins // 2), (bins // 2, bins), found=False)
    start, end = best
    return Windows((max(0, start - (end - start)), start), (start, end), found=True)


def _dispersion(counts: Floats) -> float:
    """Variance over mean as neighbouring bins show it, at least 1 (Poisson)."""
    whole = counts.sum(axis=0)
    left, right = whole[:-1], whole[1:]
    seen = (left + right) > 0
    if seen.sum() < 8:
        return 1.0
    ratio = (right[seen] - left[seen]) ** 2 / (left[seen] + right[seen])
    # For Poisson counts (a - b)^2 / (a + b) has mean 1 whatever their size; steps between pieces are few.
    return float(max(1.0, ratio.mean()))


def _partition(counts: Floats, spread: float) -> list[int]:
    """Edges of the pieces of equal rates, from 0 to the number of bins."""
    rows, bins = counts.shape
    totals = np.concatenate([np.zeros((rows, 1)), np.cumsum(counts, axis=1)], axis=1)
    penalty = (rows + 1) * np.log(bins) * spread
    best = np.full(bins + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(bins + 1, dtype=np.int64)
    for end in range(1, bins + 1):
        starts = np.arange(end)
        n = totals[:, end : end + 1] - totals[:, :end]
        length = end - starts
        cost = -np.sum(np.where(n > 0, n * np.log(np.maximum(n, 1) / length), 0.0), axis=0)
        value = best[:end] + cost + penalty
        last[end] = int(np.argmin(value))
        best[end] = value[last[end]]
    edges = [bins]
    while edges[-1] > 0:
        edges.append(int(last[edges[-1]]))
    return edges[::-1]


def _step(totals: Floats, low: tuple[int, int], high: tuple[int, int]) -> float:
    """Log-likelihood ratio of two neighbouring ranges having rates of their own, over the series higher in `high`."""
    n0 = totals[:, low[1]] - totals[:, low[0]]
    n1 = totals[:, high[1]] - totals[:, high[0]]
    t0, t1 = low[1] - low[0], high[1] - high[0]
    if t0 <= 0 or t1 <= 0:
        return 0.0
    common = np.maximum((n0 + n1) / (t0 + t1), 1e-12)
    higher = n1 / t1 > n0 / t0

    def against(n: Floats, t: int) -> Floats:
        return np.where(n > 0, n * np.log(np.maximum(n, 1e-9) / t / common), 0.0)

    return float(np.sum(np.where(higher, against(n0, t0) + against(n1, t1), 0.0)))
