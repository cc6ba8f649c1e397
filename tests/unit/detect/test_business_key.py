"""What names a business act: chosen by measure, or by the user; and what then is one act."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from forensics.detect.business_key import choose, measure_candidates, parse_key, settle_key
from forensics.detect.ledger import judge_rows
from forensics.errors import UsageError
from forensics.model import KeyCandidate, Source

DAY = 86_400


def candidate(columns: str, named: int, repeated: int = 0, effects: int = 100) -> KeyCandidate:
    return KeyCandidate(tuple(columns.split(",")), effects, named, named - repeated, repeated, 2 * repeated, 2, 0)


def ledger_of(zone: str | None) -> Source:
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    return Source(
        1, "p.csv", "", "payments", "csv", {}, None, zone, None, 1000, None, (), 9, 9, 0, at, at
    )  # fmt: skip


# Choosing -------------------------------------------------------------------------------------------------------


def test_the_order_number_is_taken_where_it_names_half_of_the_effects() -> None:
    assert choose([candidate("order_id", 50), candidate("sender,message_no", 100)]) == ("order_id",)


def test_below_half_what_names_enough_is_taken_and_the_sender_comes_before_its_number_alone() -> None:
    found = [candidate("order_id", 49), candidate("sender,message_no", 100), candidate("message_no", 100)]
    assert choose(found) == ("sender", "message_no")


def test_numbers_that_come_again_every_day_take_the_day_with_them() -> None:
    numbers, daily = candidate("sender,message_no", 100, 40), candidate("sender,message_no,day", 100, 2)
    assert choose([numbers, daily]) == ("sender", "message_no", "day")
    # Nearly all repeats stand on one day: they are what is looked for, not a cycle.
    assert choose([candidate("sender,message_no", 100, 3), daily]) == ("sender", "message_no")


def test_where_nothing_names_half_the_candidate_that_names_most_is_taken_and_without_any_the_order_number() -> None:
    assert choose([candidate("order_id", 10), candidate("provider_ref", 30)]) == ("provider_ref",)
    assert choose([]) == ("order_id",)


def test_candidates_that_name_nothing_are_not_listed(given: Any) -> None:
    runner = given(payments=[{"at": 0}, {"at": 1}, {"at": 2, "order_id": None, "provider_ref": "ch"}])
    assert measure_candidates(runner) == (
        KeyCandidate(("order_id",), 3, 2, 1, 1, 2, 2, 0),
        KeyCandidate(("provider_ref",), 3, 1, 1, 0, 0, 1, 0),
    )


def test_the_choice_tells_its_reason_what_is_dangerous_and_the_runners_up(given: Any) -> None:
    rows = [
        {"at": 0, "provider_ref": "ch_1"},
        {"at": 1, "amount": 20000, "provider_ref": "ch_2"},
        {"at": 2, "order_id": ""},
    ]
    key = settle_key(given(payments=rows), [ledger_of(None)], (), None)
    assert (key.columns, key.given) == (("order_id",), False)
    assert key.why == "orders are what people, providers and logs know an act by"
    assert key.cautions[0].startswith(
        "1 order number with effects of different amounts: one number may stand for several"
    )
    assert key.cautions[1] == "1 effect without it: counted, never grouped with one another, and not compared"
    assert [(c.words, c.named, c.acts, c.repeated) for c in key.candidates] == [
        ("order number", 2, 1, 1),
        ("provider reference", 2, 2, 0),
    ]


# Grouping -------------------------------------------------------------------------------------------------------


def messages(*rows: tuple[float, str | None, str | None]) -> list[dict[str, Any]]:
    """Ledger rows without order numbers: seconds after noon, sender, message number."""
    return [{"at": at, "order_id": None, "sender": sender, "message_no": number} for at, sender, number in rows]


def test_a_ledger_without_order_numbers_is_grouped_by_sender_and_message_number(given: Any) -> None:
    runner = given(payments=messages((0, "a", "1"), (5, "a", "1"), (6, "b", "1"), (7, "a", "2")))
    key = settle_key(runner, [ledger_of(None)], (), None)
    assert key.columns == ("sender", "message_no")
    judged = judge_rows(runner, key.named)
    assert [(j.row.business_key, j.row.order_id, j.row.line_no, j.role) for j in judged] == [
        ("a / 1", None, 1, "kept"),
        ("a / 1", None, 2, "excess"),
    ]
    assert judged[1].why.startswith("same sender and message number, amount and currency as")


def test_rows_that_lack_a_part_of_the_key_are_neither_grouped_nor_dropped(given: Any) -> None:
    runner = given(payments=messages((0, "a", None), (1, "a", None), (2, None, "1"), (3, "", "1"), (4, "a", "1")))
    settle_key(runner, [ledger_of(None)], ("sender", "message_no"), None)
    assert judge_rows(runner) == ()
    (ledger,) = runner.run("duplicates/ledger").records()
    assert (ledger["rows"], ledger["without_order"], ledger["orders"]) == (5, 4, 1)


def test_a_day_in_the_key_parts_numbers_that_start_again(given: Any) -> None:
    runner = given(payments=messages((0, "a", "1"), (5, "a", "1"), (DAY, "a", "1"), (2 * DAY, "a", "1")))
    settle_key(runner, [ledger_of("Asia/Seoul")], ("sender", "message_no", "day"), None)
    # Noon UTC is nine in the evening of the same day in Seoul.
    assert [(j.row.business_key, j.role) for j in judge_rows(runner)] == [
        ("a / 1 / 20261130", "kept"),
        ("a / 1 / 20261130", "excess"),
    ]


def test_days_are_cut_where_the_ledgers_times_were_read_or_where_the_user_says(given: Any) -> None:
    three_hours = 3 * 3600
    # 12:00 and 15:00 UTC are 21:00 and 00:00 in Seoul: two days there, one day in UTC.
    rows = messages((0, "a", "1"), (three_hours, "a", "1"))
    runner = given(payments=rows)
    key = settle_key(runner, [ledger_of("Asia/Seoul")], ("sender", "message_no", "day"), None)
    assert (key.day_zone, judge_rows(runner)) == ("Asia/Seoul", ())
    assert settle_key(runner, [ledger_of("Asia/Seoul")], ("message_no", "day"), "UTC").day_zone == "UTC"
    assert [j.role for j in judge_rows(runner)] == ["kept", "excess"]


def test_the_order_number_given_by_name_changes_nothing(given: Any) -> None:
    runner = given(payments=[{"at": 0}, {"at": 4}, {"at": 9, "order_id": "B"}])
    before = judge_rows(runner)
    assert settle_key(runner, [ledger_of(None)], ("order_id",), None).given
    assert judge_rows(runner) == before


# Refusals -------------------------------------------------------------------------------------------------------


def test_columns_are_written_with_commas() -> None:
    assert parse_key("sender, message_no,day") == ("sender", "message_no", "day")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Bestellnr", "'Bestellnr' is no column that can name a business act"),
        ("", "'' is no column"),
        ("sender,sender", "expected each column once"),
        ("day", "the day only beside another"),
        ("sender,message_no,channel,day,memo", "expected one to 4 columns"),
    ],
)
def test_a_key_that_cannot_name_an_act_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_key(text)


def test_a_key_that_names_no_row_is_refused_and_never_reads_as_nothing_found(given: Any) -> None:
    runner = given(payments=[{"at": 0}, {"at": 4}])
    with pytest.raises(UsageError, match="sender,message_no names no effect of the ledger"):
        settle_key(runner, [ledger_of(None)], ("sender", "message_no"), None)
