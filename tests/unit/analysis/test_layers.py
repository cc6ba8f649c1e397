"""Tries of a hop from counts of calls, and the order of hops: numbers that can be worked out on paper."""

from __future__ import annotations

import pytest

from forensics.analysis.layers import CallCounts, HopPair, measure_tries, order_hops


def saved(inner: int, calls: int) -> CallCounts:
    """Calls of one request whose last try at the inner hop succeeded."""
    return CallCounts(1, 0, inner, inner - 1, calls)


def lost(outer: int, inner: int, calls: int) -> CallCounts:
    """Calls that failed throughout."""
    return CallCounts(outer, outer, inner, inner, calls)


def test_the_tries_are_those_of_calls_that_failed_throughout() -> None:
    found = measure_tries([saved(1, 90), saved(2, 7), saved(3, 12), lost(1, 4, 54)])
    assert found is not None
    assert (found.number, found.at_least, found.calls, found.share) == (4.0, False, 54, 1.0)


def test_requests_that_came_several_times_are_divided_out() -> None:
    found = measure_tries([lost(4, 16, 5), lost(1, 4, 5)])
    assert found is not None
    assert (found.number, found.share) == (4.0, 1.0)


def test_calls_cut_short_do_not_lower_the_number() -> None:
    found = measure_tries([lost(1, 1, 60), lost(1, 2, 10), lost(1, 3, 30)])
    assert found is not None
    assert (found.number, found.share) == (3.0, 0.3)


def test_where_every_call_has_a_number_of_its_own_the_upper_end_counts() -> None:
    found = measure_tries([lost(10, 10 + n, 1) for n in range(10)])
    assert found is not None
    assert found.number == 1.8  # nine of ten lie at or below 18 / 10


def test_one_act_made_of_two_requests_is_not_a_retry() -> None:
    found = measure_tries([CallCounts(1, 0, 2, 0, 100), lost(1, 6, 20)])
    assert found is not None
    assert (found.number, found.healthy) == (3.0, 2.0)


def test_without_a_call_lost_throughout_the_number_is_a_lower_bound() -> None:
    found = measure_tries([saved(1, 500), saved(2, 30), saved(3, 4), saved(4, 1)])
    assert found is not None
    assert (found.number, found.at_least) == (3.0, True)  # one call alone with four is not enough


def test_a_reply_that_was_lost_behind_the_hop_is_a_failed_try_all_the_same() -> None:
    found = measure_tries([CallCounts(1, 1, 3, 0, 8)])
    assert found is not None
    assert (found.number, found.at_least) == (3.0, False)


@pytest.mark.parametrize("counts", [[], [saved(1, 1000)], [saved(2, 2)]])
def test_where_next_to_nothing_failed_nothing_is_said(counts: list[CallCounts]) -> None:
    assert measure_tries(counts) is None


def pair(a: str, b: str, calls: int = 100, **seen: int) -> HopPair:
    names = ("a_earlier", "b_earlier", "a_longer", "b_longer", "a_fewer", "b_fewer")
    return HopPair(a, b, calls, *(seen.get(name, 0) for name in names))


CALLS = {"api": 100, "edge": 100, "middle": 100}


def test_hops_stand_from_the_edge_inwards() -> None:
    pairs = [pair("api", "edge", b_longer=100), pair("api", "middle", b_fewer=60), pair("edge", "middle", a_earlier=90)]
    assert order_hops(CALLS, pairs) == (("edge", "middle", "api"), ())


def test_being_asked_less_often_outweighs_a_clock_that_runs_early() -> None:
    pairs = [pair("api", "edge", a_earlier=100, b_fewer=60)]
    assert order_hops({"api": 100, "edge": 100}, pairs)[0] == ("edge", "api")


def test_a_hop_that_shares_few_calls_stands_apart() -> None:
    pairs = [pair("api", "edge", b_longer=100), pair("edge", "middle", calls=20, a_longer=20)]
    chain, apart = order_hops(CALLS, pairs)
    assert (chain, apart) == (("edge", "api"), ("middle",))
