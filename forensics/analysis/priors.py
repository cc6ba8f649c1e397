"""How likely a policy is before any gap was seen: people choose round values, factor 2 and few knobs.

The numbers are nats, set by judgement from the catalogue: of its exponential entries five in six have factor 2, of its
bases and timeouts nine in ten are in the lists below. They decide only among policies that fit about equally well.
"""

from __future__ import annotations

from collections.abc import Iterable

from forensics.model import Policy

COMMON_S = (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 86400)
USUAL_S = (
    0.025, 0.05, 0.15, 0.25, 0.3, 0.4, 0.6, 0.75, 0.8, 1.5, 2.5, 4, 6, 7, 8, 12, 25, 40, 45, 50, 80, 90, 100, 150, 180,
    240, 400, 500, 1000, 1200, 1500, 2400, 2700, 3000, 5400, 10800, 14400, 18000, 21600, 28800, 36000, 43200,
)  # fmt: skip
TIMEOUTS_S = (0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 45, 60, 80, 90, 120, 300, 600)
CAPS_S = (0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 60, 90, 120, 180, 300, 600, 900, 1800, 3600)
_SHAPES = {
    "exponential": 0.0, "fixed": -0.7, "none": -0.7, "linear": -1.5, "decorrelated": -2.0, "polynomial": -2.5,
    "schedule": -1.5,
}  # fmt: skip
_JITTERS = {"none": 0.0, "full": -0.4, "equal": -0.7, "proportional": -0.7, "additive": -1.0, "decorrelated": 0.0}
_ODD = -5.0


def roundness(value_s: float) -> float:
    """Nats: 0 for a common duration, -0.7 a usual one, -3 others of two figures, -4 three ending in 5, else -5."""
    if value_s == 0:
        return 0.0
    if _listed(value_s, COMMON_S):
        return 0.0
    if _listed(value_s, USUAL_S):
        return -0.7
    figures = f"{value_s:.2e}"
    if figures[3] == "0":
        return -3.0
    return -4.0 if figures[3] == "5" else _ODD


def near_round(value_s: float, tolerance: float) -> list[float]:
    """Listed durations within a relative tolerance of the value, nearest first."""
    near = [r for r in (*COMMON_S, *USUAL_S) if abs(r - value_s) <= tolerance * value_s]
    two = float(f"{value_s:.1e}")
    if value_s > 0 and abs(two - value_s) <= tolerance * value_s and not _listed(two, near):
        near.append(two)
    return sorted((float(r) for r in near), key=lambda r: abs(r - value_s))


def policy_prior(policy: Policy) -> float:
    """Log-prior of a policy in nats, up to a constant."""
    value = _SHAPES[policy.shape] + _JITTERS[policy.jitter]
    if policy.shape == "schedule":
        value += sum(0.6 * roundness(w) - 1.0 for w in policy.schedule_s)
    elif policy.shape != "none":
        value += roundness(policy.base_s or 0.0) + _factor_prior(policy)
    if policy.timeout_s == 0:
        value -= 1.5
    elif policy.timeout_s and policy.shape not in ("none", "schedule"):
        value += _proportion_prior(policy)
    if policy.timeout_s:
        value += roundness(policy.timeout_s) - (0.5 if policy.timeout_s >= 0.5 else 3.0)
    if policy.cap_s is not None:
        value += roundness(policy.cap_s) - 2.0
    if policy.first_wait_s is not None:
        value += roundness(policy.first_wait_s) - 2.0
    return value + _amount_prior(policy)


def _proportion_prior(policy: Policy) -> float:
    """A caller seldom waits longer between tries than it waits for a reply."""
    ratio = (policy.base_s or 0.0) / (policy.timeout_s or 1.0)
    return -1.4 if ratio > 3 else -0.7 if ratio > 1.01 else 0.0


def _factor_prior(policy: Policy) -> float:
    factor, base = policy.factor, policy.base_s or 0.0
    if policy.shape == "exponential":
        return {2.0: 0.0, 3.0: -2.0, 1.5: -2.0}.get(factor or 2.0, _ODD if (factor or 2.0) <= 4 else 2 * _ODD)
    if policy.shape == "linear":
        return 0.0 if factor is None or abs(factor - base) < 1e-9 else -2.0 + roundness(factor)
    if policy.shape == "polynomial":
        return {2.0: 0.0, 3.0: -1.5, 4.0: -1.5}.get(factor or 2.0, _ODD)
    return 0.0


def _amount_prior(policy: Policy) -> float:
    amount = policy.jitter_amount
    if policy.jitter == "proportional" and amount is not None:
        skew = 0.0 if policy.jitter_range is None else -1.0
        if policy.shape == "schedule" and amount > 0.3:
            skew -= 3.0  # so wide a jitter about a bare wait is a hump of chance
        return skew + (-0.7 if _listed(amount, (0.1, 0.2, 0.25, 0.5)) else -2.0 if amount >= 0.08 else -4.0)
    if policy.jitter == "additive" and amount is not None:
        return (-1.0 if amount >= 0.08 else -4.0) + max(-2.5, roundness(amount))
    return 0.0


def _listed(value: float, values: Iterable[float]) -> bool:
    return any(abs(value - v) <= 1e-6 * max(v, 1e-3) for v in values)
