"""The search for the policies that explain a cohort: propose, screen, fit, refine, and keep what comes close."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from forensics.analysis import gaps as gap_arrays
from forensics.analysis import noise, proposals
from forensics.analysis.chain import Fitted, GapTable, Likelihood, Shares, first_shares
from forensics.analysis.priors import TIMEOUTS_S, near_round
from forensics.analysis.refine import (
    canonical,
    capped,
    posterior,
    refined,
    rounded,
    value_of,
    with_timeout,
    without_idle_cap,
)
from forensics.analysis.schedules import waits
from forensics.model import CatalogueEntry, Policy

_SCREEN_ROWS, _FIT_ROWS = 140, 260
_SCREEN_BIN, _FIT_BIN = 0.012, 0.003
_SEEDS, _FITTED, _REFINED, _CANONICAL, _FINISHED = 10, 110, 8, 6, 4
_PER_FAMILY = 2
_SEEDING, _RELATIVES = 3, 8
_CLOSE_NATS, _CLOSEST = 9.0, 16
_SWAPS, _CAPPED = 2, 40
_WAIT_NATS = 3.0  # price of one more wait in a free schedule
_LEAST_ATTEMPTS, _MOST_ATTEMPTS = 5, 8


class PolicySearch:
    """All steps of the search over one cohort's gaps; deterministic."""

    def __init__(self, rows: gap_arrays.GapRows, timeout_s: float | None, catalogue: Sequence[CatalogueEntry]) -> None:
        self.timeout_s, self.catalogue, self.resolution_s = timeout_s, catalogue, rows.resolution_s
        fit = gap_arrays.table_of(gap_arrays.thinned(rows, _FIT_ROWS), rows.resolution_s, _FIT_BIN)
        screen = gap_arrays.table_of(gap_arrays.thinned(rows, _SCREEN_ROWS), rows.resolution_s, _SCREEN_BIN)
        self.gaps: GapTable = fit
        table = noise.noise_table(*noise.scatter_parts(_typical_gap(fit), rows.resolution_s), rows.resolution_s)
        attempts = _attempts(fit)
        self.fine = Likelihood(fit, table, attempts)
        self.coarse = Likelihood(screen, table, attempts, max_skip=2)
        self.start: Shares = first_shares(table)

    def run(self) -> list[Fitted]:
        """Fitted policies, strongest first by posterior."""
        varied = _few_per_family(self._screen(), _FITTED)
        fitted = _ordered(self.coarse.fit(p, self.start, 4) for p in varied)
        fitted = _ordered(capped(self.coarse, f) for f in fitted[:_CAPPED])
        fine = _ordered(self.fine.fit(f.policy, f.shares, 3) for f in _best_of_families(fitted, _REFINED + 2))
        rough = _ordered(self._first_refinement(f) for f in fine[:_REFINED])
        relatives = self._relatives(rough)
        rough = _ordered([*rough, *(self._first_refinement(f) for f in relatives[: _RELATIVES // 2])])
        rounder = [canonical(self.coarse, self.fine, f, self.timeout_s) for f in rough[:_CANONICAL]]
        better = _ordered(max(found, key=posterior) for found in rounder)
        done = _ordered([*(self._last_refinement(f) for f in better[:_FINISHED]), *chain(*rounder), *fine, *relatives])
        pool = _ordered([*done, *self._neighbours(done[0])]) if done else []
        for _ in range(_SWAPS if pool else 0):
            before = pool[0].policy
            pool = self._settled(_ordered([*pool, *self._swapped(pool[0])]))
            if pool[0].policy == before:
                break
        return _distinct(_ordered(_plain(f) for f in pool))

    def _swapped(self, best: Fitted) -> list[Fitted]:
        """The best policy, with and without its cap, in other jitters, shapes and round bases of a like first wait."""
        bare = replace(best.policy, cap_s=None)
        tried = {proposals.key_of(p): p for p in (*proposals.swapped(best.policy), *proposals.swapped(bare))}
        scored = sorted(((value_of(self.fine, p, best.shares), p) for p in tried.values()), key=lambda s: -s[0])
        return [self.fine.fit(p, best.shares, 6) for p in _few_per_family(scored, _RELATIVES)]

    def _settled(self, pool: Sequence[Fitted]) -> list[Fitted]:
        """Policies close to the best, once more from its shares: what is compared must be fitted as well as it is."""
        close = [f for f in pool if posterior(f) >= posterior(pool[0]) - _CLOSE_NATS][:_CLOSEST]
        again = [max(f, self.fine.fit(f.policy, pool[0].shares, 6), key=posterior) for f in close]
        return _ordered([*again, *pool[len(close) :]])

    def _relatives(self, rough: Sequence[Fitted]) -> list[Fitted]:
        """Other families around the best fits: their timeout and mean first wait, or their schedule as a formula."""
        seconds = proposals.piles(self.gaps, 1, self.resolution_s, 2)
        tried: dict[tuple[object, ...], tuple[float, Policy, Shares]] = {}
        for f in rough[:_SEEDING]:
            if f.policy.shape == "schedule":
                relatives = proposals.formulas(f.policy, self.timeout_s)
            else:
                relatives = proposals.more_policies(f.policy, seconds, self.timeout_s)
            for p in relatives:
                tried.setdefault(proposals.key_of(p), (value_of(self.coarse, p, f.shares), p, f.shares))
        best = sorted(tried.values(), key=lambda t: -t[0])
        shares = {proposals.key_of(p): s for _, p, s in best}
        picked = _few_per_family([(v, p) for v, p, _ in best], _RELATIVES)
        return _ordered(self.fine.fit(p, shares[proposals.key_of(p)], 4) for p in picked)

    def _screen(self) -> list[tuple[float, Policy]]:
        places = proposals.piles(self.gaps, 0, self.resolution_s, 3)
        anywhere = proposals.piles(self.gaps, None, self.resolution_s, 4)
        firsts = _merged([*places, _median(self.gaps), *anywhere[:1]])
        net = self._scored(proposals.first_policies(firsts, self.timeout_s))
        seconds = _merged([*proposals.piles(self.gaps, 1, self.resolution_s, 2), *anywhere])
        more: list[Policy] = []
        for seed in _one_per_sum(net, _SEEDS):
            more += proposals.more_policies(seed, seconds, self.timeout_s)
        late = self._latest()
        if late is not None:
            for last in proposals.piles(self.gaps, late, self.resolution_s, 1):
                more += proposals.with_caps(more, last, self.fine.attempts - 1)
        more += self._schedules(anywhere)
        known = proposals.catalogued(self.catalogue, firsts, self.timeout_s)
        more += (without_idle_cap(p, self.fine.attempts - 1) for p in known)
        unique = {proposals.key_of(p): p for p in more}
        return sorted([*net, *self._scored(unique.values())], key=lambda s: -s[0])

    def _scored(self, policies: Iterable[Policy]) -> list[tuple[float, Policy]]:
        scored = [(value_of(self.coarse, p, self.start), p) for p in policies]
        return sorted(scored, key=lambda s: -s[0])

    def _schedules(self, anywhere: Sequence[float]) -> list[Policy]:
        """Free schedules from the piles of each position, each pile replaced by any other where that explains more."""
        places = self._positions()
        if len(places) < 2:
            return []
        options = _merged([*places, *anywhere, *proposals.piles(self.gaps, 1, self.resolution_s, 2)])

        def value(plan: Sequence[float]) -> float:
            bare = Policy("schedule", None, None, None, tuple(plan), "none", None, self.timeout_s or 0.0, None)
            return self.coarse.score(bare, self.start) - _WAIT_NATS * len(plan)

        best = value(places)
        for _ in range(4):
            tried = [sorted(places)]
            for k in range(len(places)):
                tried += [[*places[:k], option, *places[k + 1 :]] for option in options]
                tried.append([*places[:k], *places[k + 1 :], places[k]])
            if len(places) < self.fine.attempts - 1:  # the last wait may show only in gaps after hidden attempts
                tried += [[*places, option] for option in options]
            score, plan = max((value(t), t) for t in tried)
            if score <= best + 1e-6:
                break
            places, best = plan, score
        return proposals.schedules(places, self.timeout_s)

    def _latest(self) -> int | None:
        """The last position of a gap that enough groups reach, from the third on: where a cap shows."""
        enough = max(4.0, 0.04 * float(self.gaps.count.sum()))
        reached = [t for t, n in enumerate(self.gaps.active) if t > 1 and float(self.gaps.count[:n].sum()) >= enough]
        return reached[-1] if reached else None

    def _positions(self) -> list[float]:
        """The highest pile of each position that enough groups reach."""
        enough = max(2.0, 0.02 * float(self.gaps.count.sum()))
        found = []
        for t, n in enumerate(self.gaps.active[: self.fine.attempts - 1]):
            if t > 0 and float(self.gaps.count[:n].sum()) < enough:
                break
            found += proposals.piles(self.gaps, t, self.resolution_s, 1)
        return found

    def _first_refinement(self, fitted: Fitted) -> Fitted:
        return refined(self.fine, capped(self.fine, fitted), self.timeout_s, (0.08, 0.03))

    def _last_refinement(self, fitted: Fitted) -> Fitted:
        close = refined(self.fine, capped(self.fine, fitted), self.timeout_s, (0.04, 0.015, 0.006))
        whole = rounded(self.fine, close, self.timeout_s)
        return max(rounded(self.fine, capped(self.fine, whole), self.timeout_s), close, key=posterior)

    def _neighbours(self, best: Fitted) -> list[Fitted]:
        """Other splits of timeout + first wait, which the gaps may not tell from the best one."""
        if self.timeout_s is not None or best.policy.shape == "none":
            return []
        tried: list[Policy] = []
        if best.policy.shape == "schedule":
            total = [w + (best.policy.timeout_s or 0.0) for w in best.policy.schedule_s]
            tried += [p for p in proposals.schedules(total, None) if p.jitter == best.policy.jitter]
        for timeout in () if tried else (0.0, *TIMEOUTS_S):
            moved = with_timeout(best.policy, timeout)
            if moved.timeout_s != timeout or timeout == best.policy.timeout_s:
                continue
            for base in near_round(moved.base_s or 0.0, 0.08)[:1]:
                tried.append(proposals.with_base(replace(moved, factor=proposals.growth(moved)), base, timeout))
        scored = sorted(tried, key=lambda p: -value_of(self.fine, p, best.shares))
        return [self.fine.fit(p, best.shares, 6) for p in scored[:7]]


def _typical_gap(gaps: GapTable) -> float:
    return max(_median(gaps), 0.05)


def _median(gaps: GapTable) -> float:
    inside = gaps.index >= 0
    weight = np.bincount(gaps.index[inside], np.repeat(gaps.count, inside.sum(axis=1)), minlength=len(gaps.values_s))
    return float(gaps.values_s[int(np.searchsorted(np.cumsum(weight), weight.sum() / 2))])


def _attempts(gaps: GapTable) -> int:
    """One attempt more than the longest usual group has rows, within 5..8."""
    total = float(gaps.count.sum())
    usual = [t for t, n in enumerate(gaps.active) if float(gaps.count[:n].sum()) >= max(1.0, 0.02 * total)]
    return min(_MOST_ATTEMPTS, max(_LEAST_ATTEMPTS, (usual[-1] if usual else 0) + 3))


def _merged(places: Iterable[float]) -> list[float]:
    kept: list[float] = []
    for place in places:
        if place > 0 and all(abs(place - k) > 0.05 * k for k in kept):
            kept.append(place)
    return kept


def _one_per_sum(scored: Sequence[tuple[float, Policy]], most: int) -> list[Policy]:
    """The best policies with different (timeout, first wait)."""
    kept: dict[tuple[str, str], Policy] = {}
    for _, policy in scored:
        if policy.shape != "none":
            kept.setdefault((f"{policy.timeout_s:.1e}", f"{policy.base_s:.1e}"), policy)
        if len(kept) == most:
            break
    return list(kept.values())


def _family(policy: Policy) -> tuple[object, ...]:
    return policy.shape, policy.jitter, policy.first_wait_s is None, policy.cap_s is None


def _few_per_family(scored: Sequence[tuple[float, Policy]], most: int) -> list[Policy]:
    """The best policies of different families; a family may send a few with other timeouts or other first waits."""
    kept: list[Policy] = []
    seen: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for _, policy in scored:
        places = seen.setdefault(_family(policy), [])
        place = (policy.timeout_s or 0.0, waits(policy, 2)[-1])
        if len(places) < _PER_FAMILY and all(_apart(place, other) for other in places):
            places.append(place)
            kept.append(policy)
        if len(kept) == most:
            break
    return kept


def _apart(place: tuple[float, float], other: tuple[float, float]) -> bool:
    return any(abs(a - b) > 0.2 * max(a, b) for a, b in zip(place, other, strict=True))


def _best_of_families(fitted: Sequence[Fitted], most: int) -> list[Fitted]:
    """The strongest fits, no more than a few of one family."""
    count: Counter[tuple[object, ...]] = Counter()
    kept: list[Fitted] = []
    for f in fitted:
        count[_family(f.policy)] += 1
        if count[_family(f.policy)] <= _PER_FAMILY:
            kept.append(f)
    return kept[:most]


def _ordered(fitted: Iterable[Fitted]) -> list[Fitted]:
    return sorted(fitted, key=posterior, reverse=True)


def _plain(fitted: Fitted) -> Fitted:
    """Waits too short to show are no waits: of the families left with none, the plainest says so."""
    p = fitted.policy
    if p.shape in ("none", "schedule", "decorrelated") or p.first_wait_s is not None or (p.base_s or 0.0) > 0.012:
        return fitted
    if p.jitter == "additive" or (p.shape == "linear" and (p.factor or 0.0) > 0.012):
        return fitted
    none = Policy("none", 0.0, None, None, (), "none", None, p.timeout_s, None)
    return replace(fitted, policy=none)


def _distinct(fitted: Sequence[Fitted]) -> list[Fitted]:
    """Drop policies that differ from a stronger one by less than anyone could act on."""
    kept: list[Fitted] = []
    for f in fitted:
        if not any(_alike(f.policy, k.policy) for k in kept):
            kept.append(f)
    return kept


def _alike(a: Policy, b: Policy) -> bool:
    """Same family, waits within an eighth and timeout within a tenth of each other."""
    if (a.shape, a.jitter, a.first_wait_s is None) != (b.shape, b.jitter, b.first_wait_s is None):
        return False
    if abs((a.timeout_s or 0.0) - (b.timeout_s or 0.0)) > max(0.1, 0.1 * (b.timeout_s or 0.0)):
        return False
    return all(abs(x - y) <= max(0.02, 0.125 * y) for x, y in zip(waits(a, 3), waits(b, 3), strict=True))
