"""Retry policies as arithmetic: nominal waits, and the bounds that jitter sets to each. No arrays: commands that only
name policies need not load any.

Formulas: full and equal jitter as in Brooker, "Exponential Backoff And Jitter" (AWS, 2015); proportional, additive and
a first wait of its own as read in the clients of the catalogue (data/policies.toml).
"""

from __future__ import annotations

from forensics.model import Policy

SHAPES = ("none", "fixed", "linear", "exponential", "polynomial", "decorrelated", "schedule")
JITTERS = ("none", "full", "equal", "proportional", "additive", "decorrelated")


def nominal_wait(policy: Policy, n: int) -> float:
    """The wait before attempt n + 1 (n = 1, 2, ...) in seconds, without cap and first wait."""
    base, factor = policy.base_s or 0.0, policy.factor
    if policy.shape == "none":
        return 0.0
    if policy.shape == "fixed":
        return base
    if policy.shape == "linear":
        return base + (base if factor is None else factor) * (n - 1)
    if policy.shape == "exponential":
        return float(base * (2.0 if factor is None else factor) ** (n - 1))
    if policy.shape == "polynomial":
        return float(base * n ** (2.0 if factor is None else factor))
    if policy.shape == "decorrelated":
        return float(base * 2.0**n)  # mean of U(base, 3 * previous), followed from base
    if policy.shape == "schedule":
        return policy.schedule_s[min(n, len(policy.schedule_s)) - 1] if policy.schedule_s else 0.0
    raise ValueError(f"no such shape: {policy.shape}")


def waits(policy: Policy, n: int) -> tuple[float, ...]:
    """The first n nominal waits in seconds, cap and first wait applied; a schedule repeats its last wait."""
    special = policy.first_wait_s is not None
    raw = [nominal_wait(policy, k if not special else k - 1) if k > 1 or not special else 0.0 for k in range(1, n + 1)]
    if special and n:
        raw[0] = policy.first_wait_s or 0.0
    cap = policy.cap_s
    return tuple(raw) if cap is None else tuple(min(cap, w) for w in raw)


def jitter_bounds(policy: Policy, wait_s: float) -> tuple[float, float]:
    """Least and largest drawn wait for one nominal wait, in seconds.

    A cap bounds what an additive jitter draws (min(cap, wait + draw), as Google's documents and tenacity have it);
    the other jitters are drawn from the capped wait.
    """
    amount = policy.jitter_amount or 0.0
    if policy.jitter == "full":
        return 0.0, wait_s
    if policy.jitter == "equal":
        return wait_s / 2, wait_s
    if policy.jitter == "proportional":
        low, high = policy.jitter_range or (1 - amount, 1 + amount)
        return wait_s * low, wait_s * high
    if policy.jitter == "additive":
        most = wait_s + amount
        return wait_s, most if policy.cap_s is None else max(wait_s, min(policy.cap_s, most))
    return wait_s, wait_s
