"""Which canonical table a file is, and which of its columns is which."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from forensics.errors import UsageError
from forensics.sources import columns

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

AT = "2026-03-14T00:26:53Z"


@pytest.mark.parametrize("heading", ["Order ID", "order_id", "orderId", "ORDER-ID", "ｏｒｄｅｒ　ｉｄ"])
def test_case_spaces_punctuation_and_width_do_not_matter(heading: str) -> None:
    assert columns.normal(heading) == "orderid"


def test_words_of_a_heading_are_found_in_any_spelling() -> None:
    assert columns.tokens("amount_krw") == ["AMOUNT", "KRW"]
    assert columns.tokens("Amount (EUR)") == ["AMOUNT", "EUR"]
    assert columns.tokens("amountMinor") == ["AMOUNT", "MINOR"]


@pytest.mark.parametrize(
    ("headings", "row"),
    [
        ("Order ID,Amount,Created (UTC),Status", f"ORD-1,12.50,{AT},paid"),
        ("orderId,totalAmount,approvedAt,status", f"ORD-1,12.50,{AT},DONE"),
        ("주문번호,결제금액,결제일시,상태", f"ORD-1,12.50,{AT},결제완료"),
        ("注文番号,決済金額,決済日時,状態", f"ORD-1,12.50,{AT},支払済み"),
        ("Bestellnr;Betrag;Zeitpunkt;Status", f"ORD-1;12,50;{AT};gebucht"),
        ("Order Number,Total (EUR),Date,Outcome", f"ORD-1,12.50,{AT},ok"),
        ("Kundenreferenz (End-to-End),Betrag,Buchungstag,Zustand", f"ORD-1,12.50,{AT},bezahlt"),
    ],
)
def test_headings_in_several_languages_are_known(desk: Desk, headings: str, row: str) -> None:
    source = desk.source(f"{headings}\n{row}\n")
    assert source.kind == "payments"
    assert set(source.mapping) == {"order_id", "amount", "created_at", "status"}
    assert desk.rows("SELECT order_id, amount, status, CAST(created_at AS VARCHAR) FROM payments") == [
        ("ORD-1", Decimal("12.5000"), "captured", "2026-03-14 00:26:53")
    ]


def test_a_name_is_preferred_to_a_name_without_brackets(desk: Desk) -> None:
    desk.source(f"order_id (old),order_id,amount,created_at\nX,ORD-1,1.00,{AT}\n")
    assert desk.rows("SELECT order_id FROM payments") == [("ORD-1",)]


def test_the_earlier_synonym_wins_where_a_file_has_both(desk: Desk) -> None:
    source = desk.source(f"reference,order_id,amount,created_at\nREF,ORD-1,1.00,{AT}\n")
    assert source.mapping["order_id"] == "order_id (name)"


def test_content_decides_where_names_say_nothing(desk: Desk) -> None:
    rows = "".join(f"A-{n // 2},x,{AT[:-2]}{n}Z,{n}.50\n" for n in range(6))
    source = desk.source("aa,bb,cc,dd\n" + rows)
    assert {name: how.split(" (")[0] for name, how in source.mapping.items()} == {
        "created_at": "cc",
        "amount": "dd",
        "order_id": "aa",
    }
    assert "content" in source.mapping["order_id"]


@pytest.mark.parametrize("heading", ["net_amount", "settled", "payout"])
def test_no_business_key_is_guessed_where_names_say_what_the_columns_are(desk: Desk, heading: str) -> None:
    rows = "".join(f"p{n},10.00,{AT},PO-{n // 2}\n" for n in range(6))
    refused = desk.refusal(f"payment_id,amount,created_at,{heading}\n{rows}")
    assert "no column could be recognised as order_id" in refused.message
    assert f"the columns are: payment_id, amount, created_at, {heading}" in refused.message
    assert refused.hint == "say which it is: --map order_id=HEADING (or --as KIND if it is not payments)"


def test_a_ledger_without_times_is_refused_with_its_columns(desk: Desk) -> None:
    refused = desk.refusal("order_id,amount,status\nA,1.00,paid\n")
    assert "no column could be recognised as created_at; the columns are: order_id, amount, status" in refused.message


@pytest.mark.parametrize(
    ("headings", "day", "clock", "utc"),
    [
        ("Date,Time", "03/14/2026", "16:26:53", "2026-03-14 16:26:53"),
        ("Datum,Uhrzeit", "14.03.2026", "16:26:53", "2026-03-14 16:26:53"),
        ("거래일자,거래시간", "2026-03-14", "16:26:53", "2026-03-14 16:26:53"),
        ("Transaction Date,Transaction Time", "20260314", "16:26:53", "2026-03-14 16:26:53"),
        ("Date,Time", "3/14/2026", "4:26 PM", "2026-03-14 16:26:00"),
    ],
)
def test_a_date_and_a_time_of_day_in_two_columns_are_one_time(
    desk: Desk, headings: str, day: str, clock: str, utc: str
) -> None:
    text = f"order_id,amount,{headings},TimeZone\nA,1.00,{day},{clock},PST\nB,oops,{day},{clock},PST\n"
    source = desk.source(text, zone="UTC")
    assert source.mapping["created_at"].startswith(f"{headings.replace(',', ' + ')} (a date and a time of day; ")
    assert desk.rows("SELECT CAST(created_at AS VARCHAR) FROM payments") == [(utc,)]
    assert desk.rows("SELECT text FROM rejects") == [(f"B,oops,{day},{clock},PST",)]


def test_a_full_time_is_preferred_to_a_date_and_a_time_of_day(desk: Desk) -> None:
    source = desk.source(f"order_id,amount,date,time,created_at\nA,1.00,2026-03-14,16:26:53,{AT}\n")
    assert source.mapping["created_at"].startswith("created_at (name")


def test_the_user_may_want_the_date_alone(desk: Desk) -> None:
    desk.source("order_id,amount,date,time\nA,1.00,2026-03-14,16:26:53\n", mapping={"created_at": "date"})
    assert desk.rows("SELECT CAST(created_at AS VARCHAR) FROM payments") == [("2026-03-14 00:00:00",)]


def test_a_column_of_names_that_mean_several_zones_is_said_not_to_be_read(desk: Desk) -> None:
    source = desk.source("order_id,amount,date,time,TimeZone\nA,1.00,2026-03-14,16:26:53,CST\n")
    assert "column 'TimeZone' (CST) is not read; say the zone with --zone" in source.notes


# What the user says ---------------------------------------------------------------------------------------------


def test_the_user_s_mapping_wins_over_names(desk: Desk) -> None:
    source = desk.source(
        f"order_id,shop ref,amount,created_at\nWRONG,ORD-1,1.00,{AT}\n", mapping={"order_id": "Shop Ref"}
    )
    assert source.mapping["order_id"] == "shop ref (given)"
    assert desk.rows("SELECT order_id, CAST(extra AS VARCHAR) FROM payments") == [("ORD-1", '{"order_id":"WRONG"}')]


def test_a_mapping_that_only_payments_know_needs_no_kind(desk: Desk) -> None:
    desk.source(f"order_id,amount,created_at,x\nA,1.00,{AT},P-1\n", mapping={"payment_id": "x"})
    assert desk.rows("SELECT payment_id FROM payments") == [("P-1",)]


@pytest.mark.parametrize(
    ("mapping", "kind", "seen", "hint"),
    [
        ({"order_id": "nope"}, None, "--map order_id=nope: the file has no column 'nope'", "it has: order_id, amount"),
        ({"ordr": "amount"}, "payments", "--map ordr=amount: payments has no column 'ordr'", "it has: payment_id"),
        ({"ordr": "amount"}, None, "--map ordr: no table has such columns", "--as payments"),
    ],
)
def test_a_mapping_that_means_nothing_is_wrong_use(
    desk: Desk, mapping: dict[str, str], kind: str | None, seen: str, hint: str
) -> None:
    path = desk.file(f"order_id,amount,created_at\nA,1.00,{AT}\n")
    with pytest.raises(UsageError) as caught:
        desk.load(path, mapping=mapping, kind=kind)
    assert caught.value.message == seen
    assert str(caught.value.hint).find(hint) >= 0


def test_a_column_mapped_to_what_it_is_not_is_refused(desk: Desk) -> None:
    refused = desk.refusal(f"order_id,amount,memo,created_at\nA,1.00,hello,{AT}\n", mapping={"amount": "memo"})
    assert "column 'memo' was taken for amount, but cells like 'hello' are not an amount of money" in refused.message
    assert refused.hint == "say which column it is: --map amount=HEADING"


def test_a_required_column_that_is_empty_is_said_to_be(desk: Desk) -> None:
    refused = desk.refusal(f"order_id,amount,created_at\nA,,{AT}\n")
    assert "column 'amount' was taken for amount, but it is empty" in refused.message


# Kinds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("payments", f"payment_id,order_id,amount,created_at,status\nP,A,1.00,{AT},paid\n"),
        ("settlements", f"charge_id,gross,fee,net,currency,created\nch_1,10.00,0.30,9.70,EUR,{AT}\n"),
        ("settlements", f"tid,merchant_order_no,gross,fee,net,settle_date\nT1,A,1000,30,970,{AT[:10]}\n"),
        ("deliveries", f"message_id,delivered_at,delivery_no,consumer\nm1,{AT},1,c1\n"),
        ("idempotency_log", f"idempotency_key,order_id,received_at,outcome,expires_at\nk1,A,{AT},processed,{AT}\n"),
        ("dead_letters", f"message_id,reason,attempts,first_failed_at\nm1,timeout,3,{AT}\n"),
    ],
)
def test_kinds_of_table_are_told_apart(desk: Desk, kind: str, text: str) -> None:
    assert desk.source(text, "table.csv").kind == kind


@pytest.mark.parametrize(
    "text",
    [
        f"ID,Paid,When it was\nA,1.00,{AT}\n",
        f"MsgId,CreDtTm,Sum total\nM1,{AT},1.00\n",
        "Provider Reference,Amount,Label\nR1,1.00,x\n",
    ],
)
def test_an_id_alone_makes_no_table_of_another_kind(desk: Desk, text: str) -> None:
    assert "payments.csv: nearest to" in desk.refusal(text).message


def test_a_text_without_any_known_heading_is_called_neither_log_nor_table(desk: Desk) -> None:
    refusal = desk.refusal("10:00 router up,core 1\n10:01 router down,core 2\n10:02 router up,core 1\n")
    assert "no heading is known and no log format reads half of its lines" in refusal.message


def test_the_kind_that_the_user_says_wins(desk: Desk) -> None:
    assert desk.source("id,what\nm1,x\n", kind="dead_letters").kind == "dead_letters"


def test_columns_that_map_to_nothing_are_kept(desk: Desk) -> None:
    desk.source(f'order_id,amount,created_at,"odd ""name""",\nA,1.00,{AT},"it\'s",z\n')
    assert desk.rows("SELECT extra ->> 'odd \"name\"', extra ->> 'column 5' FROM payments") == [("it's", "z")]
