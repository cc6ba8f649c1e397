"""Shares of retries as intervals: each worked out on paper, and nothing claimed where nothing tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.retry_share import Followed, Share, by_trace, calibrated, of_counts, wilson

COUNTS = st.integers(min_value=0, max_value=10_000)


def test_half_of_a_hundred_lies_between_forty_and_sixty_per_cent() -> None:
    # Wilson's interval of 50 of 100: 0.5 -+ 1.96 * sqrt(0.25 / 100 + 1.96^2 / 40000) / (1 + 1.96^2 / 100).
    assert wilson(50, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_nothing_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert by_trace(Followed()) == Share(0.0, None, 1.0)
    assert calibrated(0, {}) == Share(0.0, None, 1.0)


def test_what_is_in_doubt_widens_the_share_that_ids_give() -> None:
    # 300 of 1000, of which 100 may be none, and 50 others may be: from below 20 % to above 35 %.
    share = of_counts(300, (100, 50), 1000)
    assert share.point == 0.3
    assert share.low == wilson(200, 1000)[0]
    assert share.high == wilson(350, 1000)[1]


def test_of_requests_in_trouble_those_are_tried_again_that_chance_does_not_explain() -> None:
    # 1000 requests, 200 in trouble. Of the 800 others 80 are followed: chance 10 %. Of the 200, 182 are followed:
    # (0.91 - 0.1) / 0.9 = 90 % are tried again: 180 of 1000.
    share = by_trace(Followed(trouble=182, answer=80, nothing=738, troubled=200))
    assert share.point == pytest.approx(0.18)
    assert share.low < 0.09
    assert share.high > 0.262


def test_an_address_that_stands_for_everybody_tells_nothing() -> None:
    # Nearly everything follows something: a load balancer's address.
    share = by_trace(Followed(trouble=100, answer=890, nothing=10, troubled=100))
    assert (share.low, share.point) == (0.0, None)
    assert share.high > 0.98


def test_a_log_without_clients_has_no_trace() -> None:
    assert by_trace(Followed(unknown=500, troubled=300)) == Share(0.0, None, 1.0)


def test_without_trouble_there_is_nothing_to_try_again() -> None:
    share = by_trace(Followed(answer=10, nothing=90))
    assert (share.low, share.point) == (0.0, 0.0)


def test_the_headed_part_says_what_the_trace_of_the_others_means() -> None:
    # Of 1000 later attempts 900 follow trouble, of 1000 first ones 100. Of 1000 that do not say 500 do:
    # (0.5 - 0.1) / (0.9 - 0.1) = a half are retries: 1000 + 500 of 3000.
    share = calibrated(
        1000,
        {
            0: Followed(trouble=500, nothing=500),
            1: Followed(trouble=100, nothing=900),
            2: Followed(trouble=900, nothing=100),
        },
    )
    assert share.point == pytest.approx(0.5)
    assert 0.47 < share.low < 0.5 < share.high < 0.53


def test_where_too_few_say_they_are_retries_the_trace_of_the_silent_bounds_them() -> None:
    # 10 of 200 say they are retries, all after trouble. Of 100 silent 20 were in trouble and 10 followed such a one:
    # no more than one retry for each in trouble, and no fewer than a quarter or so of those that followed.
    followed = {0: Followed(trouble=10, nothing=90, troubled=20), 1: Followed(nothing=190), 2: Followed(trouble=10)}
    share = calibrated(10, followed)
    traced = by_trace(followed[0])
    assert share.point == pytest.approx((10 + 100 * 10 / 200) / 300)
    assert share.low == pytest.approx((10 + 100 * min(0.05, traced.low)) / 300)
    assert share.high == pytest.approx((10 + 100 * traced.high) / 300)
    assert traced.high < 0.3


def test_where_the_trace_tells_nothing_the_silent_may_be_anything_and_are_likeliest_as_the_others() -> None:
    followed = {0: Followed(nothing=100), 1: Followed(nothing=100), 2: Followed(nothing=200)}
    share = calibrated(200, followed)
    assert share == Share(0.5, pytest.approx(2 / 3), 0.75)


@given(COUNTS, COUNTS, COUNTS, st.floats(min_value=0, max_value=1))
def test_the_likeliest_share_is_never_outside_its_bounds(trouble: int, answer: int, nothing: int, part: float) -> None:
    share = by_trace(Followed(trouble, answer, nothing, 0, int(part * (trouble + answer + nothing))))
    assert 0 <= share.low <= share.high <= 1
    if share.point is not None:
        assert share.low <= share.point <= share.high
