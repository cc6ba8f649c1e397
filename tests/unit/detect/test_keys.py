"""How senders use idempotency keys: the habit is read where it shows, and given to the sender."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from forensics.detect.causes import Setting, explain
from forensics.detect.key_findings import find_conflicts, find_keys, find_swallowed
from forensics.detect.keys import measure_keys
from forensics.detect.ledger import judge_rows
from forensics.model import KEY_MODES, KeyHabit, KeyUse

NO_AGES: Mapping[str, int | None] = {
    "honoured": 0,
    "longest_honoured_us": None,
    "forgotten": 0,
    "shortest_forgotten_us": None,
    "longest_forgotten_us": None,
}
HOUR_US = 3_600_000_000


def use(given: Any, payments: Any, **logs: Any) -> KeyUse:
    runner = given(payments=payments, **logs)
    rows = explain(runner, judge_rows(runner), Setting(1000, 1000, None, None)).rows
    return measure_keys(runner, rows)


def titles(found: KeyUse) -> list[str]:
    return [f.title for f in find_keys(found, NO_AGES)]


def order(n: int, *keys: str | None, **cells: Any) -> list[dict[str, Any]]:
    """An order whose effects lie 4 s apart, each with its key, all of one call."""
    ids = {"order_id": f"O{n}", "request_id": f"call-{n}"}
    return [{"at": 100.0 * n + 4 * k, "idempotency_key": key, **ids, **cells} for k, key in enumerate(keys)]


def only(mode: str, orders: int) -> dict[str, int]:
    return {**dict.fromkeys(KEY_MODES, 0), mode: orders}


def test_orders_without_a_key(given: Any) -> None:
    found = use(given, [*order(1, None, None), *order(2, None)])
    assert found.modes == only("none", 2)
    assert titles(found) == ["No idempotency key was sent"]


def test_one_key_for_every_attempt_of_an_order_is_right(given: Any) -> None:
    found = use(given, [*order(1, "a", "a"), *order(2, "b")])
    assert found.modes == only("one_key", 2)
    assert titles(found) == []


def test_a_new_key_for_every_attempt_does_nothing_also_where_one_attempt_was_enough(given: Any) -> None:
    found = use(given, [*order(1, "a", "b", "c"), *order(2, "d")])
    assert found.modes == only("key_per_attempt", 2)
    assert titles(found) == ["Keys were sent, and did nothing"]


def test_what_one_key_per_act_would_have_left_is_said(given: Any) -> None:
    # Four orders, seven payments of 10,000: three orders were paid twice, one once.
    payments = [*order(1, "a", "b"), *order(2, "c", "d"), *order(3, "e", "f"), *order(4, "g")]
    (finding,) = find_keys(use(given, payments), NO_AGES)
    assert finding.statement.endswith("there would be 4 payments instead of 7, and 30,000 KRW less.")
    assert (finding.numbers["payments"], finding.numbers["payments_with_one_key_per_act"]) == (7, 4)


def test_one_key_for_many_orders_is_reused(given: Any) -> None:
    found = use(given, [*order(1, "same"), *order(2, "same"), *order(3, "same")])
    assert found.modes == only("key_reused", 3)
    assert titles(found) == ["One key stands for several orders"]


def test_channels_have_habits_of_their_own(given: Any) -> None:
    # app: four repeats, each with a key of its own; web: four repeats that keep theirs; one lone order each.
    app = [row for n in range(5) for row in order(n, f"a{n}", *([f"b{n}"] if n else []), channel="app")]
    web = [row for n in range(10, 15) for row in order(n, f"c{n}", *([f"c{n}"] if n > 10 else []), channel="web")]
    found = use(given, [*app, *web])
    assert found.modes == {**only("one_key", 5), "key_per_attempt": 5}
    assert [(h.channel, h.mode, h.orders, h.acts_with_excess) for h in found.habits] == [
        ("app", "key_per_attempt", 5, 4),
        ("web", "one_key", 5, 4),
    ]


def test_a_finding_speaks_of_the_senders_that_have_the_habit_and_of_their_money(given: Any) -> None:
    """app renews its key (one order, paid twice); web sends none (one order paid three times, one once)."""
    app = [row for n in range(3) for row in order(n, f"a{n}", f"b{n}", channel="app")]
    web = [*order(10, None, None, None, channel="web"), *order(11, None, channel="web")]
    renewed, bare = find_keys(use(given, [*app, *web]), NO_AGES)
    assert renewed.statement.startswith(
        "3 orders from app came from callers that make a new key for every attempt: 3 orders took effect 3 times too "
        "often all the same."
    )
    assert renewed.statement.endswith("there would be 3 payments instead of 6, and 30,000 KRW less.")
    assert bare.statement.startswith("None of 2 orders from web bears an idempotency key")
    assert bare.statement.endswith("there would be 2 payments instead of 4, and 20,000 KRW less.")


def test_callers_of_one_channel_have_habits_of_their_own(given: Any) -> None:
    """Three orders of each program of `app`, all paid twice: the new one keeps its key, the old one renews it."""

    def sent(n: int, program: str) -> dict[str, Any]:
        return {"at": 100.0 * n, "order_id": f"O{n}", "user_agent": program, "method": "POST"}

    old = [row for n in range(3) for row in order(n, f"a{n}", f"b{n}", channel="app")]
    new = [row for n in range(10, 13) for row in order(n, f"c{n}", f"c{n}", channel="app")]
    log = [*(sent(n, "shop/1.0") for n in range(3)), *(sent(n, "shop/2.0") for n in range(10, 13))]
    found = use(given, [*old, *new], requests=log)
    assert [(h.sender, h.mode, h.payments, h.payments_with_one_key) for h in found.habits] == [
        ("app (shop/1.0)", "key_per_attempt", 6, 3),
        ("app (shop/2.0)", "one_key", 6, 3),
    ]


def test_rare_callers_of_a_channel_are_one(given: Any) -> None:
    payments = [row for n in range(8) for row in order(n, None, channel="web")]
    log = [{"at": 100.0 * n, "order_id": f"O{n}", "user_agent": f"browser/{n}", "method": "POST"} for n in range(8)]
    found = use(given, payments, requests=log)
    assert [(h.caller, h.orders) for h in found.habits] == [*((f"browser/{n}", 1) for n in range(5)), (None, 3)]


def test_a_second_click_with_a_new_key_is_no_habit_of_retries(given: Any) -> None:
    clicks = [
        {"at": 100.0 * n + 0.5 * k, "order_id": f"O{n}", "idempotency_key": f"{n}-{k}", "request_id": f"{n}-{k}"}
        for n in range(3)
        for k in range(2)
    ]
    kept = [row for n in range(5, 8) for row in order(n, f"k{n}", f"k{n}")]
    assert use(given, [*clicks, *kept]).modes == only("one_key", 6)


@pytest.mark.parametrize("payments", [[], [{"at": 0.0, "order_id": None, "idempotency_key": "a"}]])
def test_rows_without_an_order_have_no_mode(given: Any, payments: list[dict[str, Any]]) -> None:
    found = use(given, payments)
    assert not any(found.modes.values())
    assert titles(found) == []


def test_how_long_the_receiver_remembers_is_read_from_resends() -> None:
    ages = {"honoured": 1, "longest_honoured_us": 23 * HOUR_US, "forgotten": 2}
    ages |= {"shortest_forgotten_us": 71 * HOUR_US, "longest_forgotten_us": 73 * HOUR_US}
    (finding,) = find_keys(KeyUse((KeyHabit("", "", {**only("one_key", 3), "expired": 2}, 7, 2, 2, {}),)), ages)
    assert finding.statement.endswith(
        "it had forgotten them; a key was still honoured after 23.0 h and was booked again after 71.0 h, so the "
        "retention lies between; one of 73.0 h or more would have been enough for all of them."
    )


def test_a_key_with_two_amounts_and_one_with_two_answers_are_told(given: Any) -> None:
    rows = [{"at": 0.0, "idempotency_key": "a"}, {"at": 4.0, "idempotency_key": "a", "amount": Decimal(7)}]
    listed = [{"at": t, "key": "b", "response": answer} for t, answer in ((0.0, "201"), (4.0, "409"))]
    found = find_conflicts(given(payments=rows, idempotency_log=listed))
    assert [(f.id, [(e.table, e.line_no) for e in f.evidence]) for f in found] == [
        ("key-other-amount", [("payments", 2)]),
        ("key-other-answer", [("idempotency_log", 2)]),
    ]


# What a log or the receiver's own list of keys adds -------------------------------------------------------------


def inbox(at: float, order_id: str, key: str, status: str = "processed") -> dict[str, Any]:
    return {"at": at, "business_key": order_id, "key": key, "status": status}


def test_a_list_of_keys_shows_the_retries_that_were_not_booked_again(given: Any) -> None:
    """No order has two rows; the list shows that web kept its key and app did not."""
    rows = [{"at": n, "order_id": f"O{n}", "idempotency_key": f"k{n}", "channel": "web"} for n in range(3)]
    rows += [{"at": n, "order_id": f"O{n}", "idempotency_key": f"k{n}", "channel": "app"} for n in range(10, 14)]
    seen = [inbox(n + t, f"O{n}", f"k{n}") for n in range(3) for t in (0, 1)]
    seen += [inbox(n + t, f"O{n}", f"k{n}" if t else f"old{n}") for n in range(10, 14) for t in (0, 1)]
    runner = given(payments=rows, idempotency_log=seen)
    assert measure_keys(runner, ()).modes == {**dict.fromkeys(KEY_MODES, 0), "one_key": 3, "key_per_attempt": 4}


@pytest.mark.parametrize(("gap", "mode", "finding"), [(259_200, "expired", "key-expired"), (2, "race", "key-race")])
def test_two_effects_of_one_key_leak_through_a_receiver_that_honours_keys(
    given: Any, gap: float, mode: str, finding: str
) -> None:
    leak = [{"at": t, "order_id": "LEAK", "idempotency_key": "k"} for t in (0, gap)]
    held = {"at": 5, "order_id": "HELD", "idempotency_key": "h"}
    replays = [inbox(5, "HELD", "h"), inbox(6, "HELD", "h", "replayed")]
    found = use(given, [*leak, held], idempotency_log=replays)
    assert found.modes == {**dict.fromkeys(KEY_MODES, 0), "one_key": 1, mode: 1}
    assert [f.id for f in find_keys(found, NO_AGES)] == [finding]


def test_two_effects_of_one_key_leak_nowhere_when_nobody_honours_keys(given: Any) -> None:
    found = use(given, [{"at": t, "order_id": "A", "idempotency_key": "k"} for t in (0, 2)])
    assert found.modes == only("one_key", 1)


def test_an_order_under_a_used_key_is_swallowed(given: Any) -> None:
    """B came under A's key, was answered, and is not in the ledger."""
    seen = [inbox(0, "A", "k"), inbox(60, "B", "k", "replayed")]
    (found,) = find_swallowed(given(payments=[{"at": 0, "idempotency_key": "k"}], idempotency_log=seen))
    assert not isinstance(found, str)
    assert (found.id, found.severity, found.numbers) == ("key-reused", "high", {"swallowed": 1})
    assert [(e.table, e.line_no) for e in found.evidence] == [("idempotency_log", 2)]


def test_an_order_that_was_booked_under_a_used_key_is_not_swallowed(given: Any) -> None:
    seen = [inbox(0, "A", "k"), inbox(90_000, "B", "k")]
    rows = [{"at": 0, "order_id": o, "idempotency_key": "k"} for o in "AB"]
    assert find_swallowed(given(payments=rows, idempotency_log=seen)) == ()


def test_without_a_log_or_a_list_of_keys_nothing_can_be_seen_to_be_swallowed(given: Any) -> None:
    answer = find_swallowed(given(payments=[{"at": 0, "idempotency_key": "k"}]))
    assert isinstance(answer, str)
