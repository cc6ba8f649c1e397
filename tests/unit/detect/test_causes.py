"""From clues to causes: the policy is named on gaps that can be a retry's, and doubt stays below the threshold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from forensics.analysis.causes import Clues
from forensics.analysis.match import match_gaps
from forensics.detect.causes import Explained, Setting, explain
from forensics.detect.comparable import comparable_gaps
from forensics.detect.duplicates import REFUND_PROBABILITY, is_refundable, sum_causes
from forensics.detect.ledger import judge_order, judge_rows
from forensics.detect.picture import expected_gaps, gap_picture
from forensics.model import Policy

MILLISECOND = 1000


def explained(given: Any, timeout_s: float | None = None, **tables: Any) -> Explained:
    runner = given(**tables)
    return explain(runner, judge_rows(runner), Setting(MILLISECOND, 1_000_000, timeout_s, None))


def ledger(gaps: Sequence[Sequence[float]], **cells: Any) -> list[dict[str, Any]]:
    """One order for each list of gaps, a minute apart."""
    return [
        {"at": 60.0 * n + sum(waits[:k]), "order_id": f"O{n:04}", **cells}
        for n, waits in enumerate(gaps)
        for k in range(len(waits) + 1)
    ]


def exponential(orders: int, seed: int = 7) -> list[list[float]]:
    """Timeout 3 s and waits of 1, 2, 4 s: gaps of 4, 5, 7 s, some 30 ms late; one to three of them an order."""
    rng = random.Random(seed)  # noqa: S311
    return [[s + rng.uniform(0.0, 0.06) for s in (4.0, 5.0, 7.0)[: rng.choice((1, 2, 3, 3))]] for _ in range(orders)]


def test_a_schedule_is_named_and_its_gaps_are_retries_beyond_doubt(given: Any) -> None:
    found = explained(given, payments=ledger(exponential(40)))
    strongest = found.policies[0].ranked.policy
    assert (strongest.shape, strongest.base_s, strongest.factor, strongest.timeout_s) == ("exponential", 1.0, 2.0, 3.0)
    repeats = [r for r in found.rows if r.role == "excess"]
    assert {r.cause for r in repeats} == {"retry"}
    assert {r.policy for r in repeats} == {"exponential waits of 1, 2, 4 s, no jitter, timeout 3 s"}
    assert all(is_refundable(r) for r in repeats)


@pytest.mark.parametrize("seed", range(3))
def test_gaps_by_chance_name_no_policy(given: Any, seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311
    found = explained(given, payments=ledger([[rng.expovariate(1 / 40)] for _ in range(60)]))
    assert found.match is not None
    assert (found.match.verdict, found.policies) == ("no_policy", ())
    assert {r.policy for r in found.rows} == {None}


def test_a_policy_that_few_gaps_speak_for_ties_nothing(given: Any) -> None:
    # 33.0 s is timeout 30 and wait 3 to the millisecond, and may be so by chance: three gaps are no schedule.
    rows = explained(given, payments=ledger([[4.1], [33.0], [700.0]])).rows
    assert not any(is_refundable(r) for r in rows)


def test_untied_repeats_stay_below_the_refund_threshold(given: Any) -> None:
    # Order and amount are all they share: no instrument, id, key, log or schedule ties the two.
    rows = explained(given, payments=ledger([[4.1], [29.3], [710.6]])).rows
    repeats = [r for r in rows if r.role == "excess"]
    assert len(repeats) == 3
    assert all(r.excess_probability is not None and r.excess_probability < REFUND_PROBABILITY for r in repeats)
    assert not any(is_refundable(r) for r in rows)


@pytest.mark.parametrize(
    "tie", [{"request_id": "r"}, {"idempotency_key": "k"}, {"message_no": "7"}, {"instrument": "****1"}]
)
def test_a_shared_id_key_message_or_instrument_lifts_a_repeat_over_the_threshold(
    given: Any, tie: dict[str, str]
) -> None:
    repeat = explained(given, payments=[{"at": 0.0, **tie}, {"at": 40.0, **tie}]).rows[1]
    assert (repeat.role, is_refundable(repeat)) == ("excess", True)


def test_half_prices_under_two_calls_are_read_as_one_payment_split_in_two(given: Any) -> None:
    usual = [{"at": 5000.0 + n, "order_id": f"S{n}", "amount": Decimal(1000 * (n + 5))} for n in range(30)]
    calls = [{"at": 9000.0 + t, "order_id": "C", "amount": 7000, "request_id": "same"} for t in (0, 4)]
    parts = [{"at": t, "amount": 4500, "request_id": f"r{t}"} for t in (0.0, 4.0)]
    rows = {r.line_no: r for r in explained(given, payments=[*parts, *usual, *calls]).rows if r.order_id == "A"}
    assert (rows[2].role, rows[2].cause, rows[2].excess_probability) == ("legitimate", None, None)
    assert rows[2].why.endswith("; read as a payment split in two or a second act of the order")


def test_a_refunded_repeat_keeps_its_cause_and_is_not_refunded_again(given: Any) -> None:
    rows = [{"at": 0.0}, {"at": 4.0}, {"at": 900.0, "kind": "refund", "amount": -10000}]
    found = explained(given, payments=rows).rows[1]
    assert (found.role, found.cause, is_refundable(found)) == ("refunded", "retry", False)
    assert found.kept_payment_id is None


def test_only_excess_and_refunded_rows_have_a_cause(given: Any) -> None:
    rows = explained(
        given, payments=[*ledger([[4.0], [0.4]]), {"at": 9.0, "order_id": "O0000", "status": "failed"}]
    ).rows
    assert {r.role: r.cause is None for r in rows} == {"kept": True, "excess": False, "not_an_effect": True}


def test_causes_are_summed_by_currency_most_rows_first(given: Any) -> None:
    payments = [*ledger([[4.0], [5.0]]), *({"at": 9000.0 + t, "order_id": "U", "currency": "USD"} for t in (0.0, 4.0))]
    (total,) = sum_causes(explained(given, payments=payments).rows)
    assert (total.cause, total.rows) == ("retry", 3)
    assert total.amount == {"KRW": Decimal(20000), "USD": Decimal(10000)}


def test_no_repeats_have_no_policy_and_no_picture(given: Any) -> None:
    found = explained(given, payments=[{"at": 0.0}])
    assert (found.rows, found.policies, found.match, found.picture) == ((), (), None, None)


def test_the_order_of_the_ledgers_lines_does_not_matter(given: Any) -> None:
    rows = ledger(exponential(12))
    moved = [{**r, "order_id": f"Z{r['order_id']}", "line_no": 1000 - n} for n, r in enumerate(rows)]
    found = explained(given, payments=[*rows, *reversed(moved)]).rows
    verdicts = [(r.order_id.lstrip("Z"), r.created_at, r.role, r.cause, r.confidence) for r in found]
    assert Counter(verdicts) == Counter(dict.fromkeys(verdicts, 2))


# Which gaps are compared ----------------------------------------------------------------------------------------


def known(gap_s: float, **clues: Any) -> Clues:
    return Clues(**{"gap_s": gap_s, "resolution_s": 0.001, "retry_density": None, **clues})


def test_the_gaps_of_one_act_are_one_chain_in_microseconds(row: Any) -> None:
    judged = judge_order([row(0), row(4), row(9)])
    clues = {(1, 4): known(4), (1, 9): known(5)}
    assert [g.gaps_us for g in comparable_gaps(judged, clues)] == [(4_000_000, 5_000_000)]


@pytest.mark.parametrize(
    "against",
    [
        {"attempt": 1},
        {"by_hand": True},
        {"same_call": False},
        {"in_block": True},
        {"two_schedulers": True},
        {"redelivered": True},
        {"published_again": True},
        {"half_odds": 100.0},
        {"previous_lost": False},
    ],
)
def test_a_gap_that_cannot_be_a_retrys_breaks_the_chain(row: Any, against: dict[str, Any]) -> None:
    judged = judge_order([row(0), row(4), row(9), row(16)])
    clues = {(1, 4): known(4), (1, 9): known(5, **against), (1, 16): known(7)}
    assert [g.gaps_us for g in comparable_gaps(judged, clues)] == [(4_000_000,), (7_000_000,)]


def test_copies_of_all_acts_are_compared_only_where_they_are_apart_enough_to_show_a_schedule(row: Any) -> None:
    judged = judge_order([row(0), row(4)])
    gaps = {gap_s: comparable_gaps(judged, {(1, 4): known(gap_s, fanned_out=True)}) for gap_s in (0.1, 0.5)}
    assert [len(found) for found in gaps.values()] == [0, 1]


def test_a_gap_longer_than_half_a_day_is_left_out(row: Any) -> None:
    judged = judge_order([row(0), row(43_201)])
    assert comparable_gaps(judged, {(1, 43_201): known(43_201)}) == []


@pytest.mark.parametrize(("grain_us", "cut"), [(MILLISECOND, 1), (1_000_000, 1_000_000)])
def test_the_fitted_bins_hold_about_as_many_gaps_as_were_seen(grain_us: int, cut: int) -> None:
    groups = [[round(s * 1e6) // cut * cut for s in gaps] for gaps in exponential(60)]
    picture = gap_picture(groups, match_gaps(groups, resolution_us=grain_us), grain_us)
    assert picture is not None
    assert len(picture.fitted) == len(picture.counts)
    assert sum(picture.fitted) == pytest.approx(sum(picture.counts), rel=0.1)
    assert max(abs(r) for r in picture.residuals) < 4


def test_the_expected_gaps_are_timeout_plus_wait() -> None:
    policy = Policy("exponential", 1.0, 2.0, None, (1.0, 2.0, 4.0), "none", None, 3.0, 4)
    assert expected_gaps(policy) == (("1→2", 4.0), ("2→3", 5.0), ("3→4", 7.0))
