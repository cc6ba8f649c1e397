"""The cause of a repeat: every clue moves the verdict the way it says, and nothing else does."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.analysis.causes import CAUSES, Clues, Verdict, fit_split_law, judge

DAY = 86_400.0


def clues(gap_s: float, **known: Any) -> Clues:
    return Clues(**{"gap_s": gap_s, "resolution_s": 0.001, "retry_density": None, **known})


def verdict(gap_s: float, **known: Any) -> Verdict:
    return judge([clues(gap_s, **known)])[0]


# A gap that says little by itself, and one clue: the cause it speaks for.
@pytest.mark.parametrize(
    ("gap_s", "known", "cause"),
    [
        (40, {"attempt": 2}, "retry"),
        (40, {"same_call": True}, "retry"),
        (40, {"previous_lost": True}, "retry"),
        (600, {"redelivered": False, "published_again": True}, "retry"),
        (1.0, {"retry_density": 2.0, "retry_trust": 0.92}, "retry"),
        (30, {"redelivered": True, "published_again": False}, "redelivery"),
        (4, {"redelivered": True, "published_again": False}, "redelivery"),
        (1800, {"by_hand": True}, "manual_resend"),
        (40, {"by_hand": True}, "manual_resend"),
        (600, {"in_block": True}, "batch_rerun"),
        (DAY, {"in_block": True}, "batch_rerun"),
        (0.02, {"fanned_out": True}, "fan_out"),
        (3.0, {"fanned_out": True}, "fan_out"),
        (47.0, {"two_schedulers": True}, "two_schedulers"),
        (600, {"two_schedulers": True, "in_block": True}, "two_schedulers"),
        (47.0, {"two_schedulers": True, "by_hand": True}, "two_schedulers"),
        (0.02, {}, "retry"),
        (0.5, {"fanned_out": True, "retry_density": 40.0, "retry_trust": 0.92}, "retry"),
        (0.5, {"same_call": False}, "double_submit"),
        (0.5, {"previous_lost": False}, "double_submit"),
        (0.8, {"attempt": 1}, "double_submit"),
        (4, {"half_odds": 100.0}, "legitimate"),
        (4, {"half_odds": 100.0, "same_call": False}, "legitimate"),
        (2 * DAY, {"by_hand": False}, "unexplained"),
    ],
)
def test_structure_names_the_cause(gap_s: float, known: dict[str, Any], cause: str) -> None:
    assert verdict(gap_s, **known).cause == cause


# Each clue against silence: a cause that gains on another by it.
@pytest.mark.parametrize(
    ("known", "likelier", "less_likely"),
    [
        ({"attempt": 2}, "retry", "manual_resend"),
        ({"attempt": 1}, "double_submit", "retry"),
        ({"same_call": True}, "retry", "double_submit"),
        ({"same_call": False}, "double_submit", "retry"),
        ({"previous_lost": True}, "retry", "double_submit"),
        ({"previous_lost": False}, "double_submit", "retry"),
        ({"by_hand": True}, "manual_resend", "retry"),
        ({"by_hand": False}, "retry", "manual_resend"),
        ({"in_block": True}, "batch_rerun", "retry"),
        ({"fanned_out": True}, "fan_out", "retry"),
        ({"fanned_out": True}, "fan_out", "double_submit"),
        ({"two_schedulers": True}, "two_schedulers", "retry"),
        ({"two_schedulers": True}, "two_schedulers", "batch_rerun"),
        ({"redelivered": True, "published_again": False}, "redelivery", "retry"),
        ({"redelivered": False, "published_again": True}, "retry", "redelivery"),
        ({"other_key": True}, "double_submit", "retry"),
        ({"other_key": True}, "legitimate", "double_submit"),
        ({"by_messages": True}, "redelivery", "retry"),
        ({"half_odds": 100.0}, "legitimate", "retry"),
        ({"half_odds": 0.5}, "retry", "legitimate"),
        ({"retry_density": 2.0, "retry_trust": 0.92}, "retry", "unexplained"),
        ({"retry_density": 0.0, "retry_trust": 0.92}, "unexplained", "retry"),
    ],
)
@pytest.mark.parametrize("gap_s", [1.5, 6.0])
def test_every_clue_moves_the_verdict_the_way_it_says(
    gap_s: float, known: dict[str, Any], likelier: str, less_likely: str
) -> None:
    silent, spoken = dict(verdict(gap_s).probabilities), dict(verdict(gap_s, **known).probabilities)
    assert spoken[likelier] / spoken[less_likely] > silent[likelier] / silent[less_likely]


def test_without_a_sign_of_two_acts_a_repeat_is_not_called_lawful_on_its_gap() -> None:
    # 4 s is the commonest gap between the parts of a split payment; alone it must not excuse a duplicate.
    assert dict(verdict(4).probabilities)["legitimate"] < 0.05


def test_where_bills_are_often_paid_in_two_parts_two_equal_parts_are_likelier() -> None:
    few, many = (dict(judge([clues(12, splits=n)], [12.0] * n)[0].probabilities)["legitimate"] for n in (1, 200))
    assert few < 0.1 < 0.5 < many


def test_the_time_between_two_parts_is_learnt_from_the_unequal_ones() -> None:
    # Four pairs at a median of 4 s are taken as seen before; with four at 64 s the middle of the logs is 16 s.
    median, _ = fit_split_law([(64.0, 1.0)] * 4)
    assert median == pytest.approx(16.0)
    slow = [dict(judge([clues(gap, splits=200)], [60.0] * 200)[0].probabilities)["legitimate"] for gap in (4, 60)]
    assert slow[0] < slow[1]


def test_a_repeat_is_lawful_only_where_that_is_likelier_than_all_causes_together() -> None:
    # Lawful leads, but retry and double click together outweigh it: the money moved twice more likely than not.
    found = verdict(2.2, previous_lost=False, half_odds=0.9, by_hand=False)
    legitimate = dict(found.probabilities)["legitimate"]
    others = [p for cause, p in found.probabilities if cause != "legitimate"]
    assert max(others) < 0.6
    assert found.cause != "legitimate" if legitimate < 0.5 else found.cause == "legitimate"


def test_who_calls_again_under_one_id_had_no_answer_whatever_the_log_says() -> None:
    assert verdict(40, same_call=True, previous_lost=False).cause == "retry"


def test_repeats_that_their_clues_settle_do_not_make_a_retry_likelier_for_the_others() -> None:
    open_one = clues(20, other_road=True, splits=60)
    settled = [clues(40, redelivered=True, published_again=False)] * 300
    assert judge([open_one, *settled], [20.0] * 60)[0].cause == "legitimate"


def test_the_more_second_clicks_bore_the_key_of_the_first_the_less_a_new_key_is_a_click() -> None:
    # By the rule of succession 3 of 3 leave 1 in 5 for a new key, none of none leaves 1 in 2: odds fall to 2/5.
    # Many repeats beside it hold the shares of the causes still.
    retries = [clues(4.0)] * 400
    few, none = (dict(judge([clues(1.2, other_key=True, second_clicks=n), *retries])[0].probabilities) for n in (3, 0))
    odds = few["double_submit"] / few["unexplained"] / (none["double_submit"] / none["unexplained"])
    assert odds == pytest.approx(2 / 5, rel=0.02)


def test_where_messages_bring_the_acts_a_long_gap_is_sooner_the_brokers_than_a_clients() -> None:
    short, long = (verdict(gap_s, by_hand=False, by_messages=True) for gap_s in (20.0, 2000.0))
    assert short.cause == "retry"
    odds = [dict(v.probabilities)["redelivery"] / dict(v.probabilities)["retry"] for v in (short, long)]
    assert odds[1] > 5 * odds[0]


def test_a_gap_beyond_two_hours_is_no_retry_of_a_client() -> None:
    assert dict(verdict(DAY).probabilities)["retry"] < 0.01


def test_whole_second_stamps_blur_a_double_click_at_zero() -> None:
    assert verdict(0.0, resolution_s=1.0).cause == "double_submit"


def test_the_clues_that_spoke_are_named() -> None:
    found = verdict(4, attempt=2, by_hand=False)
    assert {"attempt_above_one", "not_by_hand", "by_http"} <= set(found.clues)
    assert not {"attempt_one", "by_hand", "in_block", "half_price"} & set(found.clues)


def test_a_rare_cause_needs_more_to_be_believed_among_many_of_another() -> None:
    # 1 s fits a retry after a second and a slow double click; among retries it is one, among clicks it is the other.
    odd = clues(1.0)
    among_retries = judge([odd, *[clues(4.0, attempt=2)] * 60])[0]
    among_clicks = judge([odd, *[clues(0.6, same_call=False)] * 60])[0]
    retry = [dict(found.probabilities)["retry"] for found in (among_retries, among_clicks)]
    assert retry[0] > retry[1]


def test_no_repeats_have_no_verdicts() -> None:
    assert judge([]) == ()


MAYBE = st.sampled_from([None, True, False])
CLUES = st.builds(
    Clues,
    gap_s=st.one_of(st.just(0.0), st.floats(0.0, 5e6)),
    resolution_s=st.sampled_from([1e-6, 0.001, 1.0, 60.0]),
    retry_density=st.sampled_from([None, 0.0, 1e-9, 0.5, 40.0]),
    retry_trust=st.sampled_from([0.0, 0.5, 0.92]),
    attempt=st.sampled_from([None, 1, 2, 7]),
    same_call=MAYBE,
    other_key=MAYBE,
    second_clicks=st.sampled_from([0, 3, 10**9]),
    previous_lost=MAYBE,
    by_hand=MAYBE,
    in_block=MAYBE,
    fanned_out=st.booleans(),
    two_schedulers=st.booleans(),
    redelivered=MAYBE,
    by_messages=st.booleans(),
    published_again=MAYBE,
    other_road=st.booleans(),
    half_odds=st.sampled_from([None, 0.01, 0.5, 100.0]),
    splits=st.sampled_from([0, 7, 500]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(CLUES, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_probabilities_sum_to_one_and_the_order_of_repeats_does_not_matter(
    repeats: list[Clues], shuffler: random.Random
) -> None:
    found = judge(repeats)
    for one in found:
        assert sum(p for _, p in one.probabilities) == pytest.approx(1.0)
        assert {cause for cause, _ in one.probabilities} == set(CAUSES)
        assert all(p > 0 for _, p in one.probabilities)
        rest = [p for _, p in one.probabilities[1:]]
        assert rest == sorted(rest, reverse=True)
        lawful = dict(one.probabilities)["legitimate"]
        assert (one.cause == "legitimate") == (lawful > 0.5)
        assert (one.cause, one.confidence) == one.probabilities[0]
    places = list(range(len(repeats)))
    shuffler.shuffle(places)
    for place, again in zip(places, judge([repeats[place] for place in places]), strict=True):
        assert dict(again.probabilities) == pytest.approx(dict(found[place].probabilities))
