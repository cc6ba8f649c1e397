"""Gaps without a policy: laws of chance that a policy has to beat before it is named.

Each law is fitted by maximum likelihood beside the same 'something else' the policies have, and pays half the logarithm
of the number of gaps for each parameter (BIC, Schwarz 1978).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.chain import GapTable
from forensics.analysis.others import blurred

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ChanceLaw:
    """A fitted law of chance."""

    name: str
    """In words, after 'better than ... would'."""
    density: Floats
    """Shape (G,): per second, of each distinct gap."""
    log_likelihood: float
    score: float
    """Log-likelihood less the price of the parameters."""


def chance_law(gaps: GapTable, resolution_s: float, shares: Floats | None = None) -> ChanceLaw:
    """The law of chance with the best penalised log-likelihood; `shares`, shape (M, L), weights each gap (None: 1)."""
    inside = gaps.index >= 0
    each = np.broadcast_to(gaps.count[:, None], gaps.index.shape)[inside]
    if shares is not None:
        each = each * shares[inside]
    weight = np.bincount(gaps.index[inside], each, minlength=len(gaps.values_s)).astype(np.float64)
    places = gaps.values_s
    cost = 0.5 * float(np.log(max(gaps.total, 2.0)))
    laws = (
        ("unrelated events", 2, _with_else(_exponential(places, weight, resolution_s), weight, gaps.other)),
        ("gaps spread evenly", 2, _with_else(_uniform(places, weight, resolution_s), weight, gaps.other)),
        ("one broad hump", 3, _lognormals(places, weight, gaps.other, 1, resolution_s)),
        ("two broad humps", 6, _lognormals(places, weight, gaps.other, 2, resolution_s)),
        ("three broad humps", 9, _lognormals(places, weight, gaps.other, 3, resolution_s)),
    )
    scored = [
        ChanceLaw(name, d, float(np.log(d) @ weight), float(np.log(d) @ weight) - k * cost) for name, k, d in laws
    ]
    return max(scored, key=lambda law: law.score)


def _with_else(law: Floats, weight: Floats, other: Floats) -> Floats:
    shares = np.array([0.001, 0.03, 0.1, 0.2, 0.35, 0.6, 1.0])[:, None]
    mixed = np.maximum((1 - shares) * law + shares * other, 1e-300)
    return np.asarray(mixed[int((np.log(mixed) @ weight).argmax())])


def _exponential(places: Floats, weight: Floats, resolution_s: float) -> Floats:
    mean = float(places @ weight / weight.sum())
    for _ in range(5):  # trimmed mean: far outliers belong to something else
        near = places <= 8 * mean
        mean = max(float(places[near] @ weight[near] / max(weight[near].sum(), 1e-9)), 1e-3)
    return blurred(lambda t: np.where(t >= 0, np.exp(-np.maximum(t, 0) / mean) / mean, 0.0), places, resolution_s)


def _uniform(places: Floats, weight: Floats, resolution_s: float) -> Floats:
    order = np.argsort(places)
    reached = np.cumsum(weight[order]) / weight.sum()
    laws = []
    for share in (0.7, 0.9, 0.97, 1.0):
        top = float(places[order][min(len(order) - 1, int(np.searchsorted(reached, share)))]) + resolution_s + 1e-3
        top *= 1 + 1 / float(weight.sum())
        laws.append(blurred(partial(_even, top), places, resolution_s))
    return max(laws, key=lambda law: float(np.log(np.maximum(law, 1e-6 / (places + 1))) @ weight))


def _lognormals(places: Floats, weight: Floats, other: Floats, humps: int, resolution_s: float) -> Floats:
    """EM for log-normal humps with something else beside them; sigma at least a fifth: narrower humps are schedules."""
    logs = np.log(places + resolution_s / 2 + 1e-3)
    order = np.argsort(logs)
    reached = np.cumsum(weight[order]) / weight.sum()
    centre = np.interp((np.arange(humps) + 0.5) / humps, reached, logs[order])
    sigma, share = np.full(humps, max(0.2, float(np.std(logs)))), np.full(humps, 0.95 / humps)
    rest = 0.05
    total = other
    for _ in range(30):
        laws = [
            blurred(partial(_lognormal, float(c), float(s)), places, resolution_s)
            for c, s in zip(centre, sigma, strict=True)
        ]
        dens = share[:, None] * np.array(laws)
        total = np.maximum(dens.sum(axis=0) + rest * other, 1e-300)
        resp = dens / total * weight
        mass = np.maximum(resp.sum(axis=1), 1e-9)
        centre = resp @ logs / mass
        sigma = np.maximum(np.sqrt((resp * (logs - centre[:, None]) ** 2).sum(axis=1) / mass), 0.2)
        share, rest = mass / weight.sum(), max(1e-3, 1 - float(mass.sum() / weight.sum()))
    return total


def _even(top_s: float, gaps_s: Floats) -> Floats:
    return np.where((gaps_s >= 0) & (gaps_s <= top_s), 1 / top_s, 0.0)


def _lognormal(centre: float, sigma: float, gaps_s: Floats) -> Floats:
    t = np.maximum(gaps_s, 1e-9)
    z = (np.log(t) - centre) / sigma
    return np.where(gaps_s > 0, np.exp(-0.5 * z * z) / (t * sigma * np.sqrt(2 * np.pi)), 0.0)
