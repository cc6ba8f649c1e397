"""Find the incident in counts over time, and the stretch before it to compare with.

The series are cut where their rates change (optimal partitioning of Poisson counts by dynamic programming; Jackson et
al. 2005, doi 10.1109/LSP.2001.838216), the variance being scaled by what neighbouring bins show. The incident is the
piece that stands out most against the time before it, with the neighbours that are like it; a recovery tail, whose
rate has fallen, stays out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_LIKE_SHARE = 0.6
_LEAST_GAIN = 12.0


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
    pieces = list(zip(cuts, cuts[1:], strict=False))
    best, gain = None, _LEAST_GAIN
    for k, (start, end) in enumerate(pieces):
        if k == 0:
            continue
        before = (max(0, start - max(end - start, bins // 20)), start)
        value = _stands_out(totals, before, (start, end)) / spread
        if value > gain:
            best, gain = k, value
    if best is None:
        return Windows((0, bins // 2), (bins // 2, bins), found=False)
    start, end = _with_neighbours(totals, pieces, best)
    length = end - start
    return Windows((max(0, start - length), start), (start, end), found=True)


def _dispersion(counts: Floats) -> float:
    """Variance over mean as neighbouring bins show it, at least 1 (Poisson)."""
    whole = counts.sum(axis=0)
    left, right = whole[:-1], whole[1:]
    seen = (left + right) > 0
    if seen.sum() < 8:
        return 1.0
    ratio = (right[seen] - left[seen]) ** 2 / (left[seen] + right[seen])
    # The median of a chi-square with one degree of freedom is 0.455; the median is not moved by the steps themselves.
    return float(max(1.0, np.median(ratio) / 0.455))


def _partition(counts: Floats, spread: float) -> list[int]:
    """Edges of the pieces of equal rates, from 0 to the number of bins."""
    rows, bins = counts.shape
    totals = np.concatenate([np.zeros((rows, 1)), np.cumsum(counts, axis=1)], axis=1)
    penalty = 1.5 * (rows + 1) * np.log(bins) * spread
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


def _stands_out(totals: Floats, before: tuple[int, int], piece: tuple[int, int]) -> float:
    """Log-likelihood ratio of the piece having its own, higher rates, over the series that rose."""
    n0 = totals[:, before[1]] - totals[:, before[0]]
    n1 = totals[:, piece[1]] - totals[:, piece[0]]
    t0, t1 = before[1] - before[0], piece[1] - piece[0]
    common = (n0 + n1) / (t0 + t1)
    rose = n1 / t1 > n0 / t0

    def log_rate(n: Floats, t: int) -> Floats:
        return np.where(n > 0, n * np.log(np.maximum(n, 1e-9) / t / np.maximum(common, 1e-12)), 0.0)

    return float(np.sum(np.where(rose, log_rate(n0, t0) + log_rate(n1, t1), 0.0)))


def _with_neighbours(totals: Floats, pieces: Sequence[tuple[int, int]], best: int) -> tuple[int, int]:
    """The piece and the adjacent ones whose total rate is nearly as far above the time before."""

    def rate(start: int, end: int) -> float:
        return float((totals[:, end] - totals[:, start]).sum() / (end - start))

    floor = rate(*pieces[0]) if best else 0.0
    need = floor + _LIKE_SHARE * (rate(*pieces[best]) - floor)
    low = high = best
    while low > 1 and rate(*pieces[low - 1]) >= need:
        low -= 1
    while high + 1 < len(pieces) and rate(*pieces[high + 1]) >= need:
        high += 1
    return pieces[low][0], pieces[high][1]
