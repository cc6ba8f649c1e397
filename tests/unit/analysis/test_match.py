"""The matcher on gaps whose policy is known, on gaps without one, and on mixtures of both."""

from __future__ import annotations

import numpy as np
import pytest

from forensics.analysis.backoff import Weather, sample_gaps
from forensics.analysis.catalogue import load_catalogue
from forensics.analysis.match import density_curve, gap_densities, gap_probability, match_gaps
from forensics.model import MatchResult, Policy

TEXTBOOK = Policy("exponential", 1.0, 2.0, None, (), "none", None, 3.0, 4)


def top(result: MatchResult) -> tuple[str, float | None, float | None, str, float | None]:
    best = result.ranked[0].policy
    return best.shape, best.base_s, best.factor, best.jitter, best.timeout_s


@pytest.mark.parametrize(
    ("groups", "resolution_us"),
    [
        ([[4_000_000, 5_000_000], [4_000_000]], 1_000),
        ([[4_000_000, 5_000_000], [4_000_000]], 1_000_000),
        ([[4_070_000, 4_960_000, 6_920_000]], 1_000),
        ([[4_000_000], [5_100_000], [7_200_000]], 1),
        ([[4_000_000, 5_100_000, 7_200_000]], 1),
    ],
)
def test_three_textbook_gaps_name_timeout_three_and_waits_one_two_four(
    groups: list[list[int]], resolution_us: int
) -> None:
    result = match_gaps(groups, resolution_us=resolution_us)
    assert top(result) == ("exponential", 1.0, 2.0, "none", 3.0)
    assert any("3 gaps cannot tell jitter" in text for text in result.ranked[0].cannot_tell_from)


def test_thirty_groups_at_whole_seconds_name_the_textbook_policy_and_its_products() -> None:
    groups = sample_gaps(TEXTBOOK, 30, np.random.default_rng(0), resolution_us=1_000_000)
    result = match_gaps(groups, resolution_us=1_000_000, catalogue=load_catalogue())
    assert top(result) == ("exponential", 1.0, 2.0, "none", 3.0)
    assert "tenacity-wait-exponential" in result.ranked[0].policy_ids


def test_full_jitter_is_told_from_none_and_equal() -> None:
    policy = Policy("exponential", 2.0, 2.0, None, (), "full", None, 5.0, 5)
    result = match_gaps(sample_gaps(policy, 120, np.random.default_rng(1)))
    assert top(result) == ("exponential", 2.0, 2.0, "full", 5.0)


def test_a_schedule_without_a_formula_is_given_wait_by_wait() -> None:
    policy = Policy("schedule", None, None, None, (5.0, 60.0, 600.0), "none", None, 10.0, 4)
    best = match_gaps(sample_gaps(policy, 80, np.random.default_rng(2))).ranked[0].policy
    assert best.shape == "schedule"
    assert best.schedule_s == pytest.approx((5.0, 60.0, 600.0), rel=0.05)
    assert best.max_attempts == 4


def test_a_known_timeout_is_kept_and_decides_what_a_fixed_wait_alone_cannot() -> None:
    policy = Policy("fixed", 2.0, None, None, (), "none", None, 8.0, 2)
    groups = sample_gaps(policy, 60, np.random.default_rng(3), Weather(fast_share=0, fast_after_row_share=0))
    open_split = match_gaps(groups)
    assert any("only the sum of timeout and wait shows (10 s)" in t for t in open_split.ranked[0].cannot_tell_from)
    known = match_gaps(groups, timeout_s=8.0).ranked[0].policy
    assert (known.timeout_s, known.base_s) == (8.0, pytest.approx(2.0, rel=0.05))


def test_clicks_and_resends_among_the_gaps_are_left_to_something_else() -> None:
    rng = np.random.default_rng(4)
    groups = sample_gaps(TEXTBOOK, 100, rng, Weather(late_share=0.05))
    clicks = [[int(g)] for g in 1e6 * np.exp(rng.normal(-0.2, 0.6, 20))]
    resends = [[int(g)] for g in 1e6 * rng.uniform(300, 7200, 15)]
    result = match_gaps([*groups, *clicks, *resends])
    assert top(result) == ("exponential", 1.0, 2.0, "none", 3.0)
    resp = result.responsibilities
    assert np.mean([r for group in resp[:100] for r in group]) > 0.9
    assert np.mean([r[0] for r in resp[100:]]) < 0.3


@pytest.mark.parametrize("law", ["even", "exponential", "log-normal"])
def test_gaps_of_chance_name_no_policy(law: str) -> None:
    rng = np.random.default_rng(5)
    draw = {
        "even": rng.uniform(0, 100, 120),
        "exponential": rng.exponential(60, 120),
        "log-normal": np.exp(rng.normal(2, 1, 120)),
    }
    result = match_gaps([[int(g * 1e6)] for g in draw[law]])
    assert (result.verdict, result.ranked, result.noise) == ("no_policy", (), None)
    assert result.why.startswith("no retry schedule explains the gaps better than")


@pytest.mark.parametrize("groups", [[], [[]], [[], [4_000_000]]])
def test_fewer_than_two_gaps_name_nothing(groups: list[list[int]]) -> None:
    result = match_gaps(groups)
    assert result.verdict == "no_policy"
    assert "cannot show a schedule" in result.why
    assert [len(r) for r in result.responsibilities] == [len(g) for g in groups]


def test_responsibilities_have_the_shape_of_the_gaps_even_in_long_groups() -> None:
    groups = [[4_000_000] * 23, [], [4_010_000]]
    assert [len(r) for r in match_gaps(groups).responsibilities] == [23, 0, 1]


def test_the_order_of_groups_changes_nothing() -> None:
    groups = sample_gaps(TEXTBOOK, 40, np.random.default_rng(6))
    assert match_gaps(groups).ranked == match_gaps(groups[::-1]).ranked


def test_a_curve_integrates_to_the_share_of_gaps_in_its_range() -> None:
    fit = match_gaps(sample_gaps(TEXTBOOK, 60, np.random.default_rng(7))).fits[0]
    curve = density_curve(fit, 1, 60.0, 6000)
    assert curve.total.sum() * 0.01 == pytest.approx(1.0, abs=0.06)
    assert {(i, j) for i, j, _ in curve.pairs} >= {(1, 2), (2, 3)}
    assert curve.gaps_s[int(curve.total.argmax())] == pytest.approx(4.0, abs=0.15)


def test_a_gap_on_the_schedule_is_likelier_than_one_beside_it() -> None:
    fit = match_gaps(sample_gaps(TEXTBOOK, 60, np.random.default_rng(8))).fits[0]
    on, beside = gap_densities(fit, (4_000_000, 6_000_000))
    assert on > 5 * beside
    assert gap_probability(fit, 4_000_000) == pytest.approx(on)
