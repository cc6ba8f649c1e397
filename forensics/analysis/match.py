"""Name the retry policy behind gaps: the one entrance to the matcher.

Rows are not attempts: a row exists only for attempts that were processed, so the attempt number is hidden and a gap may
span several. `match_gaps` searches the families of backoff.py (search.py), each judged by the likelihood of all gaps
with hidden attempt numbers (chain.py, density.py) and a prior for common values (priors.py), and names the best only
where it beats the laws of chance (chance.py). Pure: equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from forensics.analysis import chain, density, noise
from forensics.analysis import gaps as gap_arrays
from forensics.analysis.agreement import agree_after_cutting
from forensics.analysis.backoff import with_schedule
from forensics.analysis.catalogue import entries_that_fit
from forensics.analysis.chain import Fitted
from forensics.analysis.chance import ChanceLaw, chance_law
from forensics.analysis.curve import DensityCurve, density_curve, gap_densities, gap_probability
from forensics.analysis.priors import policy_prior
from forensics.analysis.refine import posterior
from forensics.analysis.search import PolicySearch
from forensics.analysis.words import doubts, policy_words
from forensics.model import CatalogueEntry, GapFit, MatchResult, Policy, RankedPolicy

__all__ = ["DensityCurve", "density_curve", "gap_densities", "gap_probability", "match_gaps"]

Floats = NDArray[np.float64]
TIED_NATS = 3.0
_LIKE_NATS, _ODDER_NATS = 1.5, 6.0
_TEMPERATURE = 2.0  # probabilities of simulated cohorts were too sure without it
# Of random policies (tests/bench/calibration.py) a quarter were not the strongest in some field whatever probability
# was given among the candidates: the search did not reach them, or the scatter has another form. No candidate may
# claim that part.
_MISFIT = 0.25
_MOST_RANKED = 8
_RANKED_NATS = 12.0
_FEWEST_GAPS = 2
_CHANCE_LOSS_NATS = 0.01  # per gap
_CHANCE_MARGINS = ((40, 5.0), (6, 8.0), (0, 0.5))  # (from so many gaps, nats), from runs over gaps without a policy
_FEWEST_EXPLAINED = 0.15
_CHUNK_ROWS = 20_000
_NUMBERS = ("base_s", "factor", "cap_s", "timeout_s", "jitter_amount", "first_wait_s")


def match_gaps(
    groups: Sequence[Sequence[int]],
    *,
    resolution_us: int = 1,
    timeout_s: float | None = None,
    catalogue: Sequence[CatalogueEntry] = (),
) -> MatchResult:
    """The retry policies that may have made these gaps, strongest first, or the reason why none is named.

    `groups`: for each duplicate group the gaps between its rows in order, microseconds.
    `resolution_us`: how coarse the stamps are (1_000_000: whole seconds).
    `timeout_s`: the client's timeout where it is known (not fitted then). `catalogue`: known policies, tried and named.
    """
    count = sum(map(len, groups))
    if count < _FEWEST_GAPS:
        return _nameless(groups, count, f"{count} gap{'' if count == 1 else 's'} cannot show a schedule")
    rows = gap_arrays.gap_rows(groups, max(1, resolution_us, gap_arrays.grain_us(groups)))
    search = PolicySearch(rows, timeout_s, catalogue)
    found = search.run()
    law = chance_law(search.gaps, rows.resolution_s)
    if not found or _gain(search, found[0], law) < _needed(search.gaps.total):
        return _nameless(groups, count, f"no retry schedule explains the gaps better than {law.name} would")
    elses = _else_probabilities(rows, found[0], search)
    explained = 1 - float(elses.mean())
    if explained < _FEWEST_EXPLAINED:
        return _nameless(groups, count, f"the best schedule would explain only {explained:.0%} of the gaps")
    fits = tuple(_fit_record(search, f) for f in found[:_MOST_RANKED])
    alike = [agree_after_cutting(found[0], f, search.gaps) for f in found[: len(fits)]]
    ranked = _ranked(found, fits, alike, count, catalogue, timeout_s is not None)
    best = ranked[0].policy
    return MatchResult(
        verdict="named",
        why=f"{policy_words(best)} explain{_s(best)} {explained:.0%} of {count} gaps",
        ranked=ranked,
        fits=fits[: len(ranked)],
        groups=sum(1 for g in groups if len(g)),
        gaps=count,
        explained_share=round(explained, 4),
        noise=fits[0].noise,
        responsibilities=_shaped(1 - elses, rows.lengths),
        residual_s=_residual(search, found[0]),
    )


def _residual(search: PolicySearch, fitted: Fitted) -> tuple[float, float]:
    weights = fitted.shares.noise / fitted.shares.noise.sum()
    half, most = (noise.within(search.fine.table, weights, share) for share in (0.5, 0.9))
    return half, most


def _gain(search: PolicySearch, fitted: Fitted, law: ChanceLaw) -> float:
    """Nats that the policy, its prior included, adds to the law of chance where that law, or one fitted to what the
    policy leaves over, is what else may make a gap."""
    rest = chance_law(search.gaps, search.resolution_s, search.fine.expected(fitted).other + 0.01)
    found = []
    for other in (law.density, 0.5 * (law.density + rest.density), rest.density):
        likelihood = chain.Likelihood(replace(search.gaps, other=other), search.fine.table, search.fine.attempts)
        found.append(likelihood.fit(fitted.policy, replace(fitted.shares, other=0.3), 6).log_likelihood)
    return max(found) - law.log_likelihood + policy_prior(fitted.policy)


def _needed(gaps: float) -> float:
    """How far a policy must beat chance; a handful of gaps can show no more than that it is possible, and with many
    gaps the laws of chance, which are not exact, lose a little by themselves."""
    return next(nats for fewest, nats in _CHANCE_MARGINS if gaps >= fewest) + _CHANCE_LOSS_NATS * gaps


def _s(policy: Policy) -> str:
    return "s" if policy.shape in ("none", "fixed") else ""


def _nameless(groups: Sequence[Sequence[int]], count: int, why: str) -> MatchResult:
    return MatchResult(
        verdict="no_policy",
        why=why,
        ranked=(),
        fits=(),
        groups=sum(1 for g in groups if len(g)),
        gaps=count,
        explained_share=0.0,
        noise=None,
        responsibilities=tuple((0.0,) * len(g) for g in groups),
    )


def _fit_record(search: PolicySearch, fitted: Fitted) -> GapFit:
    expected = search.fine.expected(fitted).moves.sum(axis=0)
    total = max(float(expected.sum()), 1e-300)
    pairs = tuple(
        (int(i) + 1, int(j) + 1, float(expected[i, j] / total)) for i, j in np.argwhere(expected > 1e-4 * total)
    )
    shares = fitted.shares
    return GapFit(
        policy=_written_out(fitted.policy, expected, float(search.gaps.count.sum())),
        noise=noise.noise_record(search.fine.table, shares.noise),
        attempts=fitted.parts.attempts,
        row_share=shares.row,
        fast_after_row_share=shares.fast_after_row,
        fast_without_row_share=shares.fast_without_row,
        else_share=shares.other,
        lag_s=shares.lag_s,
        log_likelihood=fitted.log_likelihood,
        pair_shares=pairs or ((1, 2, 1.0),),
    )


def _written_out(policy: Policy, expected: Floats, groups: float) -> Policy:
    """Waits written out as far as attempts show, and their number; a cap only where the waits reach it."""
    reached = expected.sum(axis=0)
    enough = np.flatnonzero(reached >= max(0.5, 0.01 * groups))
    attempts = max(2, int(enough[-1]) + 1 if len(enough) else 2)
    numbers = {name: getattr(policy, name) for name in _NUMBERS if getattr(policy, name) is not None}
    policy = replace(policy, **{name: round(value, 6) for name, value in numbers.items()})  # 1 s, not 1 s and a bit
    full = with_schedule(replace(policy, max_attempts=attempts), attempts - 1)
    if policy.shape == "schedule":
        return replace(full, schedule_s=tuple(round(w, 3) for w in policy.schedule_s[: attempts - 1]))
    if policy.shape in ("none", "fixed"):
        return replace(full, factor=1.0)
    biggest = max(full.schedule_s) * (3 if policy.shape == "decorrelated" else 1)
    return full if full.cap_s is None or full.cap_s <= biggest * 1.001 else replace(full, cap_s=None)


def _ranked(
    found: Sequence[Fitted],
    fits: Sequence[GapFit],
    alike: Sequence[bool],
    gaps: int,
    catalogue: Sequence[CatalogueEntry],
    timeout_given: bool,
) -> tuple[RankedPolicy, ...]:
    """Candidates close to the strongest; `gaps` is the number of gaps, `alike` says whose gaps, cut to the stamps, look
    like the strongest one's."""
    values = np.array([posterior(f) for f in found])
    weight = np.exp((values - values.max()) / _TEMPERATURE)
    weight *= (1 - _MISFIT) / weight.sum()
    close = [k for k in range(len(fits)) if alike[k] or values[k] >= values[0] - _RANKED_NATS]
    tied = [k for k in close[1:] if alike[k] or _cannot_be_told(found[0], found[k], values[0] - values[k])]
    return tuple(
        RankedPolicy(
            policy=fits[k].policy,
            probability=round(float(weight[k]), 4),
            tied=k in tied,
            policy_ids=entries_that_fit(fits[k].policy, catalogue) if catalogue else (),
            cannot_tell_from=doubts(
                fits[k],
                [fits[t].policy for t in ([0, *tied] if k in (0, *tied) else []) if t != k],
                gaps,
                timeout_given,
            ),
        )
        for k in close
    )


