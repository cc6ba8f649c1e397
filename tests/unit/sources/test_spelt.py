"""Times as people and spreadsheets spell them, and the hours that a zone has twice or not at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from forensics.sources import folds, values

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

TWICE = (
    "in the hour that occurs twice (2025-10-26 02:00 Europe/Berlin): read as the second of the two; "
    "gaps to rows outside it may be off by as much"
)
NEVER = (
    "in the hour that no clock showed (2026-03-29 02:00 Europe/Berlin): read by the offset before; "
    "perhaps the zone is another"
)
Put = Callable[[list[str | None]], tuple[Any, Any]]


@pytest.mark.parametrize(
    ("cell", "moment"),
    [
        ("2026-11-30 10:29:05 PM", "2026-11-30 22:29:05"),
        ("2026-11-30 10:29 pm", "2026-11-30 22:29:00"),
        ("2026-11-30 12:05:00 AM", "2026-11-30 00:05:00"),
        ("2026-11-30 12:05:00 PM", "2026-11-30 12:05:00"),
        ("11/30/2026 10:29:05PM", "2026-11-30 22:29:05"),
        ("11/30/2026, 10:29:05 PM", "2026-11-30 22:29:05"),
        ("11/30/2026, 10:29:05\u202fPM", "2026-11-30 22:29:05"),
        ("30.11.2026 10:29 p.m.", "2026-11-30 22:29:00"),
        ("Nov 30, 2026, 10:29:05 PM", "2026-11-30 22:29:05"),
        ("2026-11-30 오후 10:29:05", "2026-11-30 22:29:05"),
        ("2026-11-30 오전 12:05:00", "2026-11-30 00:05:00"),
        ("2026. 11. 30. 오후 10:29", "2026-11-30 22:29:00"),
        ("2026년 11월 30일 오후 10시 29분", "2026-11-30 22:29:00"),
        ("2026년 11월 30일 22시 29분", "2026-11-30 22:29:00"),
        ("2026년11월30일 22시29분05초", "2026-11-30 22:29:05"),
        ("2026년 11월 30일(월) 22:29", "2026-11-30 22:29:00"),
        ("2026年11月30日 午後10:29", "2026-11-30 22:29:00"),
        ("2026/11/30(月) 22:29", "2026-11-30 22:29:00"),
        ("令和8年11月30日", "2026-11-30 00:00:00"),
        ("令和8年11月30日 22時29分05秒", "2026-11-30 22:29:05"),
        ("令和元年5月1日", "2019-05-01 00:00:00"),
        ("平成31年4月30日", "2019-04-30 00:00:00"),
        ("昭和64年1月7日", "1989-01-07 00:00:00"),
    ],
)
def test_a_time_is_read_however_it_is_spelt(column: Put, cell: str, moment: str) -> None:
    connection, staged = column([cell] * 3)
    reading = values.read_time(connection, staged, "UTC")
    assert reading is not None
    rows = connection.execute(f"SELECT DISTINCT CAST({reading.sql} AS VARCHAR) FROM staged").fetchall()
    assert rows == [(moment,)]
    assert reading.naive


@pytest.mark.parametrize("cell", ["2026-11-30 13:29:05 PM", "令和8年13月30日", "오후", "46356.5", "2026년 11월"])
def test_what_is_no_time_is_none(column: Put, cell: str) -> None:
    connection, staged = column([cell] * 3)
    assert values.read_time(connection, staged, "UTC") is None


def test_a_cell_of_another_spelling_is_rejected_and_never_half_a_day_off(desk: Desk) -> None:
    rows = "".join(f"A{n},1.00,EUR,2026-11-30 10:{n}:00 PM\n" for n in range(10, 20))
    source = desk.source(f"order_id,amount,currency,created_at\n{rows}B,1.00,EUR,2026-11-30 10:30:00\n")
    assert (source.rows_loaded, source.rows_rejected) == (10, 1)
    assert desk.rows("SELECT DISTINCT hour(created_at) FROM payments") == [(22,)]


def test_excels_days_are_read_under_a_heading_that_says_date(desk: Desk) -> None:
    # 46356 is 2026-11-30; 0.936875 of a day is 22:29:06
    desk.source("order_id,amount,currency,Payment date\nA,1.00,EUR,46356.936875\nB,1.00,EUR,46356\n", zone="Asia/Seoul")
    times = desk.rows("SELECT CAST(created_at AS VARCHAR) FROM payments ORDER BY order_id")
    assert times == [("2026-11-30 13:29:06",), ("2026-11-29 15:00:00",)]


def test_a_number_under_another_heading_is_no_time(desk: Desk) -> None:
    refused = desk.refusal("order_id,amount,currency,level\nA,1.00,EUR,46356\nB,1.00,EUR,46357\n")
    assert "no column could be recognised as created_at" in refused.message


# Clocks that are set --------------------------------------------------------------------------------------------


def test_the_shifts_of_a_zone_are_found_to_the_minute() -> None:
    found = list(folds.shifts("Europe/Berlin", datetime(2025, 3, 1, 7, 13), datetime(2025, 11, 30)))  # noqa: DTZ001
    assert [(str(s.start), str(s.end), s.twice) for s in found] == [
        ("2025-03-30 02:00:00", "2025-03-30 03:00:00", False),
        ("2025-10-26 02:00:00", "2025-10-26 03:00:00", True),
    ]
    assert list(folds.shifts("Asia/Seoul", datetime(2025, 1, 1), datetime(2026, 1, 1))) == []  # noqa: DTZ001


def _told(desk: Desk, *times: str, zone: str = "Europe/Berlin") -> list[str]:
    rows = "".join(f"A{n},1.00,EUR,{time}\n" for n, time in enumerate(times))
    source = desk.source(f"order_id,amount,currency,created_at\n{rows}", zone=zone)
    return [note for note in source.notes if "lie" in note]


def test_rows_in_the_hour_that_occurs_twice_are_counted_and_told(desk: Desk) -> None:
    assert _told(desk, "2025-10-26 01:59:59", "2025-10-26 02:00:00", "2025-10-26 02:59:59", "2025-10-26 03:00:00") == [
        f"2 rows lie {TWICE}"
    ]
    assert desk.rows("SELECT CAST(created_at AS VARCHAR) FROM payments ORDER BY order_id") == [
        ("2025-10-25 23:59:59",),
        ("2025-10-26 01:00:00",),
        ("2025-10-26 01:59:59",),
        ("2025-10-26 02:00:00",),
    ]


def test_rows_in_the_hour_that_no_clock_showed_are_counted_and_told(desk: Desk) -> None:
    assert _told(desk, "2026-03-29 01:59:59", "2026-03-29 02:30:00", "2026-03-29 03:00:00") == [f"1 row lies {NEVER}"]


def test_rows_that_carry_their_offset_lie_in_no_doubtful_hour(desk: Desk) -> None:
    assert _told(desk, "2025-10-26 02:30:00+02:00", "2025-10-26 02:30:00", "2025-10-26T02:10:00+01:00") == [
        f"1 row lies {TWICE}"
    ]


def test_a_zone_whose_clocks_are_never_set_has_no_doubtful_hour(desk: Desk) -> None:
    assert _told(desk, "2025-10-26 02:30:00", "2025-10-26 02:31:00", zone="Asia/Seoul") == []


HAPROXY = (
    "203.0.113.4:51122 [26/Oct/2025:{}.606] pay-in~ pay/app2 0/0/1/181/184 201 412 - - ---- 12/10/3/1/+2 0/0 "
    '"POST /v1/payments HTTP/1.1"\n'
)


def test_a_log_without_offsets_tells_of_stamps_that_occur_twice(desk: Desk) -> None:
    text = "".join(HAPROXY.format(stamp) for stamp in ("01:59:58", "02:00:00", "02:59:58", "03:00:00"))
    source = desk.source(text, "access.log", zone="Europe/Berlin")
    assert [note for note in source.notes if "lie" in note] == [f"2 rows lie {TWICE}"]
    assert desk.rows("SELECT CAST(started_at AS VARCHAR) FROM requests WHERE line_no = 2") == [
        ("2025-10-26 01:00:00.606",)
    ]


@pytest.mark.parametrize(("time_is", "told"), [("start", []), ("end", [f"1 row lies {TWICE}"])])
def test_it_is_the_stamp_that_counts_not_the_start(desk: Desk, time_is: str, told: list[str]) -> None:
    # 02:00:00 Berlin for the second time is 01:00:00 UTC: this one ended five seconds later and began before
    desk.rows(
        "INSERT INTO requests (source_id, line_no, started_at, duration_us, method, path, route) "
        "VALUES (1, 1, TIMESTAMP '2025-10-25 23:59:55', 3610000000, 'GET', '/', '/')"
    )
    assert folds.settle_log_folds(desk.connection, 1, time_is, "Europe/Berlin") == told
