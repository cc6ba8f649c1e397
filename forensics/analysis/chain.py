"""Likelihood of the gaps of many groups with the attempt number hidden, and the fit of everything but the policy.

A group is a chain: the state is the attempt that left the last row, a gap moves it from i to j > i (densities of
density.py) or, with probability `else_share`, was made by something else, after which the chain starts anew.
Forward-backward as in Rabiner (1989); the shares and the scatter's weights by expectation-maximisation (EM) with weak
priors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from forensics.analysis import density, noise
from forensics.analysis.others import other_density
from forensics.model import Policy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_LAGS_S = (0.0, 0.01, 0.03, 0.07, 0.15, 0.25)
_LAG_MEAN_S = 0.1
_TRUSTED_GAPS = 300.0  # the model of scatter is not exact, so its likelihood says ever less than it seems to
_MOST_ELSE = 0.97
_NOISE_PRIOR = 5.0  # gaps' worth of belief in the scatter's first weights
_ROW_PRIOR = (5.0, 2.0)
_FAST_ROW_PRIOR = (1.3, 8.0)
_FAST_PRIOR = (1.5, 1.5)
_ELSE_PRIOR = (1.2, 6.0)


@dataclass(frozen=True, slots=True, eq=False)
class GapTable:
    """Groups as rows of numbers of distinct gaps, longest first."""

    values_s: Floats
    """Shape (G,): the distinct gaps."""
    index: Ints
    """Shape (M, L): which gap; -1 after the end of the group."""
    count: Floats
    """Shape (M,): how many groups look like this one."""
    other: Floats
    """Shape (G,): density per second of each gap under something else."""
    active: tuple[int, ...]
    """For each position how many rows are that long."""

    @property
    def total(self) -> float:
        """Number of gaps, repeated groups included."""
        return float(((self.index >= 0).sum(axis=1) * self.count).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What EM fits: see GapFit for the meaning of each."""

    row: float
    fast_after_row: float
    fast_without_row: float
    other: float
    noise: Floats
    lag_s: float = 0.0
    """Time each attempt takes besides its wait and timeout: client and network."""


def gap_table(values_s: Floats, index: Ints, count: Floats, resolution_s: float) -> GapTable:
    """Order the groups by length and add the law of something else."""
    lengths = (index >= 0).sum(axis=1)
    order = np.argsort(-lengths, kind="stable")
    active = tuple(int((lengths > t).sum()) for t in range(index.shape[1]))
    return GapTable(values_s, index[order], count[order], other_density(values_s, resolution_s), active)


def first_shares(table: noise.NoiseTable) -> Shares:
    """Shares before any gap was seen."""
    return Shares(0.8, 0.1, 0.45, 0.1, noise.start_weights(table.kinds, table.scales_s))


def transition_densities(parts: density.Components, weights: Floats, dens: Floats) -> Floats:
    """Shape (G, N, N): density of each gap for each move i -> j."""
    n = parts.attempts
    out = np.zeros((n * n, dens.shape[1]))
    np.add.at(out, parts.i * n + parts.j, weights[:, None] * dens)
    return np.ascontiguousarray(out.T).reshape(-1, n, n)


def forward(moves: Floats, start: Floats, other: float, gaps: GapTable) -> tuple[float, list[Floats], list[Floats]]:
    """Log-likelihood of all groups, the filtered states before each gap and the scale of each step."""
    state = np.broadcast_to(start, (len(gaps.index), len(start)))
    total, states, scales = 0.0, [], []
    for t, n in enumerate(gaps.active):
        state = state[:n]
        which = gaps.index[:n, t]
        step = (1 - other) * np.matmul(state[:, None, :], moves[which])[:, 0, :]
        step = step + (other * gaps.other[which])[:, None] * start
        scale = step.sum(axis=1)
        total += float(gaps.count[:n] @ np.log(scale))
        states.append(state)
        scales.append(scale)
        state = step / scale[:, None]
    return total, states, scales


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """Expected counts of a forward-backward pass."""

    moves: Floats
    """Shape (G, N, N)."""
    other: Floats
    """Shape (M, L): probability that something else made the gap, not yet times the group's count."""
    start: Floats
    """Shape (N,)."""


