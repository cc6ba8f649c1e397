"""Density of the gap between a row left by attempt i and the next row, left by attempt j, under one policy.

Such a gap is the sum of the waits i .. j-1, of one timeout for each of those attempts whose reply never came (none for
one that failed at once), and of scatter. A sum of waits is kept as segments of uniform density, so its convolution with
the scatter is a difference of the scatter's distribution function F: for (a, b) it is (F(g-a) - F(g-b)) / (b-a).
That is the convolution on a time grid in closed form: it needs no grid for the gaps, so waits of 50 ms and of a day
are the same work.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.backoff import segment_points, wait_segments
from forensics.analysis.schedules import jitter_bounds, waits
from forensics.model import Policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MAX_SKIP = 3  # a row's next row is at most this many attempts later
_POINTS = {  # equally likely points of mean 0 and variance 1
    1: (0.0,),
    2: (-1.3416, -0.4472, 0.4472, 1.3416),
    3: (-1.2247, 0.0, 1.2247),
}
_PIECES = 6  # pieces of a decorrelated wait


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """Segments grouped into components; a component is one (i, j, timeouts)."""

    low_s: Floats
    """Shape (S,): segment bounds in seconds, timeouts included."""
    high_s: Floats
    weight: Floats
    """Shape (S,): share of the segment in its component."""
    first: Ints
    """Shape (C,): index of each component's first segment."""
    i: Ints
    """Shape (C,): attempt (0-based) that left the row before the gap."""
    j: Ints
    timeouts: Ints
    """Timeouts in the gap, 0 .. j - i; with a timeout of 0 always j - i."""
    attempts: int
    free_timeouts: bool
    """False when the timeout is 0, so that their number does not show."""
    max_skip: int
    """Largest j - i."""


def components_of(policy: Policy, attempts: int, lag_s: float = 0.0, max_skip: int = MAX_SKIP) -> Components:
    """Components of all pairs i < j <= i + max_skip of `attempts` attempts; each attempt takes `lag_s` besides."""
    timeout = policy.timeout_s or 0.0
    sums = _plain_sums(policy, attempts, max_skip) if policy.jitter != "decorrelated" else None
    if sums is None:
        laws = wait_segments(policy, attempts - 1)
        sums = [_mixed_sums(laws, step) for step in range(1, min(max_skip, attempts - 1) + 1)]
    blocks, keys = [], []
    for step, law in enumerate(sums, start=1):  # law: shape (pairs, segments, 3)
        counts = np.arange(0 if timeout > 0 else step, step + 1)
        shift = counts * timeout + step * lag_s
        block = np.repeat(law[:, None], len(counts), axis=1)
        block[..., :2] += shift[:, None, None]
        blocks.append(block.reshape(-1, 3))
        i = np.repeat(np.arange(len(law)), len(counts))
        keys.append(np.column_stack((i, i + step, np.tile(counts, len(law)), np.full(len(i), law.shape[1]))))
    low, high, weight = np.concatenate(blocks).T
    i, j, timeouts, sizes = np.concatenate(keys).T
    first = np.cumsum(sizes) - sizes
    return Components(low, high, weight, first, i, j, timeouts, attempts, timeout > 0, max_skip)


def _plain_sums(policy: Policy, attempts: int, max_skip: int) -> list[Floats]:
    """For each number of steps the sums of that many waits, each wait uniform: the widest stays so, the rest of the sum
    becomes a few equally likely points with its mean and variance."""
    bounds = np.array([jitter_bounds(policy, w) for w in waits(policy, attempts - 1)])
    found = []
    for step in range(1, min(max_skip, attempts - 1) + 1):
        windows = np.arange(attempts - step)[:, None] + np.arange(step)
        low, high = bounds[windows, 0], bounds[windows, 1]
        width = high - low
        widest = width.argmax(axis=1)
        rows = np.arange(len(windows))
        main_low, main_high = low[rows, widest], high[rows, widest]
        rest_mean = ((low + high) / 2).sum(axis=1) - (main_low + main_high) / 2
        rest_sd = np.sqrt(np.maximum((width**2).sum(axis=1) - width[rows, widest] ** 2, 0) / 12)
        points = np.array(_POINTS[step]) if rest_sd.max() > 1e-3 * max(float(rest_mean.max()), 1e-3) else np.zeros(1)
        at = rest_mean[:, None] + rest_sd[:, None] * points
        share = np.full(at.shape, 1 / len(points))
        found.append(np.stack((main_low[:, None] + at, main_high[:, None] + at, share), axis=2))
    return found


def _mixed_sums(laws: list[Floats], step: int) -> Floats:
    """The same for laws of several segments, as touching pieces of equal weight; shape (pairs, pieces, 3)."""
    found = []
    for i in range(len(laws) - step + 1):
        total = laws[i]
        for law in laws[i + 1 : i + step]:
            points = segment_points(total, 6)
            low, high = np.add.outer(points, law[:, 0]).ravel(), np.add.outer(points, law[:, 1]).ravel()
            total = np.column_stack((low, high, np.tile(law[:, 2], len(points)) / len(points)))
        found.append(_condense(total, _PIECES))
    return np.array(found)


