"""Small statistics that several questions share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def weighted_quantile(
    values: NDArray[np.float64] | NDArray[np.int64], weights: NDArray[np.int64], shares: Sequence[float]
) -> tuple[float, ...]:
    """The values below which the given shares of the weight lie.

    >>> weighted_quantile(np.array([3.0, 1.0]), np.array([1, 3]), (0.5, 0.9))
    (1.0, 3.0)
    """
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    places = np.searchsorted(reached, [share * reached[-1] for share in shares])
    return tuple(float(values[order[min(p, len(order) - 1)]]) for p in places)
