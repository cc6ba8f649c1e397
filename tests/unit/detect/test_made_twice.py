"""All acts made k times by our own code, or by two schedulers: the clue on each repeat, and the finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from forensics.detect.causes import Setting, explain
from forensics.detect.clues import collect_clues
from forensics.detect.ledger import judge_rows
from forensics.detect.made_twice import find_made_twice
from forensics.model import BusinessKey, Finding

MILLISECOND = 1000
KEY = BusinessKey(("order_id",), False, "", (), (), None)


def doubled(orders: Sequence[int], gap_s: float = 0.02, **cells: Any) -> list[dict[str, Any]]:
    """Orders a minute apart, each paid twice."""
    return [{"at": 60.0 * n + t, "order_id": f"O{n}", **cells} for n in orders for t in (0.0, gap_s)]


def paid(orders: Sequence[int], **cells: Any) -> list[dict[str, Any]]:
    return [{"at": 60.0 * n, "order_id": f"O{n}", **cells} for n in orders]


def by_cron(nights: int = 4, second: str = "host-b") -> list[dict[str, Any]]:
    """Four orders a night, paid by one host and again, 47 s later, by the other."""
    return [
        {"at": 86_400.0 * night + n + 47.0 * k, "order_id": f"N{night}-{n}", "sender": sender}
        for night in range(nights)
        for n in range(4)
        for k, sender in enumerate(("host-a", second))
    ]


def clues_of(given: Any, payments: list[dict[str, Any]]) -> list[tuple[bool, bool]]:
    runner = given(payments=payments)
    found = collect_clues(runner, judge_rows(runner), MILLISECOND, MILLISECOND)
    return [(clues.fanned_out, clues.two_schedulers) for clues in found.values()]


def findings(given: Any, payments: list[dict[str, Any]]) -> tuple[Finding, ...]:
    runner = given(payments=payments)
    rows = explain(runner, judge_rows(runner), Setting(MILLISECOND, 1_000_000, None, None)).rows
    return find_made_twice(runner, rows, KEY)


def test_repeats_of_a_time_when_every_order_was_paid_twice_bear_the_clue(given: Any) -> None:
    assert clues_of(given, [*paid(range(12)), *doubled(range(12, 24))]) == [(True, False)] * 12


def test_a_channel_of_its_own_is_seen_among_the_others(given: Any) -> None:
    web = paid(range(100, 160, 2), channel="web")
    assert clues_of(given, [*web, *doubled(range(101, 141, 2), channel="renewal")]) == [(True, False)] * 20


def test_a_file_of_nothing_but_duplicates_says_so_only_of_copies_of_one_moment(given: Any) -> None:
    assert clues_of(given, doubled(range(12), gap_s=1.0)) == [(False, False)] * 12


def test_and_of_copies_of_one_moment_it_does(given: Any) -> None:
    assert clues_of(given, doubled(range(12))) == [(True, False)] * 12


def test_every_second_order_paid_twice_is_no_fan_out(given: Any) -> None:
    payments = [*paid(range(0, 40, 2)), *doubled(range(1, 40, 2))]
    assert clues_of(given, payments) == [(False, False)] * 20


@pytest.mark.parametrize(("second", "clue"), [("host-b", True), ("host-a", False)])
def test_two_hosts_at_one_offset_bear_the_clue_and_one_host_does_not(given: Any, second: str, clue: bool) -> None:
    assert clues_of(given, by_cron(second=second)) == [(False, clue)] * 16


def test_the_finding_tells_of_whom_since_when_and_how_many(given: Any) -> None:
    (found,) = findings(given, [*paid(range(12)), *doubled(range(12, 24))])
    assert found.rule == "duplicates/fan_out"
    assert found.title == "Nearly every order took effect more than once, at once"
    assert found.why == ("12 of 12 orders took effect 2 times at once, 2026-11-30 12:12 to 2026-11-30 12:24 UTC",)
    assert (found.evidence_total, found.query) == (12, "duplicates/acts_by_multiplicity")


def test_the_channel_is_named_where_only_its_orders_are_doubled(given: Any) -> None:
    web = paid(range(100, 160, 2), channel="web")
    (found,) = findings(given, [*web, *doubled(range(101, 141, 2), channel="renewal")])
    assert found.title == "Nearly every order of channel renewal took effect more than once, at once"


def test_the_two_creators_and_their_offset_are_named(given: Any) -> None:
    (found,) = findings(given, by_cron())
    assert found.rule == "duplicates/two_schedulers"
    assert found.why == ("sender host-b made 16 orders about 47.5 s after host-a",)


def test_retries_make_no_such_finding(given: Any) -> None:
    assert findings(given, [*paid(range(0, 40, 2)), *doubled(range(1, 40, 2), gap_s=4.0)]) == ()