def _condense(segments: Floats, count: int) -> Floats:
    """The same law as `count` touching pieces of equal weight."""
    places = segment_points(segments, 2 * count + 1)[::2]
    places[0], places[-1] = segments[:, 0].min(), segments[:, 1].max()
    return np.column_stack((places[:-1], places[1:], np.full(count, 1 / count)))


def component_densities(parts: Components, grid_s: Floats, cdf: Floats, gaps_s: Floats) -> Floats:
    """Density per second of every gap under every component, shape (C, G), for one scatter law given by its table."""
    width = np.maximum(parts.high_s - parts.low_s, _least_width(grid_s))
    middle = (parts.high_s + parts.low_s) / 2
    low, high = (middle - width / 2)[:, None], (middle + width / 2)[:, None]
    after = np.interp(gaps_s - low, grid_s, cdf) - np.interp(gaps_s - high, grid_s, cdf)
    if not parts.free_timeouts:  # late commits may swap two rows: negative gaps show with their sign lost
        swapped = np.interp(-gaps_s - low, grid_s, cdf) - np.interp(-gaps_s - high, grid_s, cdf)
        after += np.where(gaps_s > 0, swapped, 0.0)
    after *= (parts.weight / width)[:, None]
    if len(parts.first) == len(parts.low_s):
        return np.asarray(after)
    return np.asarray(np.add.reduceat(after, parts.first, axis=0))


def component_densities_each(parts: Components, grid_s: Floats, cdfs: Floats, gaps_s: Floats) -> Floats:
    """The same for several scatter laws at once, cdfs of shape (K, P); shape (K, C, G)."""
    width = np.maximum(parts.high_s - parts.low_s, _least_width(grid_s))
    middle = (parts.high_s + parts.low_s) / 2
    weight = (parts.weight / width)[:, None]
    out = np.zeros((len(cdfs), len(parts.low_s), len(gaps_s)))
    signs = (1.0,) if parts.free_timeouts else (1.0, -1.0)
    for sign in signs:
        for bound, plus in ((middle - width / 2, 1.0), (middle + width / 2, -1.0)):
            places = np.clip(sign * gaps_s - bound[:, None], grid_s[0], grid_s[-1])
            k = np.clip(np.searchsorted(grid_s, places) - 1, 0, len(grid_s) - 2)
            part = (places - grid_s[k]) / (grid_s[k + 1] - grid_s[k])
            for row, cdf in enumerate(cdfs):
                step = np.diff(cdf)
                value = (cdf[k] + part * step[k]) * plus
                out[row] += value if sign > 0 else np.where(gaps_s > 0, value, 0.0)
    out *= weight
    if len(parts.first) == len(parts.low_s):
        return out
    return np.asarray(np.add.reduceat(out, parts.first, axis=1))


def _least_width(grid_s: Floats) -> float:
    """A fixed wait is a segment too narrow to show beside the scatter: the grid's finest steps."""
    middle = len(grid_s) // 2
    return float(grid_s[middle + 8] - grid_s[middle - 8])


def component_weights(parts: Components, row_share: float, fast_after_row: float, fast_without_row: float) -> Floats:
    """Probability of (j, timeouts) given i and that another row follows, shape (C,); sums to 1 for each i < last."""
    steps = parts.j - parts.i
    jump = row_share * (1 - row_share) ** (steps - 1)
    possible = np.minimum(parts.attempts - 1 - parts.i, parts.max_skip)
    jump = jump / (1 - (1 - row_share) ** possible)
    if not parts.free_timeouts:
        return np.asarray(jump)
    table = timeout_shares(fast_after_row, fast_without_row)
    return np.asarray(jump * table[steps, parts.timeouts])


def timeout_shares(fast_after_row: float, fast_without_row: float) -> Floats:
    """Shape (MAX_SKIP + 1, MAX_SKIP + 1): probability of so many timeouts in a gap of so many attempts."""
    table = np.zeros((MAX_SKIP + 1, MAX_SKIP + 1))
    for steps in range(1, MAX_SKIP + 1):
        for t in range(steps):
            middle = comb(steps - 1, t) * (1 - fast_without_row) ** t * fast_without_row ** (steps - 1 - t)
            table[steps, t] += fast_after_row * middle
            table[steps, t + 1] += (1 - fast_after_row) * middle
    return table


def start_weights(attempts: int, row_share: float) -> Floats:
    """Probability that the first row of a group was left by attempt i, shape (attempts,); the last leaves no gap."""
    raw = (1 - row_share) ** np.arange(attempts, dtype=np.float64)
    raw[-1] = 0.0
    return np.asarray(raw / raw.sum())
