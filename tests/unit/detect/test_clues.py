"""What the case knows about each repeat: the request behind it, its call, its message, its block, its price."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from forensics.analysis.causes import Clues
from forensics.detect.clues import collect_clues
from forensics.detect.ledger import judge_rows
from forensics.detect.prices import price_endings

Found = Mapping[int, Clues]
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def clues_by_line(given: Any, **tables: Any) -> Found:
    """The clues of each repeat, by the line of its row in the ledger."""
    runner = given(**tables)
    return {line: found for (_, line), found in collect_clues(runner, judge_rows(runner), 1000, 1000).items()}


PAIR = [{"at": 0.0}, {"at": 4.0}]


def test_without_a_log_a_broker_or_ids_there_is_only_the_gap(given: Any) -> None:
    found = clues_by_line(given, payments=PAIR)
    assert found == {2: Clues(gap_s=4.0, resolution_s=0.001, retry_density=None, in_block=False)}


# The request behind a row ---------------------------------------------------------------------------------------

MATCHES = {
    "request id": ({"request_id": "r"}, {"request_id": "r"}),
    "idempotency key": ({"idempotency_key": "k"}, {"idempotency_key": "k"}),
    "order in the path": ({}, {"order_id": "A"}),
}


@pytest.mark.parametrize("by", MATCHES)
def test_a_row_is_matched_to_the_request_that_was_running_when_it_was_booked(given: Any, by: str) -> None:
    row, request = MATCHES[by]
    payments = [{"at": 0.1, **row}, {"at": 4.1, **row}]
    requests = [
        {"at": 0.0, "duration_us": 3_000_000, "status": 499, "attempt": 1, **request},
        {"at": 4.0, "duration_us": 200_000, "attempt": 2, **request},
    ]
    found = clues_by_line(given, payments=payments, requests=requests)[2]
    assert (found.attempt, found.previous_lost) == (2, True)


def test_a_request_serves_one_row_only(given: Any) -> None:
    payments = [{"at": 0.1, "request_id": "r"}, {"at": 0.2, "request_id": "r"}]
    requests = [{"at": 0.0, "duration_us": 900_000, "attempt": 1, "request_id": "r"}]
    assert clues_by_line(given, payments=payments, requests=requests)[2].attempt is None


def test_a_request_that_had_ended_or_not_begun_is_not_behind_the_row(given: Any) -> None:
    payments = [{"at": 0.1, "request_id": "r"}, {"at": 30.0, "request_id": "r"}]
    requests = [
        {"at": 0.0, "duration_us": 200_000, "attempt": 1, "request_id": "r"},
        {"at": 20.0, "duration_us": 200_000, "attempt": 2, "request_id": "r"},
        {"at": 31.5, "duration_us": 200_000, "attempt": 3, "request_id": "r"},
    ]
    assert clues_by_line(given, payments=payments, requests=requests)[2].attempt is None


def test_a_request_under_another_id_is_not_behind_the_row_even_at_that_moment(given: Any) -> None:
    payments = [{"at": 0.1, "request_id": "r"}, {"at": 4.1, "request_id": "r"}]
    requests = [{"at": 4.0, "duration_us": 500_000, "attempt": 9, "request_id": "other", "order_id": "A"}]
    assert clues_by_line(given, payments=payments, requests=requests)[2].attempt is None


def pairs_of_calls(second: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Order A under two calls, r and s, and order B under one, which shows that ids stay with a call."""
    return {
        "payments": [
            {"at": 0.1, "request_id": "r"},
            {"at": 5.1, "request_id": "s"},
            *({"at": at, "order_id": "B", "request_id": "t"} for at in (50.1, 54.1)),
        ],
        "requests": [
            {"at": 0.0, "duration_us": 200_000, "status": 200, "attempt": 1, "request_id": "r"},
            {"at": 0.8, "duration_us": 200_000, "status": 503, "attempt": 1, "request_id": "s"},
            {"at": 5.0, "duration_us": 200_000, "status": 200, "attempt": 2, "request_id": "s", **second},
        ],
    }


def test_two_calls_are_as_far_apart_as_their_first_requests(given: Any) -> None:
    # The second click came 0.8 s after the first; that its own first try failed says nothing about the two.
    found = clues_by_line(given, **pairs_of_calls({}))[2]
    assert (found.gap_s, found.same_call, found.attempt) == (0.8, False, None)


