"""Bursts, and waves of retries in step or not: small arrays made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from forensics.analysis.herd import Moves, find_burst, full_jitter, measure_waves


def moves(*rows: tuple[int, int, int, int], step_s: float = 0.1, blur_s: float = 0.001) -> Moves:
    attempt, ended, started, retries = np.array(rows, dtype=np.int64).T
    return Moves(attempt, ended, started, retries, step_s, blur_s)


def test_calls_that_end_in_one_second_are_a_burst() -> None:
    steady = dict.fromkeys(range(100), 2)
    burst = find_burst({**steady, 50: 40})
    assert burst is not None
    assert (burst.start, burst.end, burst.calls, burst.beside) == (50, 51, 40, 2.0)


def test_a_burst_that_the_clock_cut_in_two_is_whole() -> None:
    burst = find_burst({50: 60, 51: 50})
    assert burst is not None
    assert (burst.start, burst.end, burst.calls) == (50, 52, 110)


@pytest.mark.parametrize(
    "ended",
    [
        {},
        {50: 19},
        dict.fromkeys(range(100), 30),
        {**dict.fromkeys(range(50), 1), **dict.fromkeys(range(50, 100), 40)},
        dict.fromkeys(range(50, 65), 40),
    ],
    ids=["nothing", "too few", "steady", "the onset of a long outage", "an outage of a quarter of a minute"],
)
def test_there_is_no_burst(ended: dict[int, int]) -> None:
    assert find_burst(ended) is None


def test_waves_after_the_same_wait_are_in_step() -> None:
    # All end in step 0 and come back after 1 s, end again 0.1 s later and come back after 2 s.
    waves = measure_waves(moves((2, 0, 10, 30), (3, 11, 31, 30)))
    assert waves is not None
    assert waves.share_in_step == 1.0
    assert waves.probability > 0.99
    assert waves.offsets_s == pytest.approx((1.0, 3.1))
    assert waves.waits_s == pytest.approx((1.0, 2.0))
    assert waves.widths_s == (0.0, 0.0)


def test_waits_spread_evenly_from_zero_are_not_in_step() -> None:
    waves = measure_waves(moves(*((2, 0, k, 2) for k in range(41))))
    assert waves is not None
    assert waves.share_in_step is not None
    assert waves.share_in_step < 0.1
    assert waves.probability < 0.05


def test_waits_spread_over_the_upper_half_are_not_in_step() -> None:
    waves = measure_waves(moves(*((2, 0, k, 2) for k in range(20, 41))))
    assert waves is not None
    assert waves.probability < 0.05


def test_waits_below_the_clock_say_nothing() -> None:
    waves = measure_waves(moves((2, 0, 5, 30), (3, 6, 10, 30), blur_s=1.0))
    assert waves is not None
    assert (waves.share_in_step, waves.probability > 0.5) == (None, False)


def test_a_handful_of_retries_is_no_wave() -> None:
    assert measure_waves(moves((2, 0, 10, 4))) is None


def test_full_jitter_spreads_each_wave_over_its_wait() -> None:
    seen = moves((2, 0, 4, 50), (3, 4, 12, 50))
    waves = measure_waves(seen)
    assert waves is not None
    expected = full_jitter(seen, waves, 20)
    assert expected[0, :6] == pytest.approx([10, 10, 10, 10, 10, 0])  # 50 retries, evenly over steps 0 to 4
    assert expected[1, 0] == pytest.approx(50 / 5 / 9)  # of the fifth that came in step 0, a ninth comes again at once
    assert expected.sum(axis=1) == pytest.approx([50, 50])
