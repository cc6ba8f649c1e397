"""Where the incident is in counts over time: planted steps are found, and what is no step is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from forensics.analysis.windows import find_windows

BINS = 120


def counted(rate: Callable[[int], float], seed: int = 1, bins: int = BINS) -> list[int]:
    """Poisson counts about a rate per bin; seeded, so the same everywhere."""
    rng = np.random.default_rng(seed)
    return [int(n) for n in rng.poisson([rate(i) for i in range(bins)])]


def step(i: int) -> float:
    return 180.0 if 50 <= i < 70 else 60.0


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_step_is_found_within_a_bin_and_compared_with_as_much_time_before_it(seed: int) -> None:
    found = find_windows([counted(step, seed)])
    start, end = found.incident
    assert found.found
    assert abs(start - 50) <= 1
    assert abs(end - 70) <= 1
    assert found.baseline == (start - (end - start), start)


def test_a_step_is_found_in_the_series_that_shows_it_though_the_other_stays_level() -> None:
    found = find_windows([counted(lambda _: 60), counted(lambda i: 120 if 50 <= i < 70 else 1, seed=2)])
    assert found.incident == (50, 70)


def test_an_incident_that_lasts_to_the_end_of_the_log_is_found() -> None:
    found = find_windows([counted(lambda i: 180 if i >= 90 else 60)])
    assert found.found
    assert found.incident == (90, BINS)


def test_an_incident_near_the_start_has_the_little_time_there_is_for_a_baseline() -> None:
    found = find_windows([counted(lambda i: 180 if 10 <= i < 40 else 60)])
    assert found.incident == (10, 40)
    assert found.baseline == (0, 10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [1, 10, 100])
def test_the_slope_of_a_day_is_no_incident_in_a_log_of_some_hours(level: int, seed: int) -> None:
    # Two hours in minutes, on the morning slope of a day that swings by half about its mean: +50 %, never a jump.
    morning = counted(lambda i: level * (1 - 0.5 * np.cos(2 * np.pi * (360 + i) / 1440)), seed)
    assert not find_windows([morning]).found


def test_an_incident_in_the_slope_of_a_day_is_found() -> None:
    def rate(i: int) -> float:
        return float(100 - 80 * np.cos(2 * np.pi * i / 144)) * (3 if 60 <= i < 72 else 1)

    start, end = find_windows([counted(rate, bins=288)]).incident
    assert abs(start - 60) <= 1
    assert abs(end - 72) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_the_recovery_tail_stays_out_of_the_incident(seed: int) -> None:
    def rate(i: int) -> float:
        return 400.0 if 40 <= i < 60 else 100 + (100 * 0.9 ** (i - 60) if i >= 60 else 0)

    start, end = find_windows([counted(rate, seed)]).incident
    assert abs(start - 40) <= 1
    assert abs(end - 60) <= 1


@pytest.mark.parametrize("series", [[60] * BINS, [0] * BINS, [1, 0] * (BINS // 2), counted(lambda _: 60)])
def test_when_nothing_stands_out_the_two_halves_are_compared(series: list[int]) -> None:
    found = find_windows([series])
    assert (found.found, found.baseline, found.incident) == (False, (0, 60), (60, 120))


@pytest.mark.parametrize("series", [[5, 5], [0, 9], [7, 0, 3]])
def test_the_shortest_series_have_two_halves_too(series: list[int]) -> None:
    found = find_windows([series])
    assert found.baseline == (0, len(series) // 2)
    assert found.incident == (len(series) // 2, len(series))
