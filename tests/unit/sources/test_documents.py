"""JSON documents: a list of objects, an object around it, objects over several lines; each object is a row."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

ROWS = [
    {"order_id": "A", "amount": "1.00", "currency": "EUR", "created_at": "2026-03-14T09:26:53Z", "status": "paid"},
    {"order_id": "B", "amount": "2.50", "currency": "EUR", "created_at": "2026-03-14T09:26:54Z", "status": "paid"},
]
READ = [(1, "A", Decimal("1.0000")), (2, "B", Decimal("2.5000"))]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ROWS),
        json.dumps(ROWS, indent=2),
        json.dumps({"object": "list", "data": ROWS, "has_more": False}),
        json.dumps({"result": {"page": 1, "payments": ROWS}, "links": [{"href": "/next"}]}, indent=4),
        "\n".join(json.dumps(row, indent=1) for row in ROWS),
    ],
    ids=["one line", "over lines", "around the list", "deeper", "one after another"],
)
def test_each_object_of_a_document_is_a_row(desk: Desk, text: str) -> None:
    source = desk.source(text, "payments.json")
    assert (source.format, source.rows_read) == ("jsonl", 2)
    assert desk.rows("SELECT line_no, order_id, amount FROM payments ORDER BY line_no") == READ


def test_lines_are_the_objects_and_it_is_said(desk: Desk) -> None:
    source = desk.source(json.dumps({"data": ROWS}, indent=2), "payments.json")
    assert "lines are the objects of data, numbered from 1" in source.notes


def test_nested_amounts_are_read_as_in_json_lines(desk: Desk) -> None:
    rows = [{**ROWS[0], "amount": {"value": "12.30", "currency": "USD"}}]
    del rows[0]["currency"]
    desk.source(json.dumps(rows, indent=2), "payments.json")
    assert desk.rows("SELECT amount, currency FROM payments") == [(Decimal("12.3000"), "USD")]


def test_long_amounts_keep_their_last_digit(desk: Desk) -> None:
    desk.source(json.dumps([ROWS[0]]).replace('"1.00"', "12345678901234.5678"), "payments.json")
    assert desk.rows("SELECT amount FROM payments") == [(Decimal("12345678901234.5678"),)]


def test_one_payment_is_one_row_whatever_lists_it_holds(desk: Desk) -> None:
    payment = {**ROWS[0], "refunds": [{"amount": "0.50"}, {"amount": "0.25"}]}
    assert desk.source(json.dumps(payment, indent=2), "payment.json").rows_loaded == 1


@pytest.mark.parametrize("indent", [None, 2])
def test_a_letter_with_a_list_in_it_is_one_row(desk: Desk, indent: int | None) -> None:
    death = [
        {"queue": "pay", "reason": "rejected", "count": 3},
        {"queue": "pay.retry", "reason": "expired", "count": 2},
    ]
    letter = {"properties": {"message_id": "m", "headers": {"x-death": death}}, "payload": "{}", "routing_key": "pay"}
    assert desk.source(json.dumps(letter, indent=indent), "dlq.json").rows_read == 1


def test_what_is_no_object_is_rejected_at_its_place(desk: Desk) -> None:
    source = desk.source(json.dumps([ROWS[0], 7, ROWS[1]]), "payments.json")
    assert (source.rows_loaded, desk.rejects()) == (2, [(2, "not a JSON object")])


def test_several_lists_of_objects_are_not_chosen_among(desk: Desk) -> None:
    refused = desk.refusal(json.dumps({"payments": ROWS, "refunds": ROWS}), "payments.json")
    assert "several lists of objects, payments and refunds; expected one" in refused.message


@pytest.mark.parametrize("cut", [1, 40, 120])
def test_a_document_that_is_cut_off_is_refused(desk: Desk, cut: int) -> None:
    refused = desk.refusal(json.dumps(ROWS, indent=2)[:-cut], "payments.json")
    assert "the JSON document cannot be read" in refused.message


@pytest.mark.parametrize("content", [b"\xc2", b"[{\xc2", b'{"data": [{"a": "\xff"}]}'])
def test_bytes_that_are_no_text_are_refused_or_read(desk: Desk, content: bytes) -> None:
    assert len(desk.load(desk.file(content, "x.json")).refused) == 1


def test_objects_longer_than_a_block_are_read(desk: Desk) -> None:
    rows = [{**row, "note": "x" * 600_000} for row in ROWS]
    assert desk.source(json.dumps(rows), "payments.json").rows_loaded == 2


def test_the_types_of_mongodb_are_taken_off(desk: Desk) -> None:
    line = (
        '{"_id":{"$oid":"65f2"},"order_id":"A","amount":{"$numberDecimal":"39.80"},"currency":"EUR","status":"paid",'
        '"created_at":{"$date":{"$numberLong":"1773480413120"}}}\n'
    )
    desk.source(line + line.replace('{"$numberLong":"1773480413120"}', '"2026-03-14T09:26:53.120Z"'), "payments.json")
    assert desk.rows("SELECT DISTINCT amount, epoch_ms(created_at) FROM payments") == [
        (Decimal("39.8000"), 1773480413120)
    ]


def test_the_types_of_dynamodb_are_taken_off(desk: Desk) -> None:
    items = [{name: {"S": value} for name, value in row.items()} for row in ROWS]
    desk.source(json.dumps({"Items": items, "Count": 2}, indent=4), "scan.json")
    assert desk.rows("SELECT line_no, order_id, amount FROM payments ORDER BY line_no") == READ


def test_a_log_whose_first_line_is_cut_off_is_no_document(desk: Desk) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in ROWS * 2)
    source = desk.source('{"order_id": "X", "amo\n' + lines, "payments.jsonl", format="jsonl")
    assert (source.rows_loaded, source.rows_rejected) == (4, 1)


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    notes=st.lists(st.text(max_size=20), min_size=1, max_size=6),
    indent=st.sampled_from([None, 1, 4]),
    ascii_only=st.booleans(),
)
def test_a_list_reads_as_its_objects_one_a_line_do(
    desk: Desk, notes: list[str], indent: int | None, ascii_only: bool
) -> None:
    rows = [{**ROWS[0], "order_id": f"A{n}", "memo": note} for n, note in enumerate(notes)]
    for table in ("payments", "sources", "rejects"):
        desk.connection.execute(f"DELETE FROM {table}")
    lines = "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows)
    document = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    first = desk.source(lines, "lines.jsonl")
    second = desk.source(document if document != lines else document + " ", "list.json")
    read = "SELECT line_no, order_id, memo FROM payments WHERE source_id = {} ORDER BY line_no"
    assert desk.rows(read.format(first.source_id)) == desk.rows(read.format(second.source_id))