def test_a_repeat_is_held_against_the_effect_of_its_own_call(given: Any) -> None:
    # Two halves of a bill, 3 s apart, then a retry of the first half.
    payments = [{"at": 0.0, "request_id": "r"}, {"at": 3.0, "request_id": "s"}, {"at": 4.0, "request_id": "r"}]
    found = clues_by_line(given, payments=payments)
    assert [(found[line].gap_s, found[line].same_call) for line in (2, 3)] == [(3.0, False), (4.0, True)]


# Lost replies ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "lost"),
    [
        *((status, True) for status in (0, 408, 499, 500, 502, 503, 504)),
        (200, False),
        (201, False),
        (402, None),
        (None, None),
    ],
)
def test_the_answer_of_the_effect_before_tells_whether_its_reply_was_lost(
    given: Any, status: int | None, lost: bool | None
) -> None:
    payments = [{"at": 0.1, "request_id": "r"}, {"at": 4.1, "request_id": "r"}]
    requests = [{"at": 0.0, "duration_us": 300_000, "status": status, "request_id": "r"}]
    assert clues_by_line(given, payments=payments, requests=requests)[2].previous_lost is lost


@pytest.mark.parametrize(("took_s", "lost"), [(9.0, True), (4.5, False), (0.3, False)])
def test_an_answer_that_came_after_the_next_request_began_came_too_late(given: Any, took_s: float, lost: bool) -> None:
    # The next request began after 4 s; an answer up to a second after that may be the clocks' doing.
    payments = [{"at": 0.1, "request_id": "r"}, {"at": 4.1, "request_id": "r"}]
    requests = [
        {"at": 0.0, "duration_us": int(took_s * 1e6), "status": 200, "request_id": "r"},
        {"at": 4.0, "duration_us": 200_000, "status": 200, "request_id": "r"},
    ]
    assert clues_by_line(given, payments=payments, requests=requests)[2].previous_lost is lost


# Calls ----------------------------------------------------------------------------------------------------------


def orders(*ids: tuple[str, str]) -> list[dict[str, Any]]:
    """One repeated order for each pair of request ids."""
    return [
        {"at": 100.0 * n + 4 * k, "order_id": f"O{n}", "request_id": name}
        for n, pair in enumerate(ids)
        for k, name in enumerate(pair)
    ]


def test_where_repeats_share_ids_an_id_tells_one_call_from_another(given: Any) -> None:
    found = clues_by_line(given, payments=orders(("a", "a"), ("b", "c")))
    assert {line: c.same_call for line, c in found.items()} == {2: True, 4: False}


def test_where_no_repeat_shares_an_id_ids_are_made_anew_for_each_attempt_and_say_nothing(given: Any) -> None:
    found = clues_by_line(given, payments=orders(("a", "b"), ("c", "d")))
    assert {c.same_call for c in found.values()} == {None}


# People and batches ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hand",
    [
        {"operator": "kim"},
        {"channel": "backoffice"},
        {"channel": "Back Office"},
        {"sender": "ADMIN"},
        {"memo": "수기 처리"},
    ],
)
def test_a_person_is_known_by_operator_channel_sender_or_memo(given: Any, hand: dict[str, str]) -> None:
    rows = [{"at": 0.0}, {"at": 900.0, **hand}, {"at": 5.0, "order_id": "B"}, {"at": 9.0, "order_id": "B"}]
    assert {line: c.by_hand for line, c in clues_by_line(given, payments=rows).items()} == {2: True, 4: False}


def test_where_nothing_marks_people_it_is_not_known_who_keyed_a_row_in(given: Any) -> None:
    assert clues_by_line(given, payments=PAIR)[2].by_hand is None


def rerun(acts: int, offsets: list[float], **cells: Any) -> list[dict[str, Any]]:
    """Acts one second apart, each repeated after its offset."""
    return [
        {"at": n + wait, "order_id": f"O{n:03}", **(cells if wait else {})}
        for n in range(acts)
        for wait in (0.0, offsets[n % len(offsets)])
    ]


def test_many_acts_again_in_their_order_at_one_offset_are_a_block(given: Any) -> None:
    found = clues_by_line(given, payments=rerun(12, [3607.0]))
    assert len(found) == 12
    assert all(c.in_block for c in found.values())


