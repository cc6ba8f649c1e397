"""Three readings of two equal purchases; each figure is worked out by hand from the formula of the module."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest

from forensics.analysis.second_checkout import Habits, Pair, read_pair, shrunk

DAY = 86_400.0
# 1000 purchases over ten days, each watched for a day after its window of two hours; nobody bought the same again.
QUIET = Habits(purchases=1000, within=1, later=0, exposure_s=1000 * DAY, span_s=10 * DAY, window_s=7200.0)
PAIR = Pair(
    gap_s=180.0,
    amount_purchases=20,
    amount_later=0,
    own_others=0,
    busy=1.0,
    hour_purchases=4,
    hour_again=1,
    lost=None,
    failed_between=False,
    same_id=False,
    same_channel=None,
    same_instrument=None,
)


def once(pair: Pair, habits: Habits = QUIET) -> float:
    return read_pair(pair, habits).probabilities["once"]


def test_rates_are_shrunk_towards_the_mean_by_the_shape() -> None:
    # (3 events + 2) / (10 days + 2 of five days each).
    assert shrunk(3, 10 * DAY, 1 / (5 * DAY), 2.0) == pytest.approx(5 / (20 * DAY))


def test_the_weights_are_those_of_the_formula() -> None:
    # In days: q0 = 1/(1000 + 100); q1 = 0.02/(20 + 0.02/q0) = 0.02/42; q2 = 0.02/(10 + 0.02/q1) = 0.02/52. Chance
    # gives 1000 q0 2h of the one pair.
    # The others of its hour repeat nothing: s = 1/(4 + 1000), more than m = 1/(996 + 1000), which rises to s.
    close = 1 / 1004 / (180 * log(7200))
    chance = 0.02 / (52 * DAY)
    assert QUIET.expected == pytest.approx(1000 / (1100 * DAY) * 7200)
    assert once(PAIR) == pytest.approx(close / (2 * close + chance))


def test_the_readings_sum_to_one() -> None:
    assert sum(read_pair(PAIR, QUIET).probabilities.values()) == pytest.approx(1.0)


def test_without_a_clue_two_checkouts_are_never_likelier_than_two_purchases() -> None:
    found = read_pair(replace(PAIR, gap_s=2.0), QUIET)
    assert found.probabilities["once"] == found.probabilities["twice"] < 0.5
    assert found.clues == ()


@pytest.mark.parametrize("clue", [{"lost": True}, {"failed_between": True}, {"same_id": True}])
def test_a_lost_reply_a_failure_between_or_a_shared_id_speaks_for_one_purchase(clue: dict[str, bool]) -> None:
    assert once(replace(PAIR, **clue)) > 0.85


def test_a_caller_that_had_its_answer_speaks_against_it() -> None:
    assert once(replace(PAIR, lost=False)) < 0.15


def test_a_customer_who_often_buys_that_amount_simply_bought_twice() -> None:
    assert once(replace(PAIR, own_others=30)) < 0.1
    assert once(replace(PAIR, own_others=30)) < once(replace(PAIR, own_others=3)) < once(PAIR)


def test_an_amount_that_all_buy_again_and_a_ledger_of_habits_speak_for_chance() -> None:
    assert once(replace(PAIR, amount_later=20)) < once(PAIR)
    assert once(replace(PAIR, amount_later=10), replace(QUIET, later=500, within=38)) < once(PAIR)


def test_a_busy_hour_and_a_longer_time_speak_for_chance() -> None:
    assert once(replace(PAIR, busy=6.0)) < once(PAIR)
    assert once(replace(PAIR, gap_s=7000.0)) < once(PAIR)


def test_where_customers_at_large_buy_twice_at_all_hours_one_more_who_did_is_no_second_checkout() -> None:
    # 50 of 1000 purchases repeat one: m = (50 - 1 + 1)/1996 = 0.025 against s = 0.001.
    habit = replace(QUIET, within=50)
    assert once(PAIR, habit) < 0.05
    assert once(replace(PAIR, lost=True), habit) > once(PAIR, habit)


def test_an_hour_in_which_many_buy_twice_speaks_for_failures_up_to_one_half() -> None:
    habit = replace(QUIET, within=50)
    burst = replace(PAIR, hour_purchases=100, hour_again=40)
    assert once(PAIR, habit) < once(burst, habit) < 0.5
    assert once(burst, habit) > 0.4


def test_a_ledger_of_an_hour_watches_nothing_and_rests_on_the_prior() -> None:
    # No exposure at all: one equal purchase in a hundred days.
    hour = Habits(purchases=50, within=1, later=0, exposure_s=0.0, span_s=3600.0, window_s=7200.0)
    assert hour.rate == pytest.approx(1 / (100 * DAY))
    assert 0.4 < once(PAIR, hour) < 0.5
