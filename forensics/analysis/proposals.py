"""Policies worth a look, read off the gaps: where first gaps pile up, and which timeout and base could add up to that.

A pile at m says timeout + first wait = m. So a timeout and a shape give the base, and a base gives the timeout;
values near round ones are taken as round. Later steps move every parameter freely, so proposals need only be near.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.chain import GapTable
from forensics.analysis.priors import COMMON_S, TIMEOUTS_S, USUAL_S, near_round
from forensics.analysis.schedules import jitter_bounds, waits
from forensics.model import CatalogueEntry, Policy

Floats = NDArray[np.float64]
_UNIT = Policy("exponential", 1.0, 2.0, None, (), "none", None, 0.0, None)
_SEED_JITTERS = (("none", None), ("full", None), ("equal", None))
ALL_JITTERS: tuple[tuple[str, float | None], ...] = (
    ("none", None), ("full", None), ("equal", None), ("proportional", 0.1), ("proportional", 0.25),
    ("proportional", 0.5), ("additive", 0.1), ("additive", 0.3), ("additive", 1.0),
)  # fmt: skip
_USUAL_GROWTH = (("exponential", 2.0), ("exponential", 1.5), ("linear", 1.0))
_SHAPES = (
    replace(_UNIT, shape="fixed", factor=None),
    replace(_UNIT, shape="linear", factor=1.0),
    _UNIT,
    replace(_UNIT, factor=1.5),
    replace(_UNIT, factor=3.0),
    replace(_UNIT, shape="polynomial"),
    replace(_UNIT, first_wait_s=0.0),
)


def piles(gaps: GapTable, position: int | None, resolution_s: float, most: int) -> list[float]:
    """Where the gaps at one position of their group (None: all) pile up, in seconds, highest pile first.

    A pile counts the gaps within 8 % (or half a stamp) of a place; lower ones within 20 % of a higher are its slopes.
    """
    index = gaps.index if position is None else gaps.index[:, position : position + 1]
    inside = index >= 0
    weight = np.bincount(index[inside], np.repeat(gaps.count, inside.sum(axis=1)), minlength=len(gaps.values_s))
    values = gaps.values_s
    if not weight.any():
        return []
    halves = values + resolution_s / 2 if resolution_s >= 0.1 else values  # a gap of 3.5 s shows as 3 or 4
    places = np.unique(np.concatenate((values, halves)))
    half = np.maximum(0.08 * places, 0.6 * resolution_s)
    height = np.array([weight[np.abs(values - v) <= h].sum() for v, h in zip(places, half, strict=True)])
    found: list[float] = []
    for k in np.argsort(-height, kind="stable"):
        if height[k] < 0.15 * height.max() or len(found) == most:
            break
        if all(abs(places[k] - f) > max(0.2 * f, 1.2 * resolution_s) for f in found):
            near = np.abs(values - places[k]) <= half[k]
            found.append(float(np.average(values[near], weights=weight[near])))
    return found


def first_policies(places_s: Sequence[float], timeout_s: float | None) -> list[Policy]:
    """A coarse net: three shapes, three jitters, every round timeout and every round base that reach a place."""
    found: dict[tuple[object, ...], Policy] = {}
    for place in places_s:
        for unit in (_SHAPES[0], _SHAPES[1], _SHAPES[2]):
            for jitter, amount in _SEED_JITTERS:
                shaped = replace(unit, jitter=jitter, jitter_amount=amount)
                for timeout, base in _splits(shaped, place, timeout_s):
                    _add(found, with_base(shaped, base, timeout))
        _add(found, replace(_UNIT, shape="none", base_s=0.0, factor=None, timeout_s=_given(timeout_s, place)))
    return list(found.values())


def _splits(unit: Policy, place: float, timeout_s: float | None) -> Iterable[tuple[float, float]]:
    """(timeout, base) with timeout + mean first wait near `place`; round values first."""
    low, high = jitter_bounds(unit, waits(unit, 1)[0])
    per_base = (low + high) / 2
    options = (0.0, *TIMEOUTS_S) if timeout_s is None else (timeout_s,)
    for timeout in options:
        if timeout < 0.99 * place:
            rest = (place - timeout) / per_base
            yield timeout, (near_round(rest, 0.12) or [rest])[0]
    if timeout_s is None:
        for base in (b for b in (*COMMON_S, *USUAL_S) if 0.04 * place < b * per_base < 0.95 * place):
            timeout = place - base * per_base
            yield (near_round(timeout, 0.03) or [timeout])[0], float(base)


def more_policies(seed: Policy, second_s: Sequence[float], timeout_s: float | None) -> list[Policy]:
    """All shapes and jitters around one timeout and first mean wait; a shape that starts late takes `second_s`."""
    low, high = jitter_bounds(seed, waits(seed, 1)[0])
    mean, timeout = (low + high) / 2, seed.timeout_s or 0.0
    found: dict[tuple[object, ...], Policy] = {}
    for unit in _SHAPES:
        for jitter, amount in ALL_JITTERS:
            shaped = replace(unit, jitter=jitter, jitter_amount=amount)
            if unit.first_wait_s is not None:
                for rest in (s - timeout - mean for s in second_s if s > (timeout + mean) * 1.02):
                    base = (near_round(rest, 0.12) or [rest])[0]
                    _add(found, with_base(shaped, base, timeout + mean if timeout_s is None else timeout_s))
                continue
            span = sum(jitter_bounds(replace(shaped, jitter_amount=0.0), 1.0)) / 2
            rest = (mean - (amount or 0) / 2 if jitter == "additive" else mean) / span
            if rest > 0.01:
                _add(found, with_base(shaped, (near_round(rest, 0.12) or [rest])[0], timeout))
    spread = replace(_UNIT, shape="decorrelated", jitter="decorrelated", factor=None)
    base = (near_round(mean / 2, 0.15) or [mean / 2])[0]
    if base > 0:
        _add(found, with_base(spread, base, timeout))
    return list(found.values())


def swapped(policy: Policy) -> list[Policy]:
    """The same timeout and cap with the usual shapes, every jitter, and listed bases of a like mean wait."""
    if policy.shape in ("none", "schedule", "decorrelated") or not policy.base_s:
        return []
    mean = sum(jitter_bounds(policy, policy.base_s)) / 2
    found: dict[tuple[object, ...], Policy] = {}
    shapes = [replace(policy, factor=growth(policy))]
    if policy.shape != "fixed":
        shapes += [replace(policy, shape=shape, factor=factor) for shape, factor in _USUAL_GROWTH]
    for shape, (jitter, amount) in product(shapes, (*ALL_JITTERS, ("additive", 0.5))):
        shaped = replace(shape, jitter=jitter, jitter_amount=amount, jitter_range=None)
        for base in (*COMMON_S, *USUAL_S):
            low, high = jitter_bounds(shaped, base)
            if 0.6 * mean <= (low + high) / 2 <= 1.7 * mean:
                _add(found, with_base(shaped, base, policy.timeout_s or 0.0))
    return list(found.values())


def growth(policy: Policy) -> float | None:
    """A linear step as a multiple of the base, as with_base() takes it."""
    if policy.shape == "linear" and policy.factor is not None:
        return policy.factor / (policy.base_s or 1.0)
    return policy.factor


def with_caps(policies: Iterable[Policy], last_s: float, waits_seen: int) -> list[Policy]:
    """Growing policies once more, with the round cap that puts their last waits where late gaps pile up."""
    found: dict[tuple[object, ...], Policy] = {}
    for policy in policies:
        if policy.shape not in ("exponential", "linear", "polynomial") or policy.cap_s is not None:
            continue
        free = waits(policy, waits_seen)
        span = sum(jitter_bounds(replace(policy, jitter_amount=0.0), 1.0)) / 2
        for cap in near_round((last_s - (policy.timeout_s or 0.0)) / span, 0.15)[:2]:
            if free[0] * 1.2 < cap < free[-1] * 0.98:
                _add(found, replace(policy, cap_s=cap))
    return list(found.values())


def schedules(piles_s: Sequence[float], timeout_s: float | None) -> list[Policy]:
    """Free schedules: the highest pile of each position, less each round timeout, waits taken as round when near."""
    if len(piles_s) < 2:
        return []
    found: dict[tuple[object, ...], Policy] = {}
    options = (0.0, *TIMEOUTS_S) if timeout_s is None else (timeout_s,)
    for timeout in options:
        rest = [p - timeout for p in piles_s]
        if min(rest) < -0.03 * timeout:
            continue
        rest = [max(0.0, r) for r in rest]
        near = tuple((near_round(r, 0.04) or [r])[0] if r > 0.02 else 0.0 for r in rest)
        for jitter, amount in (("none", None), ("proportional", 0.1), ("proportional", 0.25)):
            _add(found, Policy("schedule", None, None, None, near, jitter, amount, float(timeout), None))
    return list(found.values())


def formulas(plan: Policy, timeout_s: float | None) -> list[Policy]:
    """Families whose first waits are near a schedule's: its differences give base and factor, whatever the timeout."""
    total = [w + (plan.timeout_s or 0.0) for w in plan.schedule_s]
    if len(total) < 2:
        return []
    first, step = total[0], total[1] - total[0]
    found: dict[tuple[object, ...], Policy] = {}
    unit = replace(_UNIT, jitter=plan.jitter, jitter_amount=plan.jitter_amount)
    factors = [2.0, 1.5, 3.0]
    if len(total) > 2 and step > 0.02 * first and total[2] > total[1]:
        factors.append((total[2] - total[1]) / step)
    options: list[Policy] = [with_base(replace(unit, shape="fixed", factor=None), plan.schedule_s[0] or first / 4, 0.0)]
    if step > 0.01 * first:
        options += [with_base(replace(unit, factor=f), step / (f - 1), 0.0) for f in factors if f > 1.1]
        options += [with_base(replace(unit, factor=f, first_wait_s=0.0), step, 0.0) for f in factors[:3]]
        options.append(with_base(replace(unit, shape="linear", factor=1.0), step, 0.0))
        options.append(with_base(replace(unit, shape="polynomial"), step / 3, 0.0))
    for option in options:
        base = (near_round(option.base_s or 0.0, 0.06) or [option.base_s or 0.0])[0]
        rounded = with_base(replace(option, factor=1.0) if option.shape == "linear" else option, base, 0.0)
        wait = 0.0 if option.first_wait_s is not None else base
        timeout = first - wait if timeout_s is None else timeout_s
        if timeout >= -0.03 * first:
            _add(found, replace(rounded, timeout_s=max(0.0, (near_round(timeout, 0.03) or [timeout])[0])))
    return list(found.values())


