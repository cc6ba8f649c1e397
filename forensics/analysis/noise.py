"""Scatter of gaps about their schedule, and the blur of coarse stamps.

Commits come late during the incidents that make duplicates. So a gap scatters a little around its schedule (logistic
laws over a ladder of scales: their distribution function needs no special function); it is short by up to its whole
length where the row before it came late, evenly so, since a reply that comes too late may come at any time; and it is
long, ever less likely, where the row after it came late. EM fits the weights of these parts.
Stamps cut to a resolution h put two cut errors into a gap: a triangular blur on (-h, h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forensics.model import GapNoise

Floats = NDArray[np.float64]
AROUND, EARLY, LATE = "around", "early", "late"
_NARROWEST_S = 0.006
_STEP = 2.4
_USUAL_S, _USUAL_SPREAD = 0.05, 1.5
_GRID = 1000
_BLUR_NODES = 24


@dataclass(frozen=True, slots=True, eq=False)
class NoiseTable:
    """Distribution functions of the parts of the scatter, tabulated: one row per part."""

    kinds: tuple[str, ...]
    """around: logistic; early: even on (-scale, 0); late: exponential on (0, inf)."""
    scales_s: Floats
    resolution_s: float
    grid_s: Floats
    """Shape (P,): places, denser near 0."""
    cdf: Floats
    """Shape (K, P)."""

    def mixed(self, weights: Floats) -> Floats:
        """The mixture's distribution function on the grid, shape (P,)."""
        return np.asarray(weights @ self.cdf)


def scatter_parts(typical_gap_s: float, resolution_s: float) -> tuple[tuple[str, ...], Floats]:
    """Kinds and scales: logistic ones from some milliseconds (or an eighth of the resolution), each 2.4 times the last,
    to a tenth of a typical gap; rows that came late by up to a third and up to all of it.

    The top is bounded because a scatter as broad as the gap itself is no schedule any more.
    """
    first = max(_NARROWEST_S, resolution_s / 8)
    top = max(typical_gap_s / 10, first * 4)
    steps = min(10, max(2, 1 + math.ceil(math.log(top / first) / math.log(_STEP) - 0.25)))
    around = first * _STEP ** np.arange(steps)
    early = typical_gap_s * np.array([0.3, 1.05])
    late = typical_gap_s * np.array([0.1, 0.4])
    kinds = (AROUND,) * steps + (EARLY,) * 2 + (LATE,) * 2
    return kinds, np.concatenate((around, early, late))


def start_weights(kinds: tuple[str, ...], scales_s: Floats) -> Floats:
    """Weights before any gap was seen: a hump about 50 ms, and a sixth for rows that came late."""
    around = kinds.count(AROUND)
    z = np.log(scales_s[:around] / _USUAL_S) / _USUAL_SPREAD
    raw = np.exp(-0.5 * z * z) + 0.05
    return np.concatenate((0.82 * raw / raw.sum(), (0.05, 0.06, 0.04, 0.03)))


def noise_table(kinds: tuple[str, ...], scales_s: Floats, resolution_s: float) -> NoiseTable:
    """Tabulate each part's distribution function, blurred by the resolution where that is not negligible."""
    reach = 16 * float(scales_s.max()) + 2 * resolution_s
    inner = float(scales_s.min()) + resolution_s / 16
    bend = np.arcsinh(reach / inner)
    grid = inner * np.sinh(np.linspace(-bend, bend, _GRID))
    if resolution_s < scales_s[0] / 4:
        cdf = np.array([_part(kind, grid, float(s)) for kind, s in zip(kinds, scales_s, strict=True)])
    else:
        nodes = (np.arange(_BLUR_NODES) + 0.5) / _BLUR_NODES * 2 - 1
        shares = 1 - np.abs(nodes)
        shares /= shares.sum()
        shifted = grid[:, None] - resolution_s * nodes
        cdf = np.array([_part(kind, shifted, float(s)) @ shares for kind, s in zip(kinds, scales_s, strict=True)])
    return NoiseTable(kinds, scales_s, resolution_s, grid, cdf)


def _part(kind: str, x: Floats, scale_s: float) -> Floats:
    """Distribution function of one part at x seconds."""
    if kind == AROUND:
        return np.asarray(0.5 * (1 + np.tanh(0.5 * x / scale_s)))
    if kind == EARLY:
        return np.asarray(np.clip(x / scale_s + 1, 0.0, 1.0))
    return np.asarray(-np.expm1(-np.maximum(x, 0.0) / scale_s))


def noise_record(table: NoiseTable, weights: Floats) -> GapNoise:
    """The noise as a record for reports and later densities."""
    return GapNoise(
        table.kinds,
        tuple(round(float(s), 6) for s in table.scales_s),
        tuple(round(float(w), 6) for w in weights / weights.sum()),
        max(1, round(table.resolution_s * 1e6)),
        _median(table, weights),
    )


def core_scatter(table: NoiseTable, weights: Floats) -> float:
    """Half of the narrow scatter (the logistic parts) lies within this distance of the schedule, in seconds."""
    around = table.kinds.count(AROUND)
    reached = np.cumsum(weights[:around]) / weights[:around].sum()
    return float(1.1 * table.scales_s[int(np.searchsorted(reached, 0.5))])


def _median(table: NoiseTable, weights: Floats) -> float:
    return within(table, weights, 0.5)


def within(table: NoiseTable, weights: Floats, share: float) -> float:
    """Distance from the schedule within which such a share of the gaps lies, in seconds, by bisection."""
    low, high = 0.0, 20 * float(table.scales_s.max())
    for _ in range(50):
        middle = (low + high) / 2
        ends = np.array([-middle, middle])
        inside = sum(
            w * np.diff(_part(k, ends, float(s)))[0]
            for k, s, w in zip(table.kinds, table.scales_s, weights, strict=True)
        )
        low, high = (middle, high) if inside < share else (low, middle)
    return round(high, 6)


def table_of(noise: GapNoise, resolution_us: int) -> tuple[NoiseTable, Floats]:
    """The table and the weights behind a record, for stamps of the given resolution."""
    return noise_table(noise.kinds, np.array(noise.scales_s), resolution_us / 1e6), np.array(noise.weights)
