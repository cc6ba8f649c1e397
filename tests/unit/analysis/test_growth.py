"""Growth taken apart: factors that multiply, logarithms that add up, verdicts only where the bounds allow one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.growth import judge, judge_between, take_apart
from forensics.analysis.retry_share import Share


def exactly(share: float) -> Share:
    return Share(share, share, share)


def test_three_times_the_requests_with_two_thirds_retries_are_the_same_users() -> None:
    apart = take_apart(3.0, exactly(0.0), exactly(2 / 3))
    assert apart is not None
    assert apart.users == pytest.approx(1.0)
    assert apart.by_retries == pytest.approx(1.0)


@given(st.floats(0.1, 50), st.floats(0, 0.9), st.floats(0, 0.9))
def test_users_times_retries_are_the_requests(requests: float, before: float, during: float) -> None:
    apart = take_apart(requests, exactly(before), exactly(during))
    assert apart is not None
    assert apart.users * (1 - before) / (1 - during) == pytest.approx(requests)


def test_bounds_of_the_shares_are_bounds_of_the_users() -> None:
    # x3; of the incident 20 to 60 % are retries, of the baseline none: users x1.2 to x2.4.
    apart = take_apart(3.0, exactly(0.0), Share(0.2, 0.4, 0.6))
    assert apart is not None
    assert (apart.users_low, apart.users, apart.users_high) == pytest.approx((1.2, 1.8, 2.4))


def test_an_unknown_share_takes_nothing_apart() -> None:
    assert take_apart(3.0, exactly(0.0), Share(0.0, None, 1.0)) is None
    assert judge_between(3.0, exactly(0.0), Share(0.0, None, 1.0)) == ("cannot_tell", "cannot_tell")


@pytest.mark.parametrize(
    ("requests", "users", "verdict"),
    [(3, 1, "retries"), (3, 3, "users"), (4, 2, "both"), (1.1, 1.1, "neither"), (2, 0.5, "retries")],
)
def test_the_verdict_names_what_carries_the_logarithm(requests: float, users: float, verdict: str) -> None:
    assert judge(requests, users) == verdict


def test_bounds_that_allow_users_and_retries_allow_no_verdict() -> None:
    assert judge_between(3.0, exactly(0.0), Share(0.02, 0.6, 0.66)) == ("cannot_tell", "retries")


def test_bounds_between_retries_and_both_do_not_contradict_retries() -> None:
    # x3 with 40 to 66 % retries: at 40 % users x1.8 carry about half; at 60 % users x1.2 a sixth.
    assert judge_between(3.0, exactly(0.0), Share(0.4, 0.6, 0.66)) == ("retries", "retries")
