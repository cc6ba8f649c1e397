"""Settlements as read: signs by the provider's words, days as times, and the zone measured beside the ledger."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from forensics.sources.align import Day, choose

Move = Callable[[datetime], str]
FIRST = datetime(2025, 10, 20, 8, tzinfo=UTC)
HOURS = range(0, 24 * 12, 5)
"""Twelve days, over the end of summer time in Europe."""


def ledger(currency: str) -> str:
    """A payment every five hours, times in UTC with their offset."""
    lines = [f"P{n},O{n},10.00,{currency},paid,T{n},{FIRST + timedelta(hours=n):%Y-%m-%dT%H:%M:%SZ}\n" for n in HOURS]
    return "payment_id,order_id,amount,currency,status,pg_tid,created_at\n" + "".join(lines)


def settlement(write: Move, reference: str = "T") -> str:
    """The provider's list of the same, three seconds later."""
    lines = [f"{reference}{n},O{n},10.00,0.30,9.70,{write(FIRST + timedelta(hours=n, seconds=3))}\n" for n in HOURS]
    return "tid,merchant_order_no,gross,fee,net,approved_at\n" + "".join(lines)


def local(zone: str) -> Move:
    """Times as a clock on the wall there shows them."""
    return lambda at: f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S}"


@pytest.mark.parametrize(
    ("zone", "currency", "found"),
    [
        ("Asia/Seoul", "KRW", "Asia/Seoul"),
        ("Asia/Seoul", "USD", "Etc/GMT-9"),
        ("Europe/Berlin", "EUR", "Europe/Berlin"),
        ("Europe/London", "KRW", "Europe/London"),
        ("America/Chicago", "KRW", "Etc/GMT+5"),
        ("Asia/Kolkata", "USD", "Asia/Kolkata"),
    ],
)
def test_the_zone_of_a_settlement_is_measured_beside_its_ledger_rows(
    desk: Any, zone: str, currency: str, found: str
) -> None:
    files = [desk.file(ledger(currency)), desk.file(settlement(local(zone)), "settlement.csv")]
    source = desk.load(*files).sources[1]
    assert (source.zone, source.zone_reason) == (
        found,
        f"so read, {len(HOURS)} settled rows stand beside their ledger rows",
    )
    assert desk.rows(
        "SELECT DISTINCT s.settled_at - p.created_at FROM settlements s JOIN payments p USING (order_id)"
    ) == [(timedelta(seconds=3),)]
    assert desk.rows("SELECT zone, first_at FROM sources WHERE kind = 'settlements'") == [(found, source.first_at)]


def test_a_ledger_that_comes_later_still_places_the_settlement(desk: Any) -> None:
    desk.load(desk.file(settlement(local("Asia/Seoul"), "X"), "settlement.csv"))
    desk.load(desk.file(ledger("KRW")))
    assert desk.rows("SELECT zone FROM sources WHERE kind = 'settlements'") == [("Asia/Seoul",)]


def test_a_zone_that_the_user_gives_is_not_measured_again(desk: Any) -> None:
    desk.load(desk.file(ledger("KRW")))
    desk.load(desk.file(settlement(local("Asia/Seoul")), "settlement.csv"), zone="Asia/Tokyo")
    assert desk.rows("SELECT zone, zone_reason FROM sources WHERE kind = 'settlements'") == [("Asia/Tokyo", "given")]


def test_rows_that_scatter_or_are_few_measure_nothing() -> None:
    noon = datetime.fromisoformat("2026-03-02T12:00:00")
    assert choose([Day(noon, 10, 5, timedelta(hours=9))], ["Asia/Seoul"]) is None
    assert choose([Day(noon, 4, 4, timedelta(hours=9))], ["Asia/Seoul"]) is None
    assert choose([Day(noon, 10, 10, timedelta(hours=9, minutes=15))], ["Asia/Seoul"]) is None
    found = choose([Day(noon, 10, 9, timedelta(hours=9))], ["UTC", "Asia/Seoul"])
    assert found is not None
    assert found.name == "Asia/Seoul"


def test_the_providers_word_gives_the_row_its_sign_where_the_file_gives_none(desk: Any) -> None:
    kinds = ("approve", "Cancel", "환불", "something", "payout", "fee")
    lines = "".join(f"T{n},{kind},10.00,0.30,9.70\n" for n, kind in enumerate(kinds))
    desk.source("tid,kind,gross,fee,net\n" + lines + "T9,odd,-5.00,0,-5.00\n", "settlement.csv")
    assert desk.rows("SELECT movement, amount FROM settlements ORDER BY line_no") == [
        ("payment", Decimal(10)),
        ("refund", Decimal(-10)),
        ("refund", Decimal(-10)),
        ("payment", Decimal(10)),
        ("payout", Decimal(10)),
        ("fee", Decimal(10)),
        ("refund", Decimal(-5)),
    ]


def test_a_settlement_day_is_the_time_where_there_is_no_other(desk: Any) -> None:
    desk.source("tid,gross,fee,net,settle_date\nT1,10.00,0.30,9.70,20260302\n", "settlement.csv")
    assert desk.rows("SELECT settled_at, payout FROM settlements") == [
        (datetime.fromisoformat("2026-03-02T00:00:00"), "20260302")
    ]


def test_a_settlement_may_name_the_order_alone_when_it_speaks_of_fee_and_net(desk: Any) -> None:
    source = desk.source("order_no,type,gross,fee,net\nO1,approve,10.00,0.30,9.70\n", "settlement.csv")
    assert source.kind == "settlements"
