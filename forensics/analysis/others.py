"""The law of 'something else': gaps that no policy made, and how coarse stamps blur any law."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_RANGE_S = 2.6e6  # up to thirty days
_CLICK_MEDIAN_S, _CLICK_SIGMA = 0.8, 0.8  # a person's second click: nine in ten between 0.2 and 3 s
_CLICK_SHARE = 0.5
_BLUR_NODES = 24


def other_density(gaps_s: Floats, resolution_s: float) -> Floats:
    """Density per second of a gap that no policy made: even over log(gap + g0), or a person's second click."""
    g0 = max(0.05, resolution_s / 4)
    even = 1 / ((gaps_s + g0) * np.log((_RANGE_S + g0) / g0))
    return np.asarray((1 - _CLICK_SHARE) * even + _CLICK_SHARE * blurred(_click_density, gaps_s, resolution_s))


def _click_density(gaps_s: Floats) -> Floats:
    z = np.log(np.maximum(gaps_s, 1e-9) / _CLICK_MEDIAN_S) / _CLICK_SIGMA
    value = np.exp(-0.5 * z * z) / (np.maximum(gaps_s, 1e-9) * _CLICK_SIGMA * np.sqrt(2 * np.pi))
    return np.where(gaps_s > 0, value, 0.0)


def blurred(law: Callable[[Floats], Floats], gaps_s: Floats, resolution_s: float) -> Floats:
    """A density as stamps of this resolution show it: its mean under a triangle of that half width."""
    if resolution_s < 0.01:
        return law(gaps_s + resolution_s / 2)
    nodes = (np.arange(_BLUR_NODES) + 0.5) / _BLUR_NODES * 2 - 1
    shares = (1 - np.abs(nodes)) / (1 - np.abs(nodes)).sum()
    return np.asarray(law(gaps_s[:, None] + resolution_s * nodes) @ shares)
