"""When the groups of a case are worth splitting: several clients with several policies leave one heap of gaps.

A label (channel, user agent, ...) splits the groups where the gaps of its values follow different laws. That is asked
before any policy is tried, so that no family of policies has a say in it: the histogram of the gaps of each value is
set against the histogram of all, and the split must gain more log-likelihood than its further parameters cost (BIC,
Schwarz 1978: half the logarithm of the number of gaps for each). First gaps and later ones have a histogram each, since
a growing wait shows only in the later ones.

Where no label exists, a deep valley between short gaps and long ones parts the gaps themselves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FEWEST_GROUPS = 15
"""Fewer groups are no cohort of their own: their policy would be a guess."""
_BINS = 6
_LEAST_DEPTH = 0.5
_LEAST_SHARE = 0.15
_GRID = 200


@dataclass(frozen=True, slots=True)
class GapGroup:
    """The gaps of one business act or call, and what it is labelled with."""

    gaps_us: tuple[int, ...]
    labels: Mapping[str, str]
    """Name of a label -> its value, where the act has one; the same order of names for all groups of a case."""


@dataclass(frozen=True, slots=True)
class Split:
    """A label whose values wait differently."""

    label: str
    values: tuple[str, ...]
    """Values with enough groups, most groups first; all others together are the rest."""
    gain_nats: float
    """Log-likelihood won over one law for all, less the price of the further parameters."""


def best_split(groups: Sequence[GapGroup]) -> Split | None:
    """The label that explains most of the differences between the gaps; None where one law does as well."""
    labels = list(dict.fromkeys(chain.from_iterable(g.labels for g in groups)))
    splits = [s for s in (_split(groups, label) for label in labels) if s is not None]
    return max(splits, key=lambda s: s.gain_nats, default=None)


def part_of(split: Split, labels: Mapping[str, str]) -> str | None:
    """The value whose part a group with these labels belongs to; None: the rest."""
    value = labels.get(split.label)
    return value if value in split.values else None


def _split(groups: Sequence[GapGroup], label: str) -> Split | None:
    counts = Counter(g.labels[label] for g in groups if label in g.labels)
    values = tuple(v for v, n in sorted(counts.items(), key=lambda c: (-c[1], c[0])) if n >= FEWEST_GROUPS)
    parts: dict[str | None, list[GapGroup]] = {}
    for group in groups:
        value = group.labels.get(label)
        parts.setdefault(value if value in values else None, []).append(group)
    if not values or len(parts) < 2:
        return None
    first = _gain([[g.gaps_us[0] for g in part if g.gaps_us] for part in parts.values()])
    later = _gain([[gap for g in part for gap in g.gaps_us[1:]] for part in parts.values()])
    gain = first + later
    return Split(label, values, gain) if gain > 0 else None


def _gain(parts: Sequence[Sequence[int]]) -> float:
    """Nats by which a histogram for each part beats one for all, the price of the parameters taken off."""
    pooled = np.array(list(chain.from_iterable(parts)), dtype=np.float64)
    if len(pooled) < 2:
        return 0.0
    edges = np.unique(np.quantile(pooled, np.arange(1, _BINS) / _BINS))
    counts = np.array([np.bincount(np.searchsorted(edges, p), minlength=len(edges) + 1) for p in parts if len(p)])
    free = (len(counts) - 1) * len(edges)
    return _log_likelihood(counts) - _log_likelihood(counts.sum(axis=0)[None]) - 0.5 * free * math.log(len(pooled))


def _log_likelihood(counts: NDArray[np.int64]) -> float:
    """Of histograms, each under its own shares."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return float((counts * np.log(np.where(counts > 0, shares, 1.0))).sum())


def valley(gaps_us: Sequence[int]) -> int | None:
    """Microseconds between a hump of short gaps and one of long gaps; None where there is no such valley.

    The density of the logarithms of the gaps must fall to half of the lower of its two humps, with at least 15 % of the
    gaps on either side. Normal kernel, half as wide as Silverman's rule (1986), which is too wide for two humps.
    """
    logs = np.log(np.asarray(gaps_us, dtype=np.float64) + 1e3)
    if len(logs) < 2 * FEWEST_GROUPS:
        return None
    quarter, three = np.quantile(logs, (0.25, 0.75))
    width = 0.45 * min(float(logs.std()), float(three - quarter) / 1.34) * len(logs) ** -0.2
    if width <= 0:
        return None
    grid = np.linspace(float(logs.min()), float(logs.max()), _GRID)
    bins = np.histogram(logs, bins=np.linspace(float(logs.min()), float(logs.max()), 4 * _GRID + 1))
    middles = (bins[1][1:] + bins[1][:-1]) / 2
    density = (np.exp(-0.5 * ((grid[:, None] - middles) / width) ** 2) * bins[0]).sum(axis=1)
    left, right = np.maximum.accumulate(density), np.maximum.accumulate(density[::-1])[::-1]
    depth = density / np.minimum(left, right)
    below = np.searchsorted(np.sort(logs), grid) / len(logs)
    depth[(below < _LEAST_SHARE) | (below > 1 - _LEAST_SHARE)] = 1.0
    deepest = int(depth.argmin())
    return round(float(np.exp(grid[deepest]) - 1e3)) if depth[deepest] <= _LEAST_DEPTH else None
