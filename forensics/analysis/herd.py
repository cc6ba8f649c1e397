"""Do calls that ended together come back together?

A burst of calls that end at once is a cohort. Each wave of its retries is laid beside pictures of itself, all made
from the ends that it follows: those ends moved by the common wait (in step), and those ends smeared over all waits from
zero to twice their mean (full jitter). How large a share of the retries is in step is a mixture of the two; its
likelihood says whether that share is more than half. Retries of one wave share their delays, so that a thousand of them
speak no louder than a few dozen independent ones would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.stats import weighted_quantile

Floats = NDArray[np.float64]

FEWEST_CALLS = 20
"""Fewest calls that end together and make a cohort."""
_STANDS_OUT = 4.0
_REACH_STEPS = 30
_AROUND_STEPS = 10
_LONGEST_BURST = 5
_NARROW = 0.1
"""A wave in step scatters by no more than this share of its wait, beside the clock's own blur."""
_FEWEST_IN_WAVE = 5
_ELSE = 0.02
_WEIGHT = 60.0
_SHARES = np.linspace(0.0, 1.0, 101)
_EQUAL_SHARES = np.array([0.0, 0.5, 1.0])
"""Of the retries out of step, those under equal jitter; the rest is under full jitter."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Calls that ended together: half-open range of steps."""

    start: int
    end: int
    calls: int
    beside: float
    """Calls that end in one step of the minute around it."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Retries of a cohort: number of the attempt, step in which the one before ended, step of its own start."""

    attempt: NDArray[np.int64]
    ended: NDArray[np.int64]
    started: NDArray[np.int64]
    retries: NDArray[np.int64]
    step_s: float
    blur_s: float
    """How coarse the time stamps are."""


@dataclass(frozen=True, slots=True)
class Waves:
    """What the retries of one cohort show."""

    share_in_step: float | None
    """None when the clock is too coarse for every wait."""
    probability: float
    """That more than half of the retries are in step."""
    offsets_s: tuple[float, ...]
    """Middle of each wave after the middle of the burst."""
    widths_s: tuple[float, ...]
    """From the first to the last tenth of each wave."""
    waits_s: tuple[float, ...]
    """Median wait before each wave."""
    origin: float
    """Middle of the burst, in steps."""


def find_burst(ended: Mapping[int, int]) -> Burst | None:
    """The steps in which most calls ended together, if they stand out against the time around; None when none do.

    Args:
        ended: calls by the step in which their first attempt ended; steps without any are left out.
    """
    best: tuple[float, Burst] | None = None
    for step in sorted(ended):
        for length in (1, 2, 3):
            # Too few, or fewer than the excess to beat: a long log has millions of such steps.
            if sum(ended.get(step + k, 0) for k in range(length)) < max(FEWEST_CALLS, best[0] if best else 0):
                continue
            burst = _burst(ended, step, step + length)
            expected = length * burst.beside
            excess = (burst.calls - expected) / (1 + expected) ** 0.5
            if burst.calls >= max(FEWEST_CALLS, _STANDS_OUT * expected) and (best is None or excess > best[0]):
                best = (excess, burst)
    if best is None:
        return None
    burst = _widened(ended, best[1])
    around = sum(ended.get(k, 0) for k in range(burst.start - _AROUND_STEPS, burst.end + _AROUND_STEPS))
    return burst if burst.calls >= 0.5 * around else None


def _burst(ended: Mapping[int, int], start: int, end: int) -> Burst:
    calls = sum(ended.get(k, 0) for k in range(start, end))
    # The steps right beside are left out: a wide burst must not be its own background.
    near = [*range(start - _REACH_STEPS, start - 2), *range(end + 2, end + _REACH_STEPS)]
    return Burst(start, end, calls, sum(ended.get(k, 0) for k in near) / len(near))


def _widened(ended: Mapping[int, int], burst: Burst) -> Burst:
    """With the neighbours that clearly belong to it: a clock cuts where it likes."""
    enough = max(_STANDS_OUT * burst.beside, 0.1 * burst.calls, 1.0)
    start, end = burst.start, burst.end
    while end - start < _LONGEST_BURST and max(ended.get(start - 1, 0), ended.get(end, 0)) >= enough:
        if ended.get(start - 1, 0) >= ended.get(end, 0):
            start -= 1
        else:
            end += 1
    return _burst(ended, start, end)


