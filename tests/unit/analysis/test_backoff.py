"""Waits by hand from the formulas, the laws of drawn waits, and gaps drawn from a policy."""

from __future__ import annotations

import numpy as np
import pytest

from forensics.analysis.backoff import Weather, sample_gaps, segment_points, wait_segments, with_schedule
from forensics.analysis.schedules import waits
from forensics.model import Policy


def policy(shape: str, base: float | None, **more: object) -> Policy:
    fields: dict[str, object] = {
        "factor": None, "cap_s": None, "schedule_s": (), "jitter": "none", "jitter_amount": None, "timeout_s": 0.0,
        "max_attempts": None,
    } | more  # fmt: skip
    return Policy(shape=shape, base_s=base, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (policy("none", 0.0), (0, 0, 0, 0)),
        (policy("fixed", 5.0), (5, 5, 5, 5)),
        (policy("linear", 2.0, factor=3.0), (2, 5, 8, 11)),
        (policy("exponential", 1.0, factor=2.0), (1, 2, 4, 8)),
        (policy("exponential", 0.5, factor=3.0, cap_s=4.0), (0.5, 1.5, 4, 4)),
        (policy("polynomial", 1.0, factor=2.0), (1, 4, 9, 16)),
        (policy("schedule", None, schedule_s=(60.0, 300.0)), (60, 300, 300, 300)),
        (policy("exponential", 2.0, factor=2.0, first_wait_s=0.0), (0, 2, 4, 8)),
    ],
)
def test_nominal_waits_follow_the_formula_of_their_shape(given: Policy, expected: tuple[float, ...]) -> None:
    assert waits(given, 4) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("jitter", "amount", "bounds"),
    [
        ("none", None, (4, 4)),
        ("full", None, (0, 4)),
        ("equal", None, (2, 4)),
        ("proportional", 0.25, (3, 5)),
        ("additive", 0.5, (4, 4.5)),
    ],
)
def test_a_drawn_wait_lies_within_the_bounds_of_its_jitter(
    jitter: str, amount: float | None, bounds: tuple[float, float]
) -> None:
    segments = wait_segments(policy("fixed", 4.0, jitter=jitter, jitter_amount=amount), 1)[0]
    assert tuple(segments[0, :2]) == pytest.approx(bounds)


def test_a_multiplier_with_bounds_of_its_own_is_not_symmetrical() -> None:
    segments = wait_segments(
        policy("fixed", 2.0, jitter="proportional", jitter_amount=0.1, jitter_range=(1.0, 1.2)), 1
    )[0]
    assert tuple(segments[0, :2]) == pytest.approx((2.0, 2.4))


def test_the_first_decorrelated_wait_is_even_between_base_and_three_times_base() -> None:
    first, second = wait_segments(policy("decorrelated", 1.0, jitter="decorrelated", cap_s=5.0), 2)
    assert first.tolist() == [[1.0, 3.0, 1.0]]
    assert second[:, 2].sum() == pytest.approx(1.0)
    assert second[:, 1].max() == pytest.approx(5.0)


def test_quantile_middles_of_an_even_wait_are_evenly_spaced() -> None:
    assert segment_points(np.array([[0.0, 4.0, 1.0]]), 4).tolist() == [0.5, 1.5, 2.5, 3.5]


def test_a_lost_reply_adds_the_timeout_and_nothing_else_in_calm_weather() -> None:
    calm = Weather(1.0, 0.0, 0.0, 0.0, latency_s=1e-9, late_share=0.0)
    given = policy("exponential", 1.0, factor=2.0, timeout_s=3.0, max_attempts=4)
    groups = sample_gaps(given, 2, np.random.default_rng(1), calm)
    assert all(gap == pytest.approx(want, abs=2) for g in groups for gap, want in zip(g, (4e6, 5e6, 7e6), strict=True))


def test_an_attempt_that_leaves_no_row_joins_two_gaps_into_one() -> None:
    half_seen = Weather(0.4, 0.0, 0.6, 0.0, latency_s=1e-9, late_share=0.0)
    given = policy("fixed", 1.0, timeout_s=3.0, max_attempts=5)
    gaps = {round(g / 1e6) for group in sample_gaps(given, 200, np.random.default_rng(2), half_seen) for g in group}
    assert gaps == {4, 8, 12, 16}


def test_coarse_stamps_give_gaps_in_whole_steps() -> None:
    given = policy("fixed", 1.0, timeout_s=3.0, max_attempts=3)
    groups = sample_gaps(given, 20, np.random.default_rng(3), resolution_us=1_000_000)
    assert all(gap % 1_000_000 == 0 for group in groups for gap in group)


def test_the_same_seed_draws_the_same_gaps() -> None:
    given = policy("exponential", 1.0, factor=2.0, jitter="full", timeout_s=3.0, max_attempts=4)
    assert sample_gaps(given, 5, np.random.default_rng(7)) == sample_gaps(given, 5, np.random.default_rng(7))


def test_a_written_out_schedule_holds_cap_and_first_wait() -> None:
    given = policy("exponential", 2.0, factor=2.0, cap_s=5.0, first_wait_s=0.0)
    assert with_schedule(given, 4).schedule_s == (0.0, 2.0, 4.0, 5.0)


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="no such shape"):
        waits(policy("fractal", 1.0), 1)