def catalogued(entries: Sequence[CatalogueEntry], places_s: Sequence[float], timeout_s: float | None) -> list[Policy]:
    """The catalogue's policies with the timeout that puts their first wait on a place, or with their own."""
    found: dict[tuple[object, ...], Policy] = {}
    for entry in entries:
        if not entry.expected_waits_s:
            continue
        policy = entry.policy
        low, high = jitter_bounds(policy, waits(policy, 1)[0])
        mean = (low + high) / 2
        options = {timeout_s} if timeout_s is not None else {policy.timeout_s or 0.0, 0.0}
        if timeout_s is None:
            for place in (p for p in places_s if p > mean):
                options.add((near_round(place - mean, 0.05) or [place - mean])[0])
        for timeout in sorted(o for o in options if o is not None):
            _add(found, replace(policy, timeout_s=timeout))
    return list(found.values())


def with_base(unit: Policy, base_s: float, timeout_s: float) -> Policy:
    """A policy of the unit's shape with this base; a linear step scales with it."""
    factor = base_s * (unit.factor or 1.0) if unit.shape == "linear" else unit.factor
    return replace(unit, base_s=float(base_s), factor=factor, timeout_s=max(0.0, float(timeout_s)))


def _given(timeout_s: float | None, place: float) -> float:
    return timeout_s if timeout_s is not None else (near_round(place, 0.03) or [place])[0]


def _add(found: dict[tuple[object, ...], Policy], policy: Policy) -> None:
    found.setdefault(key_of(policy), policy)


def key_of(policy: Policy) -> tuple[object, ...]:
    """What makes two policies the same for the matcher: every parameter to three figures."""

    def figures(value: float | None) -> str:
        return "" if value is None else f"{value:.2e}"

    return (
        policy.shape, policy.jitter, figures(policy.base_s), figures(policy.factor), figures(policy.cap_s),
        figures(policy.jitter_amount), figures(policy.timeout_s), figures(policy.first_wait_s), policy.jitter_range,
        tuple(figures(w) for w in policy.schedule_s) if policy.shape == "schedule" else (),
    )  # fmt: skip
