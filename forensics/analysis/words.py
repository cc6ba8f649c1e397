"""What the gaps cannot tell, in words: what else would leave the same gaps as the policy that was named."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.analysis.schedules import waits
from forensics.model import GapFit, Policy

_COARSE_S = 0.1
_JITTERS = {
    "none": "no jitter",
    "full": "full jitter",
    "equal": "equal jitter",
    "proportional": "proportional jitter",
    "additive": "added jitter",
    "decorrelated": "decorrelated jitter",
}


def seconds(value: float) -> str:
    """A duration in words: '0.5 s'."""
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


def policy_words(policy: Policy) -> str:
    """A policy in words: 'exponential waits of 1, 2, 4 s, no jitter, timeout 3 s'."""
    plan = policy.schedule_s or waits(policy, 3)
    named = "waits" if policy.shape == "schedule" else f"{policy.shape} waits"
    if policy.shape == "none":
        text = "no wait"
    elif policy.shape == "fixed":
        text = f"a fixed wait of {seconds(plan[0])}"
    elif policy.shape == "decorrelated":
        text = f"decorrelated waits from {seconds(policy.base_s or 0)}"
    else:
        text = f"{named} of {', '.join(f'{w:.3g}' for w in plan)} s"
    timeout = "" if policy.timeout_s is None else f", timeout {seconds(policy.timeout_s)}"
    return f"{text}, {_JITTERS[policy.jitter]}{timeout}"


def doubts(fit: GapFit, rivals: Sequence[Policy], gaps: int, timeout_given: bool) -> tuple[str, ...]:
    """What would leave the same gaps, the most general reason first, then the tied rivals by name."""
    policy = fit.policy
    found: list[str] = []
    pairs = {(i, j) for i, j, share in fit.pair_shares if share * gaps >= 1}
    sum_only = policy.shape in ("fixed", "none") or len({i for i, _ in pairs}) < 2
    fast = fit.fast_after_row_share * gaps >= 5 or _uneven(fit, gaps)
    if sum_only and not fast and not timeout_given and policy.timeout_s is not None:
        total = policy.timeout_s + (waits(policy, 1)[0] if policy.shape != "none" else 0.0)
        found.append(
            f"only the sum of timeout and wait shows ({seconds(total)}): every split of it leaves the same gaps"
        )
    if max((j for _, j in pairs), default=2) <= 2:
        found.append("with two attempts there is one wait, which has no shape: fixed, linear and exponential are alike")
    if policy.jitter == "full" and policy.shape in ("exponential", "linear", "polynomial") and gaps < 200:
        found.append("with waits drawn from 0, linear and exponential growth overlap")
    step_s = fit.noise.resolution_us / 1e6
    if step_s >= _COARSE_S:
        found.append(
            f"stamps {seconds(step_s)} apart hide any jitter that moves a wait by less than about half of that"
        )
    if gaps < 10:
        found.append(f"{gaps} gaps cannot tell jitter from scatter of the network, nor which attempts left rows")
    if (policy.timeout_s or 0.0) == 0 and not timeout_given:
        found.append("a timeout shorter than the scatter would not show")
    found += [policy_words(rival) for rival in rivals]
    return tuple(dict.fromkeys(found))


def _uneven(fit: GapFit, gaps: int) -> bool:
    """Whether gaps over several attempts show fast failures and timeouts apart."""
    over = sum(share for i, j, share in fit.pair_shares if j > i + 1) * gaps
    return over * fit.fast_without_row_share >= 5
