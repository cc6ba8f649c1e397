"""How one column of text becomes money, a time, or a word of ours."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from forensics.errors import UsageError
from forensics.sources import money, values

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

Column = Callable[[list[str | None]], tuple[Any, Any]]
NOON = "2026-03-14T12:00:00Z"


def _money(
    column: Column, cells: list[str], currency: str = "EUR", heading: str = "amount", unit: str | None = None
) -> tuple[list[Decimal | None], str] | None:
    connection, staged = column(list(cells))
    reading = money.read_money(connection, staged, f"'{currency}'", heading, unit)
    if reading is None:
        return None
    rows = connection.execute(f"SELECT {reading.sql} FROM staged ORDER BY line_no").fetchall()
    return [row[0] for row in rows], reading.how


def _amounts(column: Column, cells: list[str], currency: str = "EUR", **more: Any) -> list[Decimal | None] | None:
    read = _money(column, cells, currency, **more)
    return read[0] if read else None


# Money ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "amount"),
    [
        ("1234.5", "1234.5"),
        ("1,234.50", "1234.5"),
        ("1.234,50", "1234.5"),
        ("1 234,50", "1234.5"),
        ("1\u00a0234,50", "1234.5"),
        ("1\u202f234.50", "1234.5"),
        ("1'234.50", "1234.5"),
        ("1’234.50", "1234.5"),
        ("1,00,000.00", "100000"),
        ("₩12,000", "12000"),
        ("39,800원", "39800"),
        ("￥3,980", "3980"),
        ("3980円", "3980"),
        ("€1.250,50", "1250.5"),
        ("12,50 €", "12.5"),
        ("US$12.50", "12.5"),
        ("EUR 12.50", "12.5"),
        ("12.50 EUR", "12.5"),
        (".50", "0.5"),
        ("(12.00)", "-12"),
        ("$(12.00)", "-12"),
        ("12.00-", "-12"),
        ("-12.00", "-12"),
        ("\u221212.00", "-12"),
        ("- $220.00", "-220"),
        ("+ $1,150.00", "1150"),
        ("007", "7"),
        (" 12.00 ", "12"),
        ("1.50000", "1.5"),
        ("99999999999999.9999", "99999999999999.9999"),
        ("-99999999999999.9999", "-99999999999999.9999"),
    ],
)
def test_money_is_read_exactly_in_every_usual_style(column: Column, cell: str, amount: str) -> None:
    assert _amounts(column, [cell]) == [Decimal(amount)]


@pytest.mark.parametrize(
    "cell",
    [
        *("1e3", "1_000", "1.23456", "0x10", "12€50", "1,2,3.50", "12-50", "--12", "(12.00", "12.00)", "(-12.00)"),
        *("1.2.3", "abc", "NaN", "Infinity", "12.", "10%", "12 34", "1,23", "100000000000000.00", "１２"),
    ],
)
def test_what_is_no_amount_is_left_unread_and_never_guessed_at(column: Column, cell: str) -> None:
    assert _amounts(column, ["7.50"] * 19 + [cell]) == [Decimal("7.5")] * 19 + [None]


def test_one_cell_in_the_other_style_is_not_a_hundredfold(column: Column) -> None:
    assert _amounts(column, ["1,234.50"] * 19 + ["12,50"]) == [Decimal("1234.5")] * 19 + [None]
    assert _amounts(column, ["1.234,50"] * 19 + ["12.50"]) == [Decimal("1234.5")] * 19 + [None]


@pytest.mark.parametrize(
    "cells", [["abc"], ["12.50", "x", "y"], [], ["2026-03-14"], ["12.50", "x", "13,50"], ["1.50", "1,50"]]
)
def test_a_column_that_is_no_money_is_not_read_as_money(column: Column, cells: list[str]) -> None:
    assert _money(column, cells) is None


@pytest.mark.parametrize(
    ("cells", "currency", "amounts"),
    [
        (["1.250", "950"], "EUR", ["1250", "950"]),  # a price list without cents, points between thousands
        (["39.800", "12.500"], "USD", ["39.8", "12.5"]),  # three decimals throughout
        (["39.800", "12.500"], "KRW", ["39800", "12500"]),  # no won has a fraction
        (["1.250", "950"], "KWD", ["1.25", "950"]),  # a dinar has a thousand fils
        (["1,250", "950"], "EUR", ["1250", "950"]),
        (["0.580", "12.500"], "USD", ["0.58", "12.5"]),
    ],
)
def test_a_point_before_three_digits_is_read_by_its_company(
    column: Column, cells: list[str], currency: str, amounts: list[str]
) -> None:
    assert _amounts(column, cells, currency) == [Decimal(a) for a in amounts]


@pytest.mark.parametrize(
    ("currency", "amount"),
    [("EUR", "10.5"), ("KRW", "1050"), ("JPY", "1050"), ("UYI", "1050"), ("KWD", "1.05"), ("BHD", "1.05")],
)
@pytest.mark.parametrize(("heading", "unit"), [("amount_cents", None), ("amountMinor", None), ("x", "minor")])
def test_minor_units_are_of_the_currency(
    column: Column, currency: str, amount: str, heading: str, unit: str | None
) -> None:
    assert _amounts(column, ["1050"], currency, heading=heading, unit=unit) == [Decimal(amount)]


@pytest.mark.parametrize("heading", ["amount", "Cost center amount", "percentage", "Recent amount"])
def test_a_heading_with_cent_in_another_word_is_no_unit(column: Column, heading: str) -> None:
    assert _amounts(column, ["1050"], heading=heading) == [Decimal(1050)]


def test_whole_numbers_like_prices_in_a_currency_with_cents_are_cents_and_said_to_be(column: Column) -> None:
    cells = [str(1000 + 37 * n) for n in range(30)]
    read = _money(column, cells, "USD")
    assert read is not None
    assert read[0][:2] == [Decimal("10.00"), Decimal("10.37")]
    assert "minor units (whole numbers of the size of cents" in read[1]
    assert "--unit major if not" in read[1]


@pytest.mark.parametrize(
    ("cells", "currency"),
    [
        ([str(1000 + 37 * n) for n in range(30)], "KRW"),
        ([f"{1000 + 37 * n}.00" for n in range(30)], "USD"),
        ([str(1000 * n) for n in range(1, 31)], "USD"),
        (["1050", "1137"], "USD"),
    ],
)
def test_whole_numbers_that_may_be_major_units_stay_so(column: Column, cells: list[str], currency: str) -> None:
    assert _amounts(column, cells, currency) == [Decimal(c) for c in cells]


def test_the_unit_that_the_user_gives_wins(column: Column) -> None:
    cells = [str(1000 + 37 * n) for n in range(30)]
    assert _amounts(column, cells, "USD", unit="major") == [Decimal(c) for c in cells]


def test_a_minor_amount_that_money_cannot_hold_is_left_unread(column: Column) -> None:
    assert _amounts(column, ["1050.5", "1050.555"], unit="minor") == [Decimal("10.505"), None]


def test_the_currency_that_the_heading_of_the_amount_names_is_the_amount_s(desk: Desk) -> None:
    desk.source(f"order_id,Amount (USD),currency,created_at\nA,1.50,BRL,{NOON}\n")
    assert desk.rows("SELECT amount, currency FROM payments") == [(Decimal("1.5"), "USD")]


def test_amounts_without_a_currency_are_said_to_have_none(desk: Desk) -> None:
    source = desk.source(f"order_id,amount,created_at\nA,1.50,{NOON}\n")
    assert any("no currency column" in note for note in source.notes)
    assert desk.rows("SELECT currency FROM payments") == [(None,)]


def test_the_user_names_a_currency_for_a_table_that_names_none(desk: Desk) -> None:
    desk.source(f"order_id,amount,created_at\nA,1.50,{NOON}\n", currency="krw")
    assert desk.rows("SELECT currency FROM payments") == [("KRW",)]


# Time -----------------------------------------------------------------------------------------------------------


def _times(column: Column, cells: list[str], zone: str = "UTC") -> tuple[list[str | None], values.Reading] | None:
    connection, staged = column(list(cells))
    reading = values.read_time(connection, staged, zone)
    if reading is None:
        return None
    rows = connection.execute(f"SELECT CAST({reading.sql} AS VARCHAR) FROM staged ORDER BY line_no").fetchall()
    return [row[0] for row in rows], reading


@pytest.mark.parametrize(
    ("cell", "utc"),
    [
        ("2026-03-14T09:26:53Z", "2026-03-14 09:26:53"),
        ("2026-03-14T09:26:53z", "2026-03-14 09:26:53"),
        ("2026-03-14 09:26:53 UTC", "2026-03-14 09:26:53"),
        ("2026-03-14 09:26:53 GMT", "2026-03-14 09:26:53"),
        ("2026-03-14T09:26:53.512+09:00", "2026-03-14 00:26:53.512"),
        ("2026-03-14T09:26:53,512+09:00", "2026-03-14 00:26:53.512"),
        ("2026-03-14T09:26:53+0900", "2026-03-14 00:26:53"),
        ("2026-03-14T09:26:53+09", "2026-03-14 00:26:53"),
        ("2026-03-14 09:26:53 +0900", "2026-03-14 00:26:53"),
        ("2026-03-14 09:26:53 -03:30", "2026-03-14 12:56:53"),
        ("2026-03-14T09:26+09:00", "2026-03-14 00:26:00"),
        ("1773448013", "2026-03-14 00:26:53"),
        ("1773448013.25", "2026-03-14 00:26:53.25"),
        ("1773448013123", "2026-03-14 00:26:53.123"),
        ("1773448013123456", "2026-03-14 00:26:53.123456"),
        ("1773448013123456789", "2026-03-14 00:26:53.123456"),
    ],
)
def test_times_that_name_their_offset_need_no_zone(column: Column, cell: str, utc: str) -> None:
    read = _times(column, [cell], "Asia/Seoul")
    assert read is not None
    assert (read[0], read[1].naive) == ([utc], False)


@pytest.mark.parametrize(
    "cell",
    [
        *("2026-03-14 09:26:53", "2026-03-14T09:26:53", "2026/03/14 09:26:53", "2026-3-14 9:26:53"),
        *("14.03.2026 09:26:53", "14/03/2026 09:26:53", "03/14/2026 09:26:53", "03/14/2026 09:26:53 AM"),
        *("14-03-2026 09:26:53", "14-Mar-2026 09:26:53", "14 Mar 2026 09:26:53", "Mar 14, 2026 09:26:53"),
        *("14.03.26 09:26:53", "3/14/26 9:26:53 AM", "20260314092653", "20260314 09:26:53"),
        *("2026.03.14 09:26:53", "2026. 3. 14. 09:26:53", "2026년 3월 14일 09:26:53"),
        *("2026년 03월 14일 09시 26분 53초", "2026年3月14日 09:26:53", "2026年03月14日 09時26分53秒"),
    ],
)
def test_times_without_an_offset_are_read_in_the_zone(column: Column, cell: str) -> None:
    read = _times(column, [cell], "Asia/Seoul")
    assert read is not None
    assert (read[0], read[1].naive) == (["2026-03-14 00:26:53"], True)


@pytest.mark.parametrize(
    "cell",
    [
        *("2026-03-14", "20260314", "14.03.2026", "14.03.26", "14/03/2026", "03/14/2026", "2026.03.14"),
        *("2026년 3월 14일", "2026年3月14日", "2026/03/14", "14 Mar 2026"),
    ],
)
def test_a_date_alone_is_its_midnight(column: Column, cell: str) -> None:
    read = _times(column, [cell])
    assert read is not None
    assert read[0] == ["2026-03-14 00:00:00"]


@pytest.mark.parametrize(
    ("zone", "cell", "utc"),
    [
        ("Europe/Berlin", "2026-01-15 12:00:00", "2026-01-15 11:00:00"),
        ("Europe/Berlin", "2026-07-15 12:00:00", "2026-07-15 10:00:00"),
        ("Europe/Berlin", "2026-03-29 01:59:59", "2026-03-29 00:59:59"),
        ("Europe/Berlin", "2026-03-29 03:00:00", "2026-03-29 01:00:00"),
        ("Asia/Seoul", "2026-07-15 12:00:00", "2026-07-15 03:00:00"),
        ("Asia/Seoul", "1988-07-15 12:00:00", "1988-07-15 02:00:00"),  # Korea had summer time in 1987 and 1988
    ],
)
def test_summer_time_is_the_zone_s(column: Column, zone: str, cell: str, utc: str) -> None:
    read = _times(column, [cell], zone)
    assert read is not None
    assert read[0] == [utc]


def test_offsets_may_differ_and_be_missing_within_a_column(column: Column) -> None:
    read = _times(column, ["2026-03-14 09:26:53", "2026-03-14T09:26:53Z", "2026-03-14T09:26:53+01:00"], "Asia/Seoul")
    assert read is not None
    assert read[0] == ["2026-03-14 00:26:53", "2026-03-14 09:26:53", "2026-03-14 08:26:53"]
    assert (read[1].naive, read[1].how) == (True, "ISO 8601, some with offset")


@pytest.mark.parametrize(
    ("cells", "first", "doubt"),
    [
        (["03/04/2026", "05/06/2026"], "2026-04-03 00:00:00", True),
        (["03/04/2026", "13/06/2026"], "2026-04-03 00:00:00", False),
        (["03/04/2026", "06/13/2026"], "2026-03-04 00:00:00", False),
        (["03.04.2026", "05.06.2026"], "2026-04-03 00:00:00", False),
    ],
)
def test_day_and_month_are_told_apart_by_the_column_or_the_doubt_is_told(
    column: Column, cells: list[str], first: str, doubt: bool
) -> None:
    read = _times(column, cells)
    assert read is not None
    assert read[0][0] == first
    assert ("could be month first" in read[1].how) is doubt


@pytest.mark.parametrize(
    "cells",
    [["ORD-1"], ["12.50"], ["1042"], ["09:26:53"], [], ["4.2.2026", "x", "y"], ["9999999999"], ["0000000000"]],
)
def test_what_is_no_time_is_not_read_as_one(column: Column, cells: list[str]) -> None:
    assert _times(column, cells) is None


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("2026-03-14 09:26:53", "2026-02-30 09:26:53"),
        ("1773448013", "0"),
        ("1773448013123", "n/a"),
        ("14.03.2026", "14.03.26"),
    ],
)
def test_a_cell_that_is_no_time_like_the_others_is_left_unread(column: Column, good: str, bad: str) -> None:
    read = _times(column, [good] * 19 + [bad])
    assert read is not None
    assert [cell is None for cell in read[0]] == [False] * 19 + [True]


@pytest.mark.parametrize(
    ("cells", "step"),
    [
        (["2026-03-14", "2026-03-15"], 86_400_000_000),
        (["2026-03-14 00:26", "2026-03-15 09:07"], 60_000_000),
        (["2026-03-14 00:26:53", "2026-03-15 09:07:00"], 1_000_000),
        (["2026-03-14 00:26:53.120", "2026-03-15 09:07:00"], 1_000),
        (["2026-03-14 00:26:53.120001", "2026-03-15 09:07:00"], 1),
    ],
)
def test_the_resolution_of_the_clock_is_measured(desk: Desk, cells: list[str], step: int) -> None:
    rows = "".join(f"A,1.00,{cell}\n" for cell in cells)
    assert desk.source("order_id,amount,created_at\n" + rows).resolution_us == step


def test_first_and_last_time_are_those_of_the_loaded_rows(desk: Desk) -> None:
    rows = "A,1.00,2026-03-14\nB,1.00,2026-03-16\n" + "C,oops,2026-03-20\n"
    source = desk.source("order_id,amount,created_at\n" + "D,1.00,2026-03-15\n" * 10 + rows)
    assert (source.first_at, source.last_at) == (datetime(2026, 3, 14), datetime(2026, 3, 16))  # noqa: DTZ001


# Words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "status"),
    [
        *(("Succeeded", "captured"), (" PAID ", "captured"), ("결제완료", "captured"), ("支払済み", "captured")),
        *(("gebucht", "captured"), ("partially_refunded", "captured"), ("requires_capture", "authorised")),
        *(("declined", "failed"), ("거절", "failed"), ("abgelehnt", "failed"), ("決済失敗", "failed")),
        *(("canceled", "voided"), ("취소완료", "voided"), ("仮売上取消", "voided"), ("환불", "refunded")),
        *(("chargeback", "refunded"), ("processing", "pending"), ("wat", "unknown"), ("", "unknown")),
    ],
)
def test_status_words_of_many_ledgers_are_known(desk: Desk, word: str, status: str) -> None:
    desk.source(f"order_id,amount,created_at,status\nA,1.00,{NOON},{word}\n")
    assert desk.rows("SELECT status, status_raw FROM payments") == [(status, word.strip() or None)]


@pytest.mark.parametrize(
    ("word", "amount", "kind"),
    [
        *(("sale", "1.00", "charge"), ("Refund", "1.00", "refund"), ("환불", "1.00", "refund"), ("", "1.00", "charge")),
        *(
            ("payment", "-1.00", "refund"),
            ("", "-1.00", "refund"),
            ("topup", "1.00", "topup"),
            ("wat", "1.00", "unknown"),
        ),
    ],
)
def test_kind_words_are_known_and_money_back_is_a_refund(desk: Desk, word: str, amount: str, kind: str) -> None:
    desk.source(f"order_id,amount,created_at,type\nA,{amount},{NOON},{word}\n")
    assert desk.rows("SELECT kind FROM payments") == [(kind,)]


def test_a_captured_authorisation_is_only_authorised(desk: Desk) -> None:
    desk.source(f"order_id,amount,created_at,type,status\nA,1.00,{NOON},authorization,success\n")
    assert desk.rows("SELECT status FROM payments") == [("authorised",)]


def test_unknown_status_words_are_counted_and_shown(desk: Desk) -> None:
    rows = f"A,1.50,{NOON},glorp\n" * 3 + f"B,1.00,{NOON},paid\n"
    source = desk.source("order_id,amount,created_at,status\n" + rows)
    assert "status 'glorp' is not known: 3 rows, 4.5000 in all, counted as no effect" in source.notes


@pytest.mark.parametrize("word", ["GLORP", "glorp ", "it's", "Außer Haus", "완전완료"])
def test_the_user_says_what_a_status_word_means(desk: Desk, word: str) -> None:
    desk.source(f"order_id,amount,created_at,status\nA,1.00,{NOON},{word}\n", status={word: "voided"})
    assert desk.rows("SELECT status FROM payments") == [("voided",)]


def test_a_status_that_is_none_is_wrong_use(desk: Desk) -> None:
    with pytest.raises(UsageError, match="--status glorp=gone: 'gone' is no status") as caught:
        desk.load(desk.folder / "x.csv", status={"glorp": "gone"})
    assert "captured" in str(caught.value.hint)


def test_no_status_column_means_captured_and_is_said(desk: Desk) -> None:
    source = desk.source(f"order_id,amount,created_at\nA,1.00,{NOON}\n")
    assert "no status column: every row is taken as captured" in source.notes


@pytest.mark.parametrize("nothing", ["NULL", "null", "\\N", "None", "-", " ", "N/A", "#N/A", "(null)", "nan"])
def test_the_ways_to_write_nothing_make_no_business_key(desk: Desk, nothing: str) -> None:
    desk.source(f"order_id,amount,created_at\nA,1.00,{NOON}\n{nothing},1.00,{NOON}\n{nothing},1.00,{NOON}\n")
    assert desk.rows("SELECT order_id FROM payments ORDER BY line_no") == [("A",), (None,), (None,)]


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"unit": "cents"}, "--unit cents: expected minor or major"),
        ({"currency": "₩"}, "--currency ₩: expected an ISO 4217 code"),
        ({"currency": "euros"}, "--currency euros: expected an ISO 4217 code"),
    ],
)
def test_options_that_mean_nothing_are_wrong_use(desk: Desk, options: dict[str, str], seen: str) -> None:
    with pytest.raises(UsageError, match=seen):
        desk.load(**options)