@pytest.mark.parametrize(
    ("acts", "offsets"),
    [(9, [3600.0]), (12, [4.0]), (12, [3600.0 - 40 * n for n in range(12)])],
    ids=["too few", "too soon", "in another order"],
)
def test_fewer_sooner_or_shuffled_repeats_are_no_block(given: Any, acts: int, offsets: list[float]) -> None:
    assert not any(c.in_block for c in clues_by_line(given, payments=rerun(acts, offsets)).values())


def test_a_person_who_works_down_a_list_is_no_batch(given: Any) -> None:
    found = clues_by_line(given, payments=rerun(12, [3600.0], operator="kim"))
    assert {(c.in_block, c.by_hand) for c in found.values()} == {(False, True)}


# Brokers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "redelivered", "published_again"), [(("M1", "M1"), True, False), (("M1", "M2"), False, True)]
)
def test_the_same_message_again_is_a_redelivery_and_another_was_published_again(
    given: Any, messages: tuple[str, str], redelivered: bool, published_again: bool
) -> None:
    deliveries = [{"at": 30.0 * n, "message_id": name} for n, name in enumerate(messages)]
    found = clues_by_line(given, payments=[{"at": 0.2}, {"at": 30.2}], deliveries=deliveries)[2]
    assert (found.redelivered, found.published_again) == (redelivered, published_again)


@pytest.mark.parametrize(
    ("second", "gap_s"),
    [
        ({"published_at": NOON + timedelta(seconds=7)}, 7.0),
        ({"published_at": NOON - timedelta(seconds=3)}, 3.0),  # a later message may be worked off first
        ({}, 30.0),
    ],
)
def test_two_messages_are_as_far_apart_as_their_sending_where_it_is_known(
    given: Any, second: dict[str, Any], gap_s: float
) -> None:
    deliveries = [{"at": 0.0, "message_id": "M1", "published_at": NOON}, {"at": 30.0, "message_id": "M2", **second}]
    found = clues_by_line(given, payments=[{"at": 0.2}, {"at": 30.2}], deliveries=deliveries)[2]
    assert found.gap_s == gap_s


@pytest.mark.parametrize("second", [{"at": 90.0}, {"at": 30.0, "business_key": "B"}], ids=["later", "another order"])
def test_a_delivery_after_the_row_or_about_another_order_says_nothing(given: Any, second: dict[str, Any]) -> None:
    found = clues_by_line(given, payments=[{"at": 0.2}, {"at": 30.2}], deliveries=[{"at": 0.0}, second])[2]
    assert (found.redelivered, found.published_again) == (None, None)


def test_a_pair_that_no_message_brought_came_by_another_road_where_messages_bring_the_repeats(given: Any) -> None:
    orders = [f"O{n}" for n in range(10)]
    payments = [{"at": 100.0 * n + at, "order_id": o} for n, o in enumerate(orders) for at in (0.2, 30.2)]
    deliveries = [{"at": 100.0 * n + at, "business_key": o} for n, o in enumerate(orders) for at in (0.0, 30.0)]
    alone = [{"at": at, "order_id": "Z"} for at in (2000.0, 2020.0)]
    found = clues_by_line(given, payments=[*payments, *alone], deliveries=deliveries)
    assert [found[line].other_road for line in (2, 20, 22)] == [False, False, True]


# Prices ---------------------------------------------------------------------------------------------------------


def prices(step: int, count: int = 30) -> list[dict[str, Any]]:
    return [{"at": 1000.0 + n, "order_id": f"S{n}", "amount": Decimal(step * (n + 1))} for n in range(count)]


@pytest.mark.parametrize(
    ("amount", "odds"),
    # Thirty prices end in 000, none in 500 or 250. Twice 4500 ends in 000: (30.5 / 2) / 0.5. Twice 9000 does as well,
    # and so does 9000 itself: (30.5 / 2) / 30.5. Twice 4250 ends as no price does: (0.5 / 2) / 0.5.
    [("4500", 30.5), ("9000", 0.5), ("4250", 0.5)],
)
def test_how_prices_end_tells_half_of_one_from_a_price(given: Any, amount: str, odds: float) -> None:
    pair = [{"at": 0.0, "amount": Decimal(amount)}, {"at": 4.0, "amount": Decimal(amount)}]
    assert clues_by_line(given, payments=[*pair, *prices(1000)])[2].half_odds == pytest.approx(odds)


