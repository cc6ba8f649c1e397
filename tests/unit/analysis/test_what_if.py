"""The model of other ways to retry: its sums by hand, and never more requests than there were."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from forensics.analysis.what_if import Load, suppose
from forensics.model import Supposed

CALM, STORM = Load(100, 0, 0), Load(100, 300, 380)


def supposed(steps: list[Load], one_layer: float | None = None, jitter: float | None = None) -> dict[str, Supposed]:
    return {s.name: s for s in suppose(steps, one_layer, jitter)}


def test_a_budget_allows_its_share_of_the_first_attempts() -> None:
    found = supposed([CALM, STORM, STORM])
    assert (found["as_seen"].requests, found["as_seen"].peak) == (900, 400)
    assert found["no_retries"].requests == 300
    assert (found["budget_10"].requests, found["budget_10"].peak) == (100 + 110 + 110, 110)
    assert found["budget_20"].requests == 100 + 120 + 120


def test_a_breaker_lets_one_in_twenty_through_after_a_step_that_failed() -> None:
    # It opens after the first storm: 400, then a twentieth of 400 twice, then closes after the calm step that passes 5.
    found = supposed([STORM, STORM, STORM, CALM, CALM])
    assert found["breaker"].requests == 400 + 20 + 20 + 5 + 100


def test_a_breaker_does_not_open_for_a_handful() -> None:
    assert supposed([Load(10, 5, 15), Load(10, 5, 15)])["breaker"].requests == 30


def test_with_one_layer_the_tries_of_the_others_are_divided_out() -> None:
    # Three hops of 4 tries: 64 requests for each of 10 first attempts. One hop's 4 are a sixteenth: 40.
    assert supposed([Load(10, 630, 600)], one_layer=4 / 64)["one_layer"].requests == 40


def test_first_attempts_are_never_divided_away() -> None:
    assert supposed([CALM], one_layer=4 / 64)["one_layer"].requests == 100


def test_full_jitter_brings_all_retries_but_not_together() -> None:
    found = supposed([CALM, STORM], jitter=0.25)["full_jitter"]
    assert (found.requests, found.peak) == (500, 100 + 75)


def test_what_the_evidence_does_not_know_is_left_out() -> None:
    assert not {"one_layer", "full_jitter"} & supposed([STORM]).keys()


LOADS = st.lists(
    st.builds(lambda f, r, x: Load(f, r, int(x * (f + r))), st.integers(0, 99), st.integers(0, 99), st.floats(0, 1))
)


@given(LOADS)
def test_no_other_way_brings_more_requests(steps: list[Load]) -> None:
    found = supposed(steps, 0.5, 0.5)
    assert all(s.requests <= found["as_seen"].requests for s in found.values())
