"""Bounds hold: generated traffic whose share of retries is known, at any coverage by the attempt header.

Every seed draws its own schedule, timeout, failures, growth and crowding of addresses; nothing is fitted to them.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from forensics.detect.traffic import measure_traffic

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
BASELINE = (NOON, NOON + timedelta(minutes=10))
INCIDENT = (NOON + timedelta(minutes=10), NOON + timedelta(minutes=20))
SEEDS = range(6)


class Crowd:
    """People who call, and clients that try again for them by one schedule."""

    def __init__(self, seed: int, coverage: float) -> None:
        self.rng = np.random.default_rng(seed)
        self.coverage = coverage
        self.base_s = self.rng.uniform(0.3, 3.0)
        self.factor = self.rng.choice([1.0, 1.5, 2.0, 3.0])
        self.timeout_s = self.rng.uniform(1.5, 8.0)
        self.most = int(self.rng.integers(2, 7))
        self.jitter = self.rng.uniform(0.0, 1.0)
        self.presses_again = self.rng.uniform(0.0, 0.3)
        self.addresses = int(self.rng.integers(400, 4000))
        self.lines: list[dict[str, Any]] = []

    def come(self, since_s: float, until_s: float, per_s: float, fails: float) -> None:
        """Calls of people between two times, of which each attempt fails with a probability."""
        for at in self.rng.uniform(since_s, until_s, self.rng.poisson(per_s * (until_s - since_s))):
            self._call(float(at), fails, f"10.0.0.{self.rng.integers(self.addresses)}")

    def _call(self, at: float, fails: float, client: str) -> None:
        says = self.rng.random() < self.coverage
        for attempt in range(1, self.most + 1):
            failed, late = self.rng.random() < fails, self.rng.random() < 0.5
            took = self.timeout_s if failed and late else self.rng.uniform(0.02, 0.3)
            status = 201 if not failed else 499 if late else 503
            line = {"at": at, "client": client, "status": status, "duration_us": int(took * 1e6), "truth": attempt}
            self.lines.append(line | ({"attempt": attempt} if says else {}))
            if not failed:
                return
            wait = self.base_s * self.factor ** (attempt - 1)
            at += took + wait * (1 - self.jitter * self.rng.random())
        if self.rng.random() < self.presses_again:
            self._call(at + self.rng.uniform(3, 20), fails, client)

    def measured(self, given: Any) -> Any:
        """What is made of it, the two windows being known."""
        shown = [{k: v for k, v in line.items() if k != "truth"} for line in self.lines]
        answer = measure_traffic(given(requests=shown), incident=INCIDENT, baseline=BASELINE)
        assert answer is not None
        return answer.traffic

    def share(self) -> float:
        """The true share of retries among the incident's requests."""
        inside = [line["truth"] for line in self.lines if 600 <= line["at"] < 1200]
        return sum(n > 1 for n in inside) / len(inside)


@pytest.mark.parametrize("coverage", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_bounds_contain_the_share_of_retries(given: Any, seed: int, coverage: float) -> None:
    crowd = Crowd(seed, coverage)
    crowd.come(0, 600, 2.0, 0.01)
    crowd.come(600, 1200, 2.0 * crowd.rng.uniform(0.7, 3.0), crowd.rng.uniform(0.05, 0.7))
    traffic = crowd.measured(given)
    assert traffic.retry_share_low <= crowd.share() + 1e-4
    assert traffic.retry_share_high >= crowd.share() - 1e-4
    assert traffic.header_coverage == pytest.approx(coverage, abs=0.05)


@pytest.mark.parametrize("coverage", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_people_who_come_are_never_called_retries(given: Any, seed: int, coverage: float) -> None:
    crowd = Crowd(seed, coverage)
    crowd.come(0, 600, 2.0, 0.01)
    crowd.come(600, 1200, 2.0 * crowd.rng.uniform(1.8, 4.0), 0.02)
    assert crowd.measured(given).verdict in ("users", "cannot_tell")


@pytest.mark.parametrize("coverage", [0.0, 0.3, 0.6, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_clients_that_try_again_are_never_called_people(given: Any, seed: int, coverage: float) -> None:
    crowd = Crowd(seed, coverage)
    crowd.most = max(4, crowd.most)
    crowd.come(0, 600, 2.0, 0.01)
    crowd.come(600, 1200, 2.0, crowd.rng.uniform(0.6, 0.8))
    assert crowd.measured(given).verdict in ("retries", "both", "cannot_tell")