def test_where_most_endings_are_rare_the_last_figures_alone_count(given: Any) -> None:
    # 50, 100, ... 1500: thirty endings of three figures, once each, but two of two figures, fifteen times each.
    endings = price_endings(given(payments=prices(50)))
    assert endings.moduli == {"KRW": Decimal(100)}
    assert endings.orders == {"KRW": {Decimal(50): 15, Decimal(0): 15}}


def test_where_no_order_was_paid_once_prices_say_nothing(given: Any) -> None:
    assert (
        clues_by_line(given, payments=[{"at": 0.0, "amount": 4500}, {"at": 4.0, "amount": 4500}])[2].half_odds is None
    )


def split(order: str, at: float, gap: float) -> list[dict[str, Any]]:
    """An order paid in two unequal parts."""
    return [
        {"at": at, "order_id": order, "amount": Decimal(3000)},
        {"at": at + gap, "order_id": order, "amount": Decimal(7000)},
    ]


def test_payments_in_two_unequal_parts_within_ten_minutes_are_counted(given: Any) -> None:
    payments = [*PAIR, *split("S", 1000.0, 5.0), *split("T", 2000.0, 9000.0)]
    assert clues_by_line(given, payments=payments)[2].splits == 1


def test_parts_are_no_reading_of_two_payments_by_one_instrument(given: Any) -> None:
    payments = [{**row, "instrument": "card 1"} for row in PAIR]
    assert clues_by_line(given, payments=[*payments, *split("S", 1000.0, 5.0)])[2].splits == 0


# Keys -----------------------------------------------------------------------------------------------------------


def kept_keys(orders: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Orders sent twice under one key each, and booked once: callers that keep the key of an act."""
    payments = [{"at": 100.0 * n, "order_id": f"K{n}", "idempotency_key": f"k{n}"} for n in range(1, orders + 1)]
    requests = [
        {"at": 100.0 * n - back, "idempotency_key": f"k{n}", "order_id": f"K{n}"}
        for n in range(1, orders + 1)
        for back in (4.0, 0.1)
    ]
    return payments, requests


PAIR_OF_KEYS = [{"at": 0.0, "idempotency_key": "a"}, {"at": 4.0, "idempotency_key": "b"}]


def test_where_callers_keep_the_key_of_an_act_another_key_is_another_act(given: Any) -> None:
    payments, requests = kept_keys(10)
    found = clues_by_line(given, payments=[*PAIR_OF_KEYS, *payments], requests=requests)
    assert [c.other_key for c in found.values()] == [True]


def test_a_new_key_after_an_answer_does_not_hide_that_callers_keep_the_key_of_a_failed_request(given: Any) -> None:
    # Ten requests that hung up and came again under their key; nine orders paid twice under two keys, each answered.
    payments, requests = kept_keys(10)
    failed = [{**r, "status": 499 if n % 2 == 0 else 200} for n, r in enumerate(requests)]
    second_acts = [
        {"at": 5000.0 + 100 * n + back, "order_id": f"N{n}", "idempotency_key": f"n{n}-{back}"}
        for n in range(9)
        for back in (0, 30)
    ]
    log = [*failed, *({**p, "status": 200} for p in second_acts)]
    found = clues_by_line(given, payments=[*PAIR_OF_KEYS, *payments, *second_acts], requests=log)
    assert {c.other_key for c in found.values()} == {True}


def test_second_clicks_under_the_key_of_the_first_are_counted(given: Any) -> None:
    payments, requests = kept_keys(10)
    click = {"at": 9000.0, "duration_us": 50_000, "status": 200, "idempotency_key": "c", "order_id": "C"}
    log = [*requests, click, {**click, "at": 9000.4}]
    found = clues_by_line(given, payments=[*PAIR_OF_KEYS, *payments], requests=log)
    assert [c.second_clicks for c in found.values()] == [1]


def test_where_few_orders_show_the_habit_another_key_says_nothing(given: Any) -> None:
    payments, requests = kept_keys(9)
    found = clues_by_line(given, payments=[*PAIR_OF_KEYS, *payments], requests=requests)
    assert [c.other_key for c in found.values()] == [None]