def backward(
    moves: Floats,
    start: Floats,
    other: float,
    gaps: GapTable,
    forwarded: tuple[list[Floats], list[Floats]],
    count_moves: bool = True,
) -> Expected:
    """Expected moves (left 0 unless counted), starts and else-gaps given all gaps."""
    states, scales = forwarded
    wanted = np.zeros_like(moves)
    elses = np.zeros(gaps.index.shape)
    after = np.ones((gaps.active[-1], len(start)))
    for t in range(len(gaps.active) - 1, -1, -1):
        n = gaps.active[t]
        if len(after) < n:
            after = np.concatenate((after, np.ones((n - len(after), len(start)))))
        which, scale = gaps.index[:n, t], scales[t]
        restart = other * gaps.other[which] * (after @ start) / scale
        elses[:n, t] = restart * states[t].sum(axis=1)
        usual = (1 - other) / scale
        flow = moves[which] * after[:, None, :] * usual[:, None, None]
        if count_moves:
            np.add.at(wanted, which, flow * states[t][:, :, None] * gaps.count[:n, None, None])
        after = flow.sum(axis=2) + restart[:, None]
    first = start * after * gaps.count[:, None]
    return Expected(wanted, elses, np.asarray(first.sum(axis=0)))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A policy with fitted shares; `objective` is the log-likelihood plus the weak priors of the shares."""

    policy: Policy
    parts: density.Components
    shares: Shares
    log_likelihood: float
    objective: float
    scatter_s: float
    """Half of the narrow scatter lies within this distance."""
    resolution_s: float
    """Step of the stamps; a scatter narrower than about an eighth of it does not show."""
    trust: float
    """Share of the log-likelihood to believe when policies are compared."""
    pairs_only: bool
    """Nearly all groups have two rows, so that growth of the waits has no evidence."""


class Likelihood:
    """Likelihoods of many policies over one table of gaps."""

    def __init__(
        self, gaps: GapTable, table: noise.NoiseTable, attempts: int, max_skip: int = density.MAX_SKIP
    ) -> None:
        self.gaps, self.table, self.attempts, self.max_skip = gaps, table, attempts, max_skip
        self.usual_noise = noise.start_weights(table.kinds, table.scales_s)
        self.trust = 1 / (1 + gaps.total / _TRUSTED_GAPS)
        groups = float(gaps.count.sum())
        longer = float(gaps.count[: gaps.active[1]].sum()) if len(gaps.active) > 1 else 0.0
        self.pairs_only = groups >= 20 and longer < 0.1 * groups

    def score(self, policy: Policy, shares: Shares) -> float:
        """Log-likelihood plus priors at given shares."""
        return self._evaluate(self._parts(policy, shares), shares)[0] + self._prior(shares)

    def fit(self, policy: Policy, shares: Shares, rounds: int) -> Fitted:
        """EM from `shares`: each round improves the shares and, every second round, the scatter."""
        parts = self._parts(policy, shares)
        for k in range(rounds):
            shares = self._improve(parts, shares, with_noise=k % 2 == 0)
            if k == 1:
                shares = self.with_lag(policy, shares)
                parts = self._parts(policy, shares)
        value = self._evaluate(parts, shares)[0]
        scatter = noise.core_scatter(self.table, shares.noise)
        return Fitted(
            policy=policy,
            parts=parts,
            shares=shares,
            log_likelihood=value,
            objective=value + self._prior(shares),
            scatter_s=scatter,
            resolution_s=self.table.resolution_s,
            trust=self.trust,
            pairs_only=self.pairs_only,
        )

    def _parts(self, policy: Policy, shares: Shares) -> density.Components:
        return density.components_of(policy, self.attempts, shares.lag_s, self.max_skip)

    def with_lag(self, policy: Policy, shares: Shares) -> Shares:
        """The shares with the lag, of a few, that fits best."""
        return max((replace(shares, lag_s=lag) for lag in _LAGS_S), key=lambda s: self.score(policy, s))

    def expected(self, fitted: Fitted) -> Expected:
        """Expected counts at the fitted shares."""
        _, moves, start, fwd = self._evaluate(fitted.parts, fitted.shares)
        return backward(moves, start, fitted.shares.other, self.gaps, fwd)

    def _evaluate(
        self, parts: density.Components, shares: Shares
    ) -> tuple[float, Floats, Floats, tuple[list[Floats], list[Floats]]]:
        dens = self._densities(parts, shares)
        moves = transition_densities(parts, _weights(parts, shares), dens)
        start = density.start_weights(parts.attempts, shares.row)
        total, states, scales = forward(moves, start, shares.other, self.gaps)
        return total, moves, start, (states, scales)

    def _densities(self, parts: density.Components, shares: Shares) -> Floats:
        mixed = self.table.mixed(shares.noise)
        return density.component_densities(parts, self.table.grid_s, mixed, self.gaps.values_s)

    def _improve(self, parts: density.Components, shares: Shares, with_noise: bool) -> Shares:
        weights = _weights(parts, shares)
        if with_noise:
            per_scale = density.component_densities_each(parts, self.table.grid_s, self.table.cdf, self.gaps.values_s)
            dens = np.tensordot(shares.noise, per_scale, axes=1)
        else:
            dens = self._densities(parts, shares)
        moves = transition_densities(parts, weights, dens)
        start = density.start_weights(parts.attempts, shares.row)
        _, states, scales = forward(moves, start, shares.other, self.gaps)
        expected = backward(moves, start, shares.other, self.gaps, (states, scales))
        share_of_move = expected.moves / np.maximum(moves, 1e-300)
        ratio = share_of_move[:, parts.i, parts.j].T * weights[:, None]  # (C, G)
        improved = _improve_shares(parts, shares, (ratio * dens).sum(axis=1), expected, self.gaps)
        if not with_noise:
            return improved
        seen = np.einsum("kcg,cg->k", per_scale, ratio) * shares.noise
        seen += _NOISE_PRIOR * self.usual_noise
        return replace(improved, noise=seen / seen.sum())

    def _prior(self, shares: Shares) -> float:
        """Log of the weak priors, up to a constant."""
        pairs = (
            (shares.row, _ROW_PRIOR),
            (shares.fast_after_row, _FAST_ROW_PRIOR),
            (shares.fast_without_row, _FAST_PRIOR),
            (shares.other, _ELSE_PRIOR),
        )
        value = sum((a - 1) * np.log(x) + (b - 1) * np.log1p(-x) for x, (a, b) in pairs)
        expected = self.usual_noise
        value += _NOISE_PRIOR * (expected @ np.log(np.maximum(shares.noise, 1e-12) / expected))
        return float(value - shares.lag_s / _LAG_MEAN_S)


def _weights(parts: density.Components, shares: Shares) -> Floats:
    return density.component_weights(parts, shares.row, shares.fast_after_row, shares.fast_without_row)


def _improve_shares(
    parts: density.Components, shares: Shares, counts: Floats, expected: Expected, gaps: GapTable
) -> Shares:
    """One M-step; `counts` are expected numbers per component."""
    steps = parts.j - parts.i
    skipped = float(counts @ (steps - 1)) + float(expected.start @ np.arange(parts.attempts))
    rows = float(counts.sum() + expected.start.sum())
    row = (rows + _ROW_PRIOR[0] - 1) / (rows + skipped + sum(_ROW_PRIOR) - 2)
    other = float((expected.other.sum(axis=1) * gaps.count).sum())
    new_other = (other + _ELSE_PRIOR[0] - 1) / (gaps.total + sum(_ELSE_PRIOR) - 2)
    fast_row, fast = shares.fast_after_row, shares.fast_without_row
    if parts.free_timeouts:
        fast_row, fast = _improve_fast(parts, shares, counts)
    return Shares(min(row, 0.995), fast_row, fast, min(max(new_other, 1e-3), _MOST_ELSE), shares.noise, shares.lag_s)


def _improve_fast(parts: density.Components, shares: Shares, counts: Floats) -> tuple[float, float]:
    """Expected fast failures after a row (the attempt before the gap) and without one (those in between)."""
    steps, timeouts = parts.j - parts.i, parts.timeouts
    one, mid = shares.fast_after_row, shares.fast_without_row
    slow_after = (1 - one) * _binomial(steps - 1, timeouts - 1, mid)
    fast_after = one * _binomial(steps - 1, timeouts, mid)
    share = fast_after / np.maximum(slow_after + fast_after, 1e-300)
    fast_first = float(counts @ share)
    all_fast = float(counts @ (steps - timeouts))
    between = float(counts @ (steps - 1))
    new_one = (fast_first + _FAST_ROW_PRIOR[0] - 1) / (float(counts.sum()) + sum(_FAST_ROW_PRIOR) - 2)
    new_mid = (max(0.0, all_fast - fast_first) + _FAST_PRIOR[0] - 1) / (between + sum(_FAST_PRIOR) - 2)
    return min(max(new_one, 1e-3), 0.9), min(max(new_mid, 1e-2), 0.99)


def _binomial(n: Ints, slow: Ints, fast_share: float) -> Floats:
    """Probability of `slow` slow ones among n (n <= 2 here)."""
    choices = np.where((n == 2) & (slow == 1), 2.0, 1.0)
    value = choices * (1 - fast_share) ** np.maximum(slow, 0) * fast_share ** np.maximum(n - slow, 0)
    return np.where((slow < 0) | (slow > n), 0.0, value)
