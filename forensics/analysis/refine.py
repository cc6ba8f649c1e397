"""From a rough policy to the best of its family nearby: move its parameters, try caps, prefer round values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from forensics.analysis.chain import Fitted, Likelihood, Shares
from forensics.analysis.priors import CAPS_S, COMMON_S, TIMEOUTS_S, USUAL_S, near_round, policy_prior
from forensics.analysis.schedules import jitter_bounds, waits
from forensics.model import Policy

_AMOUNTS = (0.1, 0.2, 0.25, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
_RANGES = ((0.75, 1.0), (0.8, 1.0), (0.9, 1.0), (1.0, 1.1), (1.0, 1.2), (1.0, 1.25), (1.0, 1.5), (1.0, 2.0))
_DOUBT, _DOUBT_BY_STAMPS = -6.0, -2.0
Move = Callable[[Policy, float], Policy]


def posterior(fitted: Fitted) -> float:
    """Trusted share of the objective plus log-prior of the policy, in nats; compares policies on the same gaps."""
    growth = -1.5 if fitted.pairs_only and fitted.policy.shape not in ("fixed", "none") else 0.0
    return fitted.trust * fitted.objective + policy_prior(fitted.policy) + _doubt_of_jitter(fitted) + growth


def value_of(likelihood: Likelihood, policy: Policy, shares: Shares) -> float:
    """The same at given shares, the doubt of jitter left out."""
    return likelihood.trust * likelihood.score(policy, shares) + policy_prior(policy)


def _doubt_of_jitter(fitted: Fitted) -> float:
    """A jitter of free width no wider than the scatter is more likely a scatter of another form.

    Where the stamps are too coarse to show the scatter, that reason is weaker: the jitter may be there unseen.
    """
    policy = fitted.policy
    if policy.jitter_amount is None or policy.shape == "none":
        return 0.0
    bounds = [jitter_bounds(policy, w) for w in waits(policy, fitted.parts.attempts - 1)]
    width = max(high - low for low, high in bounds)
    if width >= 2.5 * fitted.scatter_s:
        return 0.0
    return _DOUBT if fitted.scatter_s > 0.2 * fitted.resolution_s else _DOUBT_BY_STAMPS


def refined(likelihood: Likelihood, start: Fitted, timeout_s: float | None, steps: tuple[float, ...]) -> Fitted:
    """Pattern search over the continuous parameters, each step size in turn, then shares again."""
    policy, shares = start.policy, start.shares
    best = likelihood.score(policy, shares)
    moves = _moves(policy, timeout_s is None)
    for step in steps:
        for move in moves:
            for signed in (step, -step):
                for _ in range(3):
                    tried = move(policy, signed)
                    value = likelihood.score(tried, shares) if tried != policy else best
                    if value <= best + 1e-6:
                        break
                    policy, best = tried, value
    return likelihood.fit(policy, shares, 3)


def _moves(policy: Policy, timeout_free: bool) -> list[Move]:
    moves: list[Move] = []
    if policy.shape == "schedule":
        moves += [_schedule_move(k) for k in range(len(policy.schedule_s))]
    elif policy.shape != "none":
        moves.append(lambda p, s: _with_base(p, (p.base_s or 0.0) * (1 + s)))
    if timeout_free:
        moves.append(lambda p, s: replace(p, timeout_s=max(0.0, (p.timeout_s or 0.0) + s * _first(p))))
        if policy.shape not in ("none", "schedule"):
            moves.append(_along_ridge)
    if policy.shape in ("exponential", "linear", "polynomial"):
        moves.append(lambda p, s: replace(p, factor=max(0.01, (p.factor or 1.0) * (1 + s))))
    if policy.jitter_amount is not None and policy.jitter_range is None:
        top = 1.0 if policy.jitter == "proportional" else 1e9
        moves.append(lambda p, s: replace(p, jitter_amount=min(top, (p.jitter_amount or 0.1) * (1 + 3 * s))))
    return moves


def _schedule_move(k: int) -> Move:
    def move(policy: Policy, step: float) -> Policy:
        plan = list(policy.schedule_s)
        plan[k] = max(0.0, plan[k] + step * (plan[k] + (policy.timeout_s or 0.0)) / 2)
        return replace(policy, schedule_s=tuple(plan))

    return move


def _first(policy: Policy) -> float:
    return (policy.timeout_s or 0.0) + sum(jitter_bounds(policy, waits(policy, 1)[0])) / 2


def _along_ridge(policy: Policy, step: float) -> Policy:
    """Move time from the first wait to the timeout, their sum kept."""
    return with_timeout(policy, max(0.0, (policy.timeout_s or 0.0) + step * _first(policy)))


def with_timeout(policy: Policy, timeout_s: float) -> Policy:
    """The policy with this timeout and the base that keeps timeout + mean first wait; unchanged if none does."""
    if policy.shape in ("none", "schedule") or policy.first_wait_s is not None or not policy.base_s:
        return replace(policy, timeout_s=timeout_s)
    per_base = (_first(policy) - (policy.timeout_s or 0.0) - _added(policy)) / policy.base_s
    base = (_first(policy) - _added(policy) - timeout_s) / max(per_base, 1e-9)
    return _with_base(replace(policy, timeout_s=timeout_s), base) if base > 0.01 else policy


def _added(policy: Policy) -> float:
    return (policy.jitter_amount or 0.0) / 2 if policy.jitter == "additive" else 0.0


def _with_base(policy: Policy, base_s: float) -> Policy:
    """A linear step equal to the base stays equal to it."""
    equal = policy.shape == "linear" and policy.factor == policy.base_s
    return replace(policy, base_s=base_s, factor=base_s if equal else policy.factor)


def capped(likelihood: Likelihood, fitted: Fitted) -> Fitted:
    """Try round caps below the largest wait the model reaches; keep one that pays for itself."""
    policy = fitted.policy
    if policy.shape not in ("exponential", "linear", "polynomial", "decorrelated"):
        return fitted
    free = waits(replace(policy, cap_s=None), likelihood.attempts - 1)
    reach = free[-1] * (3.0 if policy.shape == "decorrelated" else 1.0)
    best, value = policy, value_of(likelihood, policy, fitted.shares)
    for cap in (c for c in CAPS_S if free[0] * 1.2 < c < reach * 0.98):
        tried = replace(policy, cap_s=float(cap))
        score = value_of(likelihood, tried, fitted.shares)
        if score > value:
            best, value = tried, score
    return fitted if best is policy else likelihood.fit(best, fitted.shares, 2)


def without_idle_cap(policy: Policy, waits_seen: int) -> Policy:
    """The policy without its cap where none of so many waits reaches it: no gap could show it."""
    if policy.cap_s is None or policy.shape == "decorrelated":
        return policy
    free = replace(policy, cap_s=None)
    return free if max(waits(free, waits_seen)) <= policy.cap_s else policy


def canonical(coarse: Likelihood, fine: Likelihood, fitted: Fitted, timeout_s: float | None) -> list[Fitted]:
    """The policy, and the best of its family with common values throughout, in a wide neighbourhood."""
    options = {
        (p.base_s, p.factor, p.timeout_s, p.cap_s, p.schedule_s): p for p in _common_policies(fitted.policy, timeout_s)
    }
    scored = sorted(options.values(), key=lambda p: -value_of(coarse, p, fitted.shares))
    tried = [fine.fit(p, fitted.shares, 4) for p in scored[:3]]
    return [fitted, *tried]


def _common_schedules(policy: Policy, timeout_s: float | None) -> Iterable[Policy]:
    """The same totals split between another timeout and rounder waits."""
    totals = [w + (policy.timeout_s or 0.0) for w in policy.schedule_s]
    for timeout in (0.0, *TIMEOUTS_S) if timeout_s is None else ():
        rest = [t - timeout for t in totals]
        if min(rest) > -0.03 * timeout:
            plan = tuple((near_round(r, 0.08) or [r])[0] if r > 0.02 else 0.0 for r in (max(0.0, r) for r in rest))
            yield replace(policy, schedule_s=plan, timeout_s=float(timeout))


def _common_policies(policy: Policy, timeout_s: float | None) -> Iterable[Policy]:
    if policy.shape == "schedule":
        yield from _common_schedules(policy, timeout_s)
    if policy.shape in ("none", "schedule") or not policy.base_s:
        return
    timeout, base = policy.timeout_s or 0.0, policy.base_s
    timeouts = [timeout] if timeout_s is not None else [t for t in TIMEOUTS_S if 0.7 * timeout <= t <= 1.35 * timeout]
    if timeout < 0.6 and timeout_s is None:
        timeouts.append(0.0)
    factors: tuple[float | None, ...] = {"exponential": (1.5, 2.0, 3.0), "polynomial": (2.0, 3.0)}.get(
        policy.shape, (policy.factor,)
    )
    for b in (b for b in (*COMMON_S, *USUAL_S) if 0.35 * base <= b <= 2.8 * base):
        for factor in factors:
            for t in timeouts:
                for cap in {policy.cap_s, None}:
                    value = replace(policy, base_s=float(b), factor=factor, timeout_s=float(t), cap_s=cap)
                    yield replace(value, factor=value.base_s) if policy.shape == "linear" else value


def rounded(likelihood: Likelihood, fitted: Fitted, timeout_s: float | None) -> Fitted:
    """Replace parameters by round ones where likelihood and prior together gain."""
    policy, shares = fitted.policy, fitted.shares
    best = value_of(likelihood, policy, shares)
    for _ in range(2):
        before = policy
        for option in _round_options(policy, timeout_s is None, likelihood.table.resolution_s):
            value = value_of(likelihood, option, shares)
            if value > best:
                policy, best = option, value
        if policy == before:
            break
    return likelihood.fit(policy, shares, 2) if policy != fitted.policy else fitted


def _round_options(policy: Policy, timeout_free: bool, blur_s: float) -> Iterable[Policy]:
    timeouts = [policy.timeout_s or 0.0]
    if timeout_free:
        timeouts += near_round(policy.timeout_s or 0.0, 0.08)[:3]
        if (policy.timeout_s or 0.0) < 0.35:
            timeouts.append(0.0)
    for timeout in dict.fromkeys(timeouts):
        for moved in dict.fromkeys((replace(policy, timeout_s=timeout), with_timeout(policy, timeout))):
            yield moved
            yield from _round_bases(moved, blur_s)


def _round_bases(policy: Policy, blur_s: float) -> Iterable[Policy]:
    if policy.shape == "schedule":
        plan = tuple((near_round(w, 0.06) or [w])[0] for w in policy.schedule_s)
        yield replace(policy, schedule_s=plan)
        for k, wait in enumerate(policy.schedule_s):
            for value in near_round(wait, 0.06)[:2]:
                yield replace(policy, schedule_s=(*policy.schedule_s[:k], value, *policy.schedule_s[k + 1 :]))
        return
    for base in near_round(policy.base_s or 0.0, 0.1)[:3]:
        based = _with_base(policy, base)
        yield based
        yield from _round_factors(based, blur_s)
        yield from _round_amounts(based, blur_s)
    yield from _round_factors(policy, blur_s)
    yield from _round_amounts(policy, blur_s)


def _round_factors(policy: Policy, blur_s: float) -> Iterable[Policy]:
    factor = policy.factor or 0.0
    if policy.shape in ("exponential", "polynomial"):
        options: tuple[float, ...] = (1.5, 2.0, 3.0, 4.0)
    elif policy.shape == "linear":
        options = (policy.base_s or 0.0, *near_round(factor, 0.1))
    else:
        return
    for option in options:
        if option != factor and abs(option - factor) <= 0.12 * option:
            yield replace(policy, factor=option)
            yield from _round_amounts(replace(policy, factor=option), blur_s)


def _round_amounts(policy: Policy, blur_s: float) -> Iterable[Policy]:
    """Common amounts of jitter near the fitted one; where the stamps hide a narrow jitter, any that they hide."""
    amount = policy.jitter_amount
    hidden = blur_s / 2 if policy.jitter == "additive" else blur_s / 4 / max(policy.base_s or 0.0, 0.01)
    if amount is None or policy.jitter_range is not None:
        return
    for option in _AMOUNTS:
        if abs(option - amount) <= 0.4 * option or max(option, amount) <= hidden:
            yield replace(policy, jitter_amount=option)
    if policy.jitter == "proportional":
        yield from _one_sided(policy, amount)


def _one_sided(policy: Policy, amount: float) -> Iterable[Policy]:
    """The same drawn waits as multiples U(low, high) of a rounder base, bounds as clients have them."""
    for low, high in _RANGES:
        middle, half = (low + high) / 2, (high - low) / (low + high)
        if abs(half - amount) > 0.4 * half:
            continue
        raw = (policy.base_s or 0.0) / middle
        for base in near_round(raw, 0.06)[:1]:
            yield replace(_with_base(policy, base), jitter_amount=round((high - low) / 2, 6), jitter_range=(low, high))
