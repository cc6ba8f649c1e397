"""Densities of gaps under a fitted policy: of one new gap, and of all gaps for a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forensics.analysis import density, noise
from forensics.analysis.others import other_density
from forensics.model import GapFit

Floats = NDArray[np.float64]
_COARSE_S = 0.1
_POINTS_PER_BIN = 40


@dataclass(frozen=True, slots=True, eq=False)
class DensityCurve:
    """Fitted densities per second on a grid of gaps; multiply by gaps and bin width to lay them over a histogram."""

    gaps_s: Floats
    """Shape (bins,): bin middles."""
    total: Floats
    """Shape (bins,): all parts and something else."""
    other: Floats
    """Shape (bins,): something else."""
    pairs: tuple[tuple[int, int, Floats], ...]
    """(i, j, density): gaps between rows of attempts i and j, numbered from 1; parts of `total`."""


def density_curve(fit: GapFit, resolution_us: int, upto_s: float, bins: int) -> DensityCurve:
    """Densities at the middles of `bins` equal bins on 0..upto_s, stamps blurred by `resolution_us`."""
    middles = np.asarray((np.arange(bins) + 0.5) * (upto_s / bins), dtype=np.float64)
    parts = _pair_densities(fit, middles, resolution_us)
    own = 1 - fit.else_share
    pairs = tuple((i, j, own * share * dens) for (i, j, share), dens in zip(fit.pair_shares, parts, strict=True))
    other = fit.else_share * other_density(middles, resolution_us / 1e6)
    total = other + sum((d for _, _, d in pairs), np.zeros(bins))
    return DensityCurve(middles, np.asarray(total), other, pairs)


def expected_shares(fit: GapFit, edges_s: Sequence[float], resolution_us: int) -> Floats:
    """Share of all gaps that fall into each bin between the edges, shape (bins,), something else included.

    Stamps of a tenth of a second and coarser leave gaps at their multiples only, so the density is summed there.
    """
    edges, step_s = np.asarray(edges_s, dtype=np.float64), resolution_us / 1e6
    if step_s < _COARSE_S:
        step_s = float(edges[-1] - edges[0]) / (len(edges) - 1) / _POINTS_PER_BIN
        points = edges[0] + (np.arange((len(edges) - 1) * _POINTS_PER_BIN) + 0.5) * step_s
    else:
        points = np.arange(0.0, float(edges[-1]), step_s)
    shares = np.array([share for _, _, share in fit.pair_shares])
    own = shares @ _pair_densities(fit, points, resolution_us)
    total = (1 - fit.else_share) * own + fit.else_share * other_density(points, resolution_us / 1e6)
    which = np.searchsorted(edges, points, side="right") - 1
    return np.asarray(np.bincount(which, total * step_s, minlength=len(edges) - 1)[: len(edges) - 1], dtype=np.float64)


def gap_densities(fit: GapFit, gaps_us: Sequence[int]) -> Floats:
    """Density per second of each gap if the policy made it, the attempt that left the row before it not known."""
    gaps = np.abs(np.asarray(gaps_us, dtype=np.float64)) / 1e6
    parts = _pair_densities(fit, gaps, fit.noise.resolution_us)
    shares = np.array([share for _, _, share in fit.pair_shares])
    return np.asarray(shares @ parts)


def gap_probability(fit: GapFit, gap_us: int) -> float:
    """Density per second of one gap if the policy made it; see gap_densities."""
    return float(gap_densities(fit, (gap_us,))[0])


def _pair_densities(fit: GapFit, gaps_s: Floats, resolution_us: int) -> Floats:
    """Shape (pairs, gaps), in the order of fit.pair_shares; each row is a density of its own."""
    table, weights = noise.table_of(fit.noise, resolution_us)
    parts = density.components_of(fit.policy, fit.attempts, fit.lag_s)
    dens = density.component_densities(parts, table.grid_s, table.mixed(weights), gaps_s)
    shares = density.component_weights(parts, fit.row_share, fit.fast_after_row_share, fit.fast_without_row_share)
    rows = []
    for i, j, _ in fit.pair_shares:
        mine = (parts.i == i - 1) & (parts.j == j - 1)
        rows.append(shares[mine] @ dens[mine] / max(float(shares[mine].sum()), 1e-300))
    return np.array(rows).reshape(len(rows), len(gaps_s))
