"""At-least-once delivery: what came back, after how long, and what was paid again for it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from forensics.detect.deliveries import find_deliveries, measure_deliveries
from forensics.model import Deliveries

NOON = datetime(2026, 11, 30, 12)  # noqa: DTZ001  what a TIMESTAMP column takes


def measured(given: Any, deliveries: Any, payments: Any = ()) -> Deliveries:
    found = measure_deliveries(given(deliveries=deliveries, payments=payments))
    assert isinstance(found, Deliveries)
    return found


def message(n: int, *times: float, handled_s: float | None = None) -> list[dict[str, Any]]:
    """Deliveries of one message about an act of its own, the first acknowledged after so long."""
    rows = [{"at": 100.0 * n + t, "message_id": f"m{n}", "business_key": f"O{n}"} for t in times]
    if handled_s is not None:
        rows[0]["acked_at"] = NOON + timedelta(seconds=100.0 * n + handled_s)
    return rows


def paid(n: int, times: int) -> list[dict[str, Any]]:
    return [{"at": 100.0 * n + 3 * k, "order_id": f"O{n}"} for k in range(times)]


def test_messages_that_came_back_and_what_was_paid_for_it(given: Any) -> None:
    # Of three messages one came back twice and was paid three times, one came back and was paid once.
    deliveries = [*message(1, 0, 10, 20), *message(2, 0, 10), *message(3, 0)]
    found = measured(given, deliveries, [*paid(1, 3), *paid(2, 1), *paid(3, 1)])
    assert (found.deliveries, found.messages, found.again, found.most_times) == (6, 3, 2, 3)
    assert (found.acts_paid_again, found.effects_too_many) == (1, 2)
    (finding,) = find_deliveries(found)
    assert finding.severity == "high"
    assert finding.statement.startswith("2 of 3 messages (66.7%) were delivered more than once, the most often 3 times")
    assert [e.line_no for e in finding.evidence] == [2, 3, 5]


def test_two_messages_about_one_act_are_two_reasons_to_pay(given: Any) -> None:
    rows = [{"at": t, "message_id": name, "business_key": "O1"} for name, t in (("a", 0), ("b", 5), ("b", 15))]
    found = measured(given, rows, paid(1, 3))
    assert (found.acts_paid_again, found.effects_too_many) == (1, 1)  # three effects of two messages


def test_without_a_ledger_nobody_can_tell_what_was_paid(given: Any) -> None:
    (finding,) = find_deliveries(measured(given, message(1, 0, 10)))
    assert "cannot be told without a ledger" in finding.statement


def test_each_message_once_is_no_finding(given: Any) -> None:
    assert find_deliveries(measured(given, [*message(1, 0), *message(2, 0)])) == ()


def test_no_delivery_is_no_answer(given: Any) -> None:
    assert measure_deliveries(given(deliveries=[])) == "the tables of deliveries hold no row"


@pytest.mark.parametrize(
    ("returns", "timeout"),
    [
        ([10.0, 10.1, 10.2, 9.9, 10.0, 2.0], 10.0),  # five of six within a tenth
        ([10.0, 25.0, 3.0, 50.0, 1.5, 80.0], None),
        ([0.09, 0.1, 0.1, 0.09, 0.1, 0.1], None),  # given back at once by a consumer that died
        ([10.0, 10.0, 10.0, 10.0], None),  # too few
    ],
    ids=["one wait", "no common wait", "at once", "too few"],
)
def test_a_wait_that_most_returns_share_is_a_visibility_timeout(
    given: Any, returns: list[float], timeout: float | None
) -> None:
    rows = [row for n, wait in enumerate(returns) for row in message(n, 0, wait)]
    found = measured(given, rows).visibility_timeout_s
    assert found == (None if timeout is None else pytest.approx(timeout, abs=0.1))


@pytest.mark.parametrize(("handled_s", "over"), [(12.0, 5), (4.0, 0)])
def test_work_that_outlasts_the_timeout_is_told(given: Any, handled_s: float, over: int) -> None:
    rows = [row for n in range(5) for row in message(n, 0, 10, handled_s=handled_s)]
    found = measured(given, rows)
    assert found.over_timeout == over
    assert [f.id for f in find_deliveries(found)] == [
        "delivered-again",
        *(["visibility-timeout-short"] if over else []),
    ]
