"""What stamps of whole seconds hide: policies whose gaps, cut to them, look the same."""

from __future__ import annotations

import numpy as np
import pytest

from forensics.analysis import gaps as gap_arrays
from forensics.analysis.agreement import agree_after_cutting
from forensics.analysis.backoff import sample_gaps
from forensics.analysis.chain import Fitted
from forensics.analysis.match import match_gaps
from forensics.analysis.search import PolicySearch
from forensics.model import Policy

WHOLE_SECONDS, MILLISECONDS = 1_000_000, 1_000


def policy(base_s: float, jitter: str = "none", amount: float | None = None, timeout_s: float = 2.0) -> Policy:
    return Policy("exponential", base_s, 2.0, None, (), jitter, amount, timeout_s, 4)


PLAIN = policy(0.5)


def agree(a: Policy, b: Policy, resolution_us: int) -> bool:
    """Whether two policies agree on 60 groups of the first, both fitted to them."""
    groups = sample_gaps(a, 60, np.random.default_rng(5), resolution_us=resolution_us)
    search = PolicySearch(gap_arrays.gap_rows(groups, resolution_us), None, ())
    one, two = (_fitted(search, p) for p in (a, b))
    return agree_after_cutting(one, two, search.gaps)


def _fitted(search: PolicySearch, policy: Policy) -> Fitted:
    return search.fine.fit(policy, search.start, 4)


@pytest.mark.parametrize(
    "other",
    [
        policy(0.5, "additive", 0.1),  # waits half a tenth longer on average
        policy(0.5, "proportional", 0.1),  # the same mean waits
        policy(0.5, timeout_s=2.05),
    ],
)
def test_whole_seconds_hide_a_narrow_jitter_and_a_small_shift_that_milliseconds_show(other: Policy) -> None:
    assert agree(PLAIN, other, WHOLE_SECONDS)
    assert not agree(PLAIN, other, MILLISECONDS)


@pytest.mark.parametrize("other", [policy(1.0), policy(0.5, timeout_s=3.0), policy(2.0, "full")])
def test_whole_seconds_do_not_hide_other_waits(other: Policy) -> None:
    assert not agree(PLAIN, other, WHOLE_SECONDS)


def test_what_whole_seconds_hide_is_said() -> None:
    groups = sample_gaps(policy(0.5, "additive", 0.3), 80, np.random.default_rng(3), resolution_us=WHOLE_SECONDS)
    found = match_gaps(groups, resolution_us=WHOLE_SECONDS)
    assert any("stamps 1 s apart" in text for text in found.ranked[0].cannot_tell_from)
