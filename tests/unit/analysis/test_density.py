"""Densities of gaps: they are densities, and they sit where sums of waits and timeouts say."""

from __future__ import annotations

import numpy as np
import pytest

from forensics.analysis import density, noise
from forensics.analysis.others import other_density
from forensics.model import Policy

GRID_S = np.arange(0.0005, 60, 0.001)


def policy(shape: str, base: float, jitter: str, timeout: float) -> Policy:
    return Policy(shape, base, 2.0, None, (), jitter, None, timeout, None)


def table(resolution_s: float = 1e-6) -> tuple[noise.NoiseTable, np.ndarray]:
    made = noise.noise_table(*noise.scatter_parts(2.0, resolution_s), resolution_s)
    return made, noise.start_weights(made.kinds, made.scales_s)


def test_first_weights_of_the_scatter_sum_to_one() -> None:
    assert table()[1].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("jitter", ["none", "full", "equal", "decorrelated"])
def test_every_component_integrates_to_one(jitter: str) -> None:
    made, weights = table()
    shape = "decorrelated" if jitter == "decorrelated" else "exponential"
    parts = density.components_of(policy(shape, 2.0, jitter, 8.0), 3)
    dens = density.component_densities(parts, made.grid_s, made.mixed(weights), GRID_S)
    far = parts.timeouts > 0  # gaps without a timeout may scatter below 0
    assert dens[far].sum(axis=1) * 0.001 == pytest.approx(np.ones(far.sum()), abs=0.01)


def test_whole_second_stamps_spread_a_gap_over_two_seconds_in_proportion() -> None:
    """A gap of 3.25 s shows as 3 in three cases of four and as 4 in one."""
    scales = np.array([0.06])
    made = noise.noise_table(("around",), scales, 1.0)
    parts = density.components_of(policy("fixed", 3.25, "none", 0.0), 2)
    dens = density.component_densities(parts, made.grid_s, made.cdf[0], np.array([2.0, 3.0, 4.0, 5.0]))
    assert dens[0] == pytest.approx([0.0, 0.75, 0.25, 0.0], abs=0.03)


def test_a_lost_reply_in_between_adds_a_timeout_and_a_fast_failure_does_not() -> None:
    """Timeout 3 s, waits 1 and 2 s: rows of attempts 1 and 3 are 9 s apart, or 6 s, or 3 s without a timeout."""
    parts = density.components_of(policy("exponential", 1.0, "none", 3.0), 3)
    skipping = (parts.i == 0) & (parts.j == 2)
    assert parts.low_s[skipping].tolist() == [3.0, 6.0, 9.0]
    assert parts.timeouts[skipping].tolist() == [0, 1, 2]


def test_moves_out_of_an_attempt_are_a_probability_law() -> None:
    parts = density.components_of(policy("exponential", 1.0, "full", 3.0), 6)
    weights = density.component_weights(parts, 0.8, 0.1, 0.4)
    for i in range(5):
        assert weights[parts.i == i].sum() == pytest.approx(1.0)


def test_densities_for_many_laws_equal_those_for_each() -> None:
    made, _ = table()
    parts = density.components_of(policy("exponential", 1.0, "equal", 3.0), 4)
    gaps = np.array([0.4, 3.9, 4.4, 11.0])
    together = density.component_densities_each(parts, made.grid_s, made.cdf, gaps)
    for row, cdf in zip(together, made.cdf, strict=True):
        assert row == pytest.approx(density.component_densities(parts, made.grid_s, cdf, gaps), abs=1e-9)


def test_something_else_is_a_density_over_thirty_days() -> None:
    gaps = np.geomspace(1e-4, 2.6e6, 40_000)
    assert np.trapezoid(other_density(gaps, 1e-6), gaps) == pytest.approx(1.0, abs=0.05)


def test_whole_second_stamps_keep_the_mass_of_something_else() -> None:
    """Half are clicks; of the other half ln(20 000 / 0.25) / ln(2.6e6 / 0.25) = 70 % lie below 20 000 s."""
    assert other_density(np.arange(0.0, 20_000.0), 1.0).sum() == pytest.approx(0.85, abs=0.1)