def _cannot_be_told(best: Fitted, other: Fitted, behind_nats: float) -> bool:
    """Whether the evidence leaves the other policy as good: close in all, or close in how it explains the gaps and
    behind only because people choose such values less often."""
    evidence = best.trust * (best.objective - other.objective)
    return behind_nats <= TIED_NATS or (evidence <= _LIKE_NATS and behind_nats <= _ODDER_NATS)


def _else_probabilities(rows: gap_arrays.GapRows, fitted: Fitted, search: PolicySearch) -> Floats:
    """For every gap in the order given, the probability that something else made it."""
    values, index = gap_arrays.numbered(rows.gaps_us, rows.resolution_s, 0.002)
    shares, parts, table = fitted.shares, fitted.parts, search.fine.table
    dens = density.component_densities(parts, table.grid_s, table.mixed(shares.noise), values)
    weights = density.component_weights(parts, shares.row, shares.fast_after_row, shares.fast_without_row)
    moves = chain.transition_densities(parts, weights, dens)
    start = density.start_weights(parts.attempts, shares.row)
    order = np.argsort(-(index >= 0).sum(axis=1), kind="stable")
    out = np.zeros(index.shape)
    for first in range(0, len(order), _CHUNK_ROWS):
        which = order[first : first + _CHUNK_ROWS]
        gaps = chain.gap_table(values, index[which], np.ones(len(which)), rows.resolution_s)
        _, states, scales = chain.forward(moves, start, shares.other, gaps)
        width = len(states)
        out[which, :width] = chain.backward(
            moves, start, shares.other, gaps, (states, scales), count_moves=False
        ).other[:, :width]
    return np.asarray(out[rows.gaps_us >= 0])


def _shaped(values: Floats, lengths: NDArray[np.int64]) -> tuple[tuple[float, ...], ...]:
    ends = np.cumsum(lengths)
    flat = np.round(values, 4).tolist()
    return tuple(tuple(flat[end - n : end]) for end, n in zip(ends.tolist(), lengths.tolist(), strict=True))
