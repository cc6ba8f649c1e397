"""Laws of the matcher: a policy's own gaps give it back, and neither order nor unit of evidence matters."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.analysis.backoff import Weather, sample_gaps
from forensics.analysis.match import match_gaps
from forensics.model import Policy

POLICIES = st.builds(
    lambda shape, base, jitter, timeout: Policy(
        shape, base, {"exponential": 2.0, "linear": base}.get(shape), None, (), jitter, None, timeout, 5
    ),
    st.sampled_from(["exponential", "linear", "fixed"]),
    st.sampled_from([0.5, 1.0, 2.0, 3.0]),
    st.sampled_from(["none", "full", "equal"]),
    st.sampled_from([2.0, 5.0, 10.0]),
)
CALM = Weather(latency_s=0.03, late_share=0.05, late_s=1.0)


def _first_gap(policy: Policy) -> float:
    """Mean time from attempt 1 to attempt 2 when the reply is lost, seconds."""
    share = {"none": 1.0, "equal": 0.75, "proportional": 1.0, "decorrelated": 1.0}.get(policy.jitter, 0.5)
    extra = (policy.jitter_amount or 0.0) / 2 if policy.jitter == "additive" else 0.0
    return (policy.timeout_s or 0.0) + share * policy.schedule_s[0] + extra


@settings(max_examples=4, derandomize=True, deadline=None)
@given(POLICIES, st.integers(0, 2**16))
def test_a_policy_is_among_those_its_own_gaps_are_said_to_fit(policy: Policy, seed: int) -> None:
    """Shape and timeout come back among the tied; the mean first gap, which always shows, in the strongest itself."""
    result = match_gaps(sample_gaps(policy, 100, np.random.default_rng(seed), CALM, 1000), resolution_us=1000)
    assert result.verdict == "named"
    said = [r.policy for r in result.ranked if r.tied or r is result.ranked[0]]
    share = {"none": 1.0, "equal": 0.75, "full": 0.5}[policy.jitter]
    first = (policy.timeout_s or 0.0) + share * (policy.base_s or 0.0)
    assert abs(_first_gap(said[0]) - first) < 0.15 * first
    shapes = {p.shape for p in said}
    assert policy.shape in shapes or (policy.shape == "fixed" and "none" in shapes)


@settings(max_examples=2, derandomize=True, deadline=None)
@given(st.permutations(range(30)))
def test_shuffling_groups_changes_no_verdict(order: list[int]) -> None:
    policy = Policy("exponential", 1.0, 2.0, None, (), "none", None, 3.0, 4)
    groups = sample_gaps(policy, 30, np.random.default_rng(11), CALM)
    shuffled = match_gaps([groups[k] for k in order])
    straight = match_gaps(groups)
    assert shuffled.ranked == straight.ranked
    assert shuffled.responsibilities == tuple(straight.responsibilities[k] for k in order)
