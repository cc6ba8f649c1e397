"""How channels use idempotency keys: the habit is read where it shows, and given to the channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from forensics.detect.causes import Setting, explain
from forensics.detect.keys import find_keys, measure_keys
from forensics.detect.ledger import judge_rows


def modes(given: Any, payments: Any) -> tuple[Mapping[str, int], Any]:
    runner = given(payments=payments)
    rows = explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows
    return measure_keys(runner, rows), rows


def order(n: int, *keys: str | None, **cells: Any) -> list[dict[str, Any]]:
    """An order whose effects lie 4 s apart, each with its key, all of one call."""
    ids = {"order_id": f"O{n}", "request_id": f"call-{n}"}
    return [{"at": 100.0 * n + 4 * k, "idempotency_key": key, **ids, **cells} for k, key in enumerate(keys)]


def only(mode: str, orders: int) -> dict[str, int]:
    return {"none": 0, "one_key": 0, "key_per_attempt": 0, "key_reused": 0, mode: orders}


def test_orders_without_a_key(given: Any) -> None:
    found, rows = modes(given, [*order(1, None, None), *order(2, None)])
    assert found == only("none", 2)
    assert [f.title for f in find_keys(found, rows)] == ["No idempotency key was sent"]


def test_one_key_for_every_attempt_of_an_order_is_right(given: Any) -> None:
    found, rows = modes(given, [*order(1, "a", "a"), *order(2, "b")])
    assert found == only("one_key", 2)
    assert find_keys(found, rows) == ()


def test_a_new_key_for_every_attempt_does_nothing_also_where_one_attempt_was_enough(given: Any) -> None:
    found, rows = modes(given, [*order(1, "a", "b", "c"), *order(2, "d")])
    assert found == only("key_per_attempt", 2)
    assert [f.title for f in find_keys(found, rows)] == ["Keys were sent, and did nothing"]


def test_one_key_for_many_orders_is_reused(given: Any) -> None:
    found, _ = modes(given, [*order(1, "same"), *order(2, "same"), *order(3, "same")])
    assert found == only("key_reused", 3)


def test_channels_have_habits_of_their_own(given: Any) -> None:
    # app: four repeats, each with a key of its own; web: four repeats that keep theirs; one lone order each.
    app = [row for n in range(5) for row in order(n, f"a{n}", *([f"b{n}"] if n else []), channel="app")]
    web = [row for n in range(10, 15) for row in order(n, f"c{n}", *([f"c{n}"] if n > 10 else []), channel="web")]
    found, _ = modes(given, [*app, *web])
    assert found == {"none": 0, "one_key": 5, "key_per_attempt": 5, "key_reused": 0}


def test_a_second_click_with_a_new_key_is_no_habit_of_retries(given: Any) -> None:
    clicks = [
        {"at": 100.0 * n + 0.5 * k, "order_id": f"O{n}", "idempotency_key": f"{n}-{k}", "request_id": f"{n}-{k}"}
        for n in range(3)
        for k in range(2)
    ]
    kept = [row for n in range(5, 8) for row in order(n, f"k{n}", f"k{n}")]
    found, _ = modes(given, [*clicks, *kept])
    assert found == only("one_key", 6)


@pytest.mark.parametrize("payments", [[], [{"at": 0.0, "order_id": None, "idempotency_key": "a"}]])
def test_rows_without_an_order_have_no_mode(given: Any, payments: list[dict[str, Any]]) -> None:
    found, rows = modes(given, payments)
    assert not any(found.values())
    assert find_keys(found, rows) == ()
