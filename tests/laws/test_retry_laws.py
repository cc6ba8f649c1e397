"""Laws of retries through hops and in waves: what is planted is found, whatever its size."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics.analysis.herd import Moves, find_burst, measure_waves
from forensics.analysis.layers import CallCounts, measure_tries

QUICK = settings(max_examples=40, deadline=None)
STEP_S = 0.05


def play(tries: tuple[int, ...], fails: int) -> tuple[list[int], list[int], bool, int]:
    """Requests and failures at each hop for one call whose first `fails` requests at the last hop fail."""
    requests, failures = [0] * (len(tries) + 1), [0] * (len(tries) + 1)

    def ask(depth: int, left: int) -> tuple[bool, int]:
        requests[depth] += 1
        if depth == len(tries):
            failures[depth] += left > 0
            return left <= 0, left - 1
        for _ in range(tries[depth]):
            done, left = ask(depth + 1, left)
            if done:
                return True, left
        failures[depth] += 1
        return False, left

    done, left = ask(0, fails)
    return requests, failures, done, left


@QUICK
@given(st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple), st.randoms(use_true_random=False))
def test_a_planted_product_is_found(tries: tuple[int, ...], random: np.random.Generator) -> None:
    product = int(np.prod(tries))
    fails = [0] * 30 + [product] * 10 + [random.randint(0, product) for _ in range(30)]  # type: ignore[attr-defined]
    calls = [play(tries, n) for n in fails]
    found = []
    for hop in range(len(tries)):
        seen = Counter((q[hop], f[hop], q[hop + 1], f[hop + 1]) for q, f, _, _ in calls)
        measured = measure_tries([CallCounts(*counts, n) for counts, n in sorted(seen.items())])
        assert measured is not None
        found.append(measured.number)
    assert tuple(found) == tries


@QUICK
@given(
    waits=st.lists(st.floats(0.5, 20.0), min_size=2, max_size=5),
    clients=st.integers(40, 400),
    cut_s=st.floats(0.0, 0.2),
    seed=st.integers(0, 2**32 - 1),
    jittered=st.booleans(),
)
def test_jittered_and_unjittered_outages_are_told_apart(
    waits: list[float], clients: int, cut_s: float, seed: int, jittered: bool
) -> None:
    random = np.random.default_rng(seed)
    ended = 100 + random.uniform(0, cut_s, clients)
    burst = find_burst(Counter(np.floor(ended).astype(int).tolist()))
    assert burst is not None
    rows: Counter[tuple[int, int, int]] = Counter()
    for attempt, wait in enumerate(waits, 2):
        started = ended + (random.uniform(0, wait, clients) if jittered else wait)
        steps = (np.floor((at - burst.start) / STEP_S).astype(int).tolist() for at in (ended, started))
        rows.update((attempt, *pair) for pair in zip(*steps, strict=True))
        ended = started + random.exponential(0.02, clients)
    attempt_no, before, after, retries = np.array([(*row, n) for row, n in sorted(rows.items())], dtype=np.int64).T
    waves = measure_waves(Moves(attempt_no, before, after, retries, STEP_S, 0.001))
    assert waves is not None
    assert (waves.probability > 0.5) == (not jittered)
