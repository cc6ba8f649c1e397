"""Where the incident is in counts over time: planted steps are found, and what is no step is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from forensics.analysis.windows import find_windows

BINS = 120
DAY = 86_400
Rate = Callable[[int], float]


def counted(rate: Rate, seed: int = 1, bins: int = BINS) -> list[int]:
    """Poisson counts about a rate per bin; seeded, so the same everywhere."""
    rng = np.random.default_rng(seed)
    return [int(n) for n in rng.poisson([rate(i) for i in range(bins)])]


def series(
    users: Rate, retries: Rate = lambda _: 0.0, bad: Rate = lambda _: 0.0, seed: int = 1, bins: int = BINS
) -> list[list[int]]:
    """Requests, retries among them, failures among them."""
    again = counted(retries, seed + 100, bins)
    first = counted(users, seed, bins)
    return [[a + b for a, b in zip(first, again, strict=True)], again, counted(bad, seed + 200, bins)]


def step(i: int) -> float:
    return 180.0 if 50 <= i < 70 else 60.0


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_step_is_found_within_a_bin_and_compared_with_the_steady_time_before_it(seed: int) -> None:
    found = find_windows(series(step, seed=seed))
    start, end = found.incident
    assert found.found
    assert abs(start - 50) <= 1
    assert abs(end - 70) <= 1
    assert found.baseline == (0, start)
    assert (found.chosen, found.recovered) == ("before", end)


def test_retries_show_an_incident_though_as_many_requests_come_as_before() -> None:
    # 60 a bin throughout; in 20 bins half of them are retries and failures, for half of the users stay away.
    quiet = lambda i: 30.0 if 50 <= i < 70 else 60.0  # noqa: E731
    again = lambda i: 30.0 if 50 <= i < 70 else 0.5  # noqa: E731
    assert find_windows(series(quiet, again, again)).incident == (50, 70)


def test_an_incident_that_lasts_to_the_end_of_the_log_is_found() -> None:
    found = find_windows(series(lambda i: 180 if i >= 90 else 60))
    assert found.found
    assert found.incident == (90, BINS)


def test_an_incident_near_the_start_has_the_little_time_there_is_for_a_baseline() -> None:
    found = find_windows(series(lambda i: 180 if 10 <= i < 40 else 60))
    assert found.incident == (10, 40)
    assert found.baseline == (0, 10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [1, 10, 100])
def test_the_slope_of_a_day_is_no_incident_in_a_log_of_some_hours(level: int, seed: int) -> None:
    # Two hours in minutes, on the morning slope of a day that swings by half about its mean: +50 %, never a jump.
    def morning(i: int) -> float:
        return float(level * (1 - 0.5 * np.cos(2 * np.pi * (360 + i) / 1440)))

    assert not find_windows(series(morning, seed=seed), step_s=60).found


@pytest.mark.parametrize("level", [5, 2000])
def test_the_swing_of_a_whole_day_is_no_incident_however_busy_the_log(level: int) -> None:
    # A day in steps of two minutes, nine times as busy at noon as at midnight; always 1 % failures, most tried again.
    def day(i: int) -> float:
        return float(level * (1 - 0.8 * np.cos(2 * np.pi * i / 720)))

    assert not find_windows(series(day, lambda i: day(i) / 120, lambda i: day(i) / 100, bins=720), step_s=120).found


def test_a_change_that_is_certain_and_small_is_no_incident() -> None:
    # A busy log whose callers always try again as often. In its first bin, calls that began before it look like first
    # attempts (42 % retries, then 44 %), and its last bin is cut short.
    requests, again = [14_176, *[14_600] * 198, 2_800], [6_013, *[6_430] * 198, 1_300]
    assert not find_windows([requests, again, again], step_s=120).found


def test_an_incident_in_the_slope_of_a_day_is_found() -> None:
    def rate(i: int) -> float:
        return float(100 - 80 * np.cos(2 * np.pi * i / 144)) * (3 if 60 <= i < 72 else 1)

    start, end = find_windows(series(rate, bins=288), step_s=300).incident
    assert abs(start - 60) <= 1
    assert abs(end - 72) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_the_recovery_tail_stays_out_of_the_incident_and_is_named(seed: int) -> None:
    # Failures end with bin 60; for fifteen bins a tenth of the requests are still retries, after two thirds before.
    again = lambda i: 120.0 if 40 <= i < 60 else 7.0 if 60 <= i < 75 else 0.3  # noqa: E731
    failing = lambda i: 120.0 if 40 <= i < 60 else 0.3  # noqa: E731
    found = find_windows(series(lambda _: 60.0, again, failing, seed))
    assert abs(found.incident[0] - 40) <= 1
    assert abs(found.incident[1] - 60) <= 1
    assert abs(found.recovered - 75) <= 2


def test_a_wave_of_retries_after_some_quiet_still_belongs_to_the_incident() -> None:
    again = lambda i: 100.0 if 40 <= i < 44 or 46 <= i < 48 else 0.0  # noqa: E731
    failing = lambda i: 100.0 if 40 <= i < 44 else 0.0  # noqa: E731
    assert find_windows(series(lambda _: 20.0, again, failing)).incident == (40, 48)


@pytest.mark.parametrize(("days", "back", "chosen"), [(10, 7, "same_weekday"), (4, 1, "same_hours")])
def test_with_history_the_same_hours_of_a_comparable_day_are_the_baseline(days: int, back: int, chosen: str) -> None:
    # Half hours, from Monday 2026-03-02 (day 20514 since 1970). The incident is on the last day, 10:00 to 12:00.
    at = (days - 1) * 48 + 20

    def rate(i: int) -> float:
        return float(1000 * (1 - 0.8 * np.cos(2 * np.pi * i / 48)))

    def again(i: int) -> float:
        return rate(i) if at <= i < at + 4 else rate(i) / 100

    found = find_windows(series(rate, again, again, bins=days * 48), step_s=1800, first=20514 * 48)
    assert found.incident == (at, at + 4)
    assert (found.baseline, found.chosen) == ((at - back * 48, at + 4 - back * 48), chosen)


def three_weeks(at: int, off: range) -> list[list[int]]:
    """Half hours of 21 days from Monday 2026-03-02: retries and failures in two hours from `at`, little in `off`."""

    def rate(i: int) -> float:
        return float(1000 * (1 - 0.8 * np.cos(2 * np.pi * i / 48))) * (0.3 if i in off else 1.0)

    def again(i: int) -> float:
        return rate(i) if at <= i < at + 4 else rate(i) / 100

    return series(rate, again, again, bins=21 * 48)


MONDAY_BIN = 20514 * 48
THIRD_MONDAY = 14 * 48 + 20  # 2026-03-16, 10:00


def test_a_day_that_is_not_like_its_weekday_is_no_baseline() -> None:
    # The Monday before, 2026-03-09, has three tenths of a Monday's requests, all day long: the one before it is taken.
    lines = three_weeks(THIRD_MONDAY, range(7 * 48, 8 * 48))
    found = find_windows(lines, step_s=1800, first=MONDAY_BIN)
    assert (found.chosen, found.baseline) == ("same_weekday", (THIRD_MONDAY - 14 * 48, THIRD_MONDAY - 14 * 48 + 4))
    assert found.passed_over == ("2026-03-09 has 30% of its weekday's requests hour by hour, as a holiday",)


def test_a_listed_holiday_is_no_baseline_though_it_looks_like_any_day() -> None:
    found = find_windows(three_weeks(THIRD_MONDAY, range(0)), 1800, MONDAY_BIN, holidays={20514 + 7})
    assert found.baseline[0] == THIRD_MONDAY - 14 * 48
    assert found.passed_over == ("2026-03-09 is listed as a holiday",)


def test_an_incident_on_a_holiday_is_compared_with_the_holiday_before_it() -> None:
    found = find_windows(three_weeks(THIRD_MONDAY, range(0)), 1800, MONDAY_BIN, holidays={20514 + 3, 20514 + 14})
    assert (found.chosen, found.baseline[0]) == ("holiday", THIRD_MONDAY - 11 * 48)


def test_an_incident_on_the_only_holiday_is_compared_with_the_time_before_it() -> None:
    found = find_windows(three_weeks(THIRD_MONDAY, range(0)), 1800, MONDAY_BIN, holidays={20514 + 14})
    assert found.chosen == "before"
    assert found.passed_over == ("the incident's own day is listed as a holiday, and the log holds no other",)


def test_an_incident_of_some_hours_makes_no_day_odd() -> None:
    # The Monday before had an incident too, of two hours; as a day it is like the others.
    lines = three_weeks(THIRD_MONDAY, range(7 * 48 + 20, 7 * 48 + 24))
    assert find_windows(lines, 1800, MONDAY_BIN).passed_over == ()


@pytest.mark.parametrize("level", [[60] * BINS, [0] * BINS, [1, 0] * (BINS // 2), counted(lambda _: 60)])
def test_when_nothing_stands_out_the_two_halves_are_compared(level: list[int]) -> None:
    found = find_windows([level, [0] * BINS, [0] * BINS])
    assert (found.found, found.baseline, found.incident) == (False, (0, 60), (60, 120))


@pytest.mark.parametrize("short", [[5, 5], [0, 9], [7, 0, 3]])
def test_the_shortest_series_have_two_halves_too(short: list[int]) -> None:
    found = find_windows([short, [0] * len(short), [0] * len(short)])
    assert found.baseline == (0, len(short) // 2)
    assert found.incident == (len(short) // 2, len(short))
