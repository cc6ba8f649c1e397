"""Which policies coarse stamps cannot tell apart: those whose gaps, cut to the stamps, have nearly the same histogram.

A true gap g between stamps cut to whole steps h shows as one of the two multiples of h around it, the nearer one more
often (linearly: the two cut errors make a triangle). So a histogram on the multiples of h follows from the law of the
waits without any model of scatter, which at such stamps is guessed rather than seen and takes up what a jitter does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.backoff import segment_points, wait_segments
from forensics.analysis.chain import Fitted, GapTable

Floats = NDArray[np.float64]
_COARSE_S = 0.1
_POINTS = 48
_LEAST_DISTANCE = 0.05


def agree_after_cutting(a: Fitted, b: Fitted, gaps: GapTable) -> bool:
    """Whether the histograms of the gaps that two fitted policies predict lie closer than so many gaps can tell.

    Compared are gaps from each attempt to the next, a timeout and the fitted lag included, weighted by how many gaps
    stand at that place; the distance is the share of gaps that differ (total variation), and of n gaps a share of
    1 / sqrt(n) is chance. Stamps finer than a tenth of a second hide nothing.
    """
    step_s = a.resolution_s
    if step_s < _COARSE_S:
        return False
    at_place = np.array([float(gaps.count[:n].sum()) for n in gaps.active])
    places = min(len(at_place), a.parts.attempts - 1)
    share = at_place[:places] / at_place[:places].sum()
    one, two = (_histograms(fitted, places, step_s) for fitted in (a, b))
    width = max(one.shape[1], two.shape[1])
    apart = 0.5 * np.abs(_widened(one, width) - _widened(two, width)).sum(axis=1)
    return bool(share @ apart <= max(_LEAST_DISTANCE, gaps.total**-0.5))


def _histograms(fitted: Fitted, places: int, step_s: float) -> Floats:
    """Shape (places, steps): share of the gaps after each attempt that show as 0, 1, 2, ... steps."""
    fixed = (fitted.policy.timeout_s or 0.0) + fitted.shares.lag_s
    laws = [segment_points(law, _POINTS) for law in wait_segments(fitted.policy, places)]
    steps = (np.array(laws) + fixed) / step_s
    below = np.floor(steps).astype(np.int64)
    found = np.zeros((places, int(below.max()) + 2))
    rows = np.broadcast_to(np.arange(places)[:, None], steps.shape)
    np.add.at(found, (rows, below), (1 - (steps - below)) / _POINTS)
    np.add.at(found, (rows, below + 1), (steps - below) / _POINTS)
    return found


def _widened(table: Floats, width: int) -> Floats:
    return np.pad(table, ((0, 0), (0, width - table.shape[1])))