def measure_waves(moves: Moves) -> Waves | None:
    """Are the waves in step or smeared? None when no wave has enough retries."""
    numbers = [n for n in np.unique(moves.attempt) if moves.retries[moves.attempt == n].sum() >= _FEWEST_IN_WAVE]
    if not numbers:
        return None
    first = moves.attempt == 2
    origin = float(np.average(moves.ended[first] + 0.5, weights=moves.retries[first]))
    each, total = np.zeros((len(_EQUAL_SHARES), len(_SHARES))), 0
    offsets, widths, waits = [], [], []
    for number in numbers:
        wave = moves.attempt == number
        low, middle, high = weighted_quantile(moves.started[wave] + 0.5, moves.retries[wave], (0.1, 0.5, 0.9))
        (wait,) = weighted_quantile(moves.started[wave] - moves.ended[wave], moves.retries[wave], (0.5,))
        offsets.append((middle - origin) * moves.step_s)
        widths.append((high - low) * moves.step_s)
        waits.append(max(0.0, wait * moves.step_s))
        if waits[-1] >= moves.blur_s:
            each += _wave_likelihood(moves, wave)
            total += int(moves.retries[wave].sum())
    log_likelihood = each.max(axis=0)
    weight = np.exp((log_likelihood - log_likelihood.max()) * min(1.0, _WEIGHT / max(1, total)))
    return Waves(
        share_in_step=float(_SHARES[np.argmax(log_likelihood)]) if total else None,
        probability=float(weight[_SHARES > 0.5].sum() / weight.sum()),
        offsets_s=tuple(offsets),
        widths_s=tuple(widths),
        waits_s=tuple(waits),
        origin=origin,
    )


def _wave_likelihood(moves: Moves, wave: NDArray[np.bool_]) -> Floats:
    """Log-likelihood of one wave for each share of equal jitter (rows) and of retries in step (columns)."""
    ended, started, retries = moves.ended[wave], moves.started[wave], moves.retries[wave]
    waits = np.maximum(0, started - ended)
    (median,) = weighted_quantile(started - ended, retries, (0.5,))
    mean = float(np.average(waits, weights=retries))
    blur = max(1.0, moves.blur_s / moves.step_s)
    low = int(min(ended.min(), started.min()) - 2 * blur - 2)
    size = int(max(started.max(), ended.max() + 2 * mean) + 2 * blur + 2) - low
    before, after = (np.bincount(at - low, retries, size).astype(np.float64) for at in (ended, started))
    before /= before.sum()
    in_step = _spread(before, _triangle(median, max(blur, _NARROW * median)))
    full = _spread(_spread(before, _box(0.0, 2 * mean)), _triangle(0.0, blur))
    equal = _spread(_spread(before, _box(2 / 3 * mean, 4 / 3 * mean)), _triangle(0.0, blur))
    seen = after > 0
    smeared = np.outer(_EQUAL_SHARES, equal[seen]) + np.outer(1 - _EQUAL_SHARES, full[seen])
    mixed = _SHARES[:, None] * in_step[seen] + (1 - _SHARES)[:, None] * smeared[:, None, :]
    return np.asarray(np.log((1 - _ELSE) * mixed + _ELSE / size) @ after[seen])


@dataclass(frozen=True, slots=True)
class _Kernel:
    """Weights for moves by `first`, `first + 1`, ... steps."""

    first: int
    weights: Floats


def _triangle(middle: float, half_width: float) -> _Kernel:
    first, last = int(np.floor(middle - half_width)), int(np.ceil(middle + half_width))
    weights = np.maximum(0.0, 1.0 - np.abs(np.arange(first, last + 1) - middle) / half_width)
    return _Kernel(first, weights / weights.sum())


def _box(first: float, last: float) -> _Kernel:
    """Even over the steps from `first` to `last`."""
    count = max(1, round(last) - round(first) + 1)
    return _Kernel(round(first), np.full(count, 1.0 / count))


def _spread(values: Floats, kernel: _Kernel) -> Floats:
    """Values moved by a kernel; what leaves the grid is lost."""
    full = np.convolve(values, kernel.weights)
    out = np.zeros_like(values)
    skip = max(0, -kernel.first)
    place = max(0, kernel.first)
    piece = full[skip : skip + max(0, len(values) - place)]
    out[place : place + len(piece)] = piece
    return out


def full_jitter(moves: Moves, waves: Waves, steps: int) -> Floats:
    """Retries expected of each wave (rows) in each step from the burst on, had every wait been drawn from zero up.

    The length is the wait itself where the waves are in step, and twice the mean wait where they are jittered already.
    """
    numbers = np.unique(moves.attempt)
    out = np.zeros((len(numbers), steps))
    first = moves.attempt == 2
    low = int(min(0, moves.ended[first].min()))
    arrived = np.bincount(moves.ended[first] - low, moves.retries[first], steps - low).astype(np.float64)
    in_step = waves.probability > 0.5
    took = 0.0
    for row, number in enumerate(numbers):
        wave = moves.attempt == number
        waits = np.maximum(0, moves.started[wave] - moves.ended[wave])
        ahead = float(np.average(waits, weights=moves.retries[wave]))
        arrived = _spread(arrived, _Kernel(round(took), np.ones(1)))
        arrived = _spread(arrived, _box(0.0, ahead if in_step else 2 * ahead))
        arrived *= moves.retries[wave].sum() / max(arrived.sum(), 1e-9)
        out[row] = arrived[-low:] if low else arrived
        after = moves.attempt == number + 1
        if after.any():
            ended = np.average(moves.ended[after], weights=moves.retries[after])
            took = max(0.0, float(ended - np.average(moves.started[wave], weights=moves.retries[wave])))
    return out
