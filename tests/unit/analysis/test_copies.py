"""Copies of all acts, and pairs of creators at one offset: what counts as such, and what only looks so."""

from __future__ import annotations

import pytest

from forensics.analysis.copies import ActCount, FanOut, Step, TwinCreators, fan_outs, twin_creators


def single(minute: int, acts: int = 1) -> ActCount:
    return ActCount(minute, 1, acts, 0)


def fanned(minute: int, acts: int = 1, effects: int = 2) -> ActCount:
    return ActCount(minute, effects, acts, acts)


# Fan-out --------------------------------------------------------------------------------------------------------


def test_from_a_minute_on_all_acts_are_doubled() -> None:
    counts = [single(m) for m in range(50)] + [fanned(m) for m in range(50, 70)]
    assert fan_outs(counts) == (FanOut(50, 69, effects=2, acts=20, fanned=20),)


def test_a_run_may_end_and_may_miss_one_act_in_twenty() -> None:
    counts = (
        [single(m) for m in range(50)] + [fanned(m) for m in range(50, 70)] + [single(60), *map(single, range(70, 90))]
    )
    assert fan_outs(counts) == (FanOut(50, 69, effects=2, acts=21, fanned=20),)


def test_each_number_of_copies_has_its_own_run() -> None:
    counts = [fanned(m, effects=3) for m in range(20)] + [fanned(m) for m in range(30, 50)]
    assert [(run.effects, run.first_minute, run.acts) for run in fan_outs(counts)] == [(2, 30, 20), (3, 0, 20)]


@pytest.mark.parametrize(
    "counts",
    [
        [fanned(m) for m in range(9)],  # fewer than ten
        [c for m in range(200) for c in (single(m), fanned(m))],  # half of the acts
        [ActCount(m, 2, 1, 0) for m in range(50)],  # doubled, but not at once
        [fanned(m, effects=2 + m % 2) for m in range(50)],  # now twice, now three times
    ],
)
def test_what_doubles_some_acts_or_in_its_own_time_is_no_fan_out(counts: list[ActCount]) -> None:
    assert fan_outs(counts) == ()


def test_a_streak_among_many_doubled_acts_may_be_luck() -> None:
    # Of 1000 acts 800 are doubled; twelve in a row without a miss come by chance (0.8^12 is one in 15).
    counts = [fanned(m) if m % 5 or 500 <= m < 512 else single(m) for m in range(1000)]
    assert fan_outs(counts) == ()


# Two schedulers -------------------------------------------------------------------------------------------------


def nights(creator: str, next_by: str | None, offset_s: int | None, acts: int = 5, hours: int = 3) -> list[Step]:
    return [Step(creator, next_by, 24 * n, offset_s, acts) for n in range(hours)]


def test_two_creators_at_one_offset_on_three_nights_are_two_schedulers() -> None:
    assert twin_creators(nights("a", "b", 47)) == (TwinCreators("a", "b", 46, 48, 15),)


def test_either_may_be_first_where_the_offset_is_about_zero() -> None:
    # 0.4 s one way is 0 whole seconds; 0.4 s the other way lies in [-1, 0).
    (pair,) = twin_creators([*nights("a", "b", 0), *nights("b", "a", 0)])
    assert pair.acts == 30
    assert pair.covers("a", "b", 0.4)
    assert pair.covers("b", "a", 0.4)
    assert not pair.covers("a", "b", 30.0)
    assert not pair.covers("a", "c", 0.4)


@pytest.mark.parametrize(
    "steps",
    [
        nights("a", "a", 47),  # one creator
        nights("a", "b", 47, hours=2),  # twice is no habit
        nights("a", "b", 47, acts=3),  # nine acts
        [
            *nights("a", "b", 47),
            *nights("a", None, None),
        ],  # half of the acts are a's alone: it fails over
        [step for k, offset in enumerate((10, 25, 47, 90)) for step in nights("a", "b", offset + k)],  # no one offset
        [Step("a", "b", hour, 4 * 3600, 50) for hour in range(3)],  # a run of three hours, made again after four
    ],
)
def test_what_lacks_one_of_the_marks_is_not_two_schedulers(steps: list[Step]) -> None:
    assert twin_creators(steps) == ()
