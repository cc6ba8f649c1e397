"""Tables as they come: what is a row, where it stands, and what is rejected with which reason."""

from __future__ import annotations

import io
import json
import time
import uuid
import zipfile
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

HEAD = "order_id,amount,currency,created_at,status,memo\n"


def _row(n: int, memo: str = "", amount: str = "10.00") -> str:
    return f"ORD-{n},{amount},EUR,2026-03-14T09:26:{n:02}Z,captured,{memo}\n"


# Delimited text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delimiter", "told"), [(",", "csv"), (";", "csv with ';'"), ("\t", "tsv"), ("|", "csv with '|'")]
)
def test_the_delimiter_is_found(desk: Desk, delimiter: str, told: str) -> None:
    source = desk.source((HEAD + _row(1) + _row(2)).replace(",", delimiter))
    assert (source.format, source.rows_loaded) == (told, 2)
    assert desk.rows("SELECT line_no, order_id, amount FROM payments ORDER BY line_no") == [
        (2, "ORD-1", Decimal("10.0000")),
        (3, "ORD-2", Decimal("10.0000")),
    ]


def test_titles_above_the_headings_are_passed_over(desk: Desk) -> None:
    source = desk.source("Payments of March\nprinted 2026-03-15;by ops\n\n" + (HEAD + _row(1)).replace(",", ";"))
    assert source.notes[0] == "headings in line 4"
    assert desk.rows("SELECT line_no FROM payments") == [(5,)]


def test_quotes_and_line_ends_in_fields_do_not_shift_the_line_numbers(desk: Desk) -> None:
    text = HEAD + _row(1, '"two\nlines, and a comma"') + _row(2, '"says ""hello"""') + _row(3)
    source = desk.source(text.replace("\n", "\r\n"))
    assert (source.rows_loaded, source.rows_rejected) == (3, 0)
    assert desk.rows("SELECT line_no, memo FROM payments ORDER BY line_no") == [
        (2, "two\r\nlines, and a comma"),
        (4, 'says "hello"'),
        (5, None),
    ]


def test_ragged_rows_are_rejected_with_line_and_reason(desk: Desk) -> None:
    source = desk.source(HEAD + _row(1) + "ORD-2,10.00\n" + _row(3) + "ORD-4,1,2,3,4,5,6,7\n")
    assert (source.rows_loaded, source.rows_rejected) == (2, 2)
    assert desk.rejects() == [(3, "2 fields where the headings have 6"), (5, "8 fields where the headings have 6")]
    assert desk.rows("SELECT text FROM rejects ORDER BY line_no") == [("ORD-2,10.00",), ("ORD-4,1,2,3,4,5,6,7",)]


def test_the_heading_line_again_is_no_payment(desk: Desk) -> None:
    source = desk.source(HEAD + _row(1) + HEAD + _row(2))
    assert (source.rows_loaded, desk.rejects()) == (2, [(3, "the heading line again")])


def test_a_footer_is_rejected_and_blank_lines_are_no_rows(desk: Desk) -> None:
    source = desk.source(HEAD + _row(1) + "\n" + _row(2) + "Total,20.00,EUR,,,\n\n")
    assert (source.rows_read, source.rows_loaded) == (3, 2)
    assert desk.rejects() == [(5, "created_at: a time expected, nothing found")]


def test_a_quote_that_is_never_closed_costs_its_own_row_only(desk: Desk) -> None:
    source = desk.source(HEAD + _row(1) + _row(2, '"never closed') + "".join(_row(n) for n in range(3, 10)))
    assert (source.rows_loaded, desk.rejects()) == (8, [(3, "a quote is opened and not closed")])
    assert desk.rows("SELECT line_no FROM payments ORDER BY 1") == [(n,) for n in (2, 4, 5, 6, 7, 8, 9, 10)]


def test_two_stray_quotes_do_not_swallow_the_rows_between_them(desk: Desk) -> None:
    source = desk.source(HEAD + _row(1, '"5 inch') + _row(2) + _row(3) + _row(4, '"7 inch') + _row(5))
    assert source.rows_loaded == 3
    assert desk.rejects() == [(2, "a quote is opened and not closed"), (5, "a quote is opened and not closed")]


def test_a_field_of_a_megabyte_is_read_whole(desk: Desk) -> None:
    source = desk.source(HEAD + _row(1) + _row(2, "x" * (1 << 20)) + _row(3))
    assert source.rows_loaded == 3
    assert desk.rows("SELECT line_no, length(memo) FROM payments WHERE order_id = 'ORD-2'") == [(3, 1 << 20)]


def test_a_file_without_final_line_end_is_read_to_its_end(desk: Desk) -> None:
    assert desk.source((HEAD + _row(1) + _row(2)).rstrip("\n")).rows_loaded == 2


def test_repeated_headings_are_told_apart(desk: Desk) -> None:
    desk.source("order_id,amount,created_at,note,branch,note,x,y,z,w\nA,1.00,2026-03-14T00:00:00Z,one,b,two,1,2,3,4\n")
    ((extra,),) = desk.rows("SELECT CAST(extra AS VARCHAR) FROM payments")
    assert json.loads(extra)["note (2)"] == "two"


def test_a_list_without_headings_is_no_table(desk: Desk) -> None:
    refused = desk.refusal("17,39.80\n18,39.80\n")
    assert "payments.csv:1: neither a table nor a log that a known format reads half of: '17,39.80'" in refused.message


def test_irregular_tables_are_read_fast_enough(desk: Desk) -> None:
    rows = "".join(_row(n % 60, '"two\nlines"') for n in range(20_000))
    begun = time.perf_counter()
    assert desk.source(HEAD + rows).rows_loaded == 20_000
    assert time.perf_counter() - begun < 5


# JSON lines -----------------------------------------------------------------------------------------------------


def _json(**cells: object) -> str:
    return json.dumps({"orderId": "A", "amount": 10, "createdAt": "2026-03-14T00:00:00Z", **cells}) + "\n"


def test_a_torn_last_line_is_rejected_and_blank_lines_are_no_rows(desk: Desk) -> None:
    source = desk.source(_json() + "\n" + _json(orderId="B") + _json()[:25], "payments.jsonl")
    assert (source.format, source.rows_loaded) == ("jsonl", 2)
    assert desk.rejects() == [(4, "not a JSON object")]
    assert desk.rows("SELECT line_no FROM payments ORDER BY 1") == [(1,), (3,)]


def test_keys_may_be_missing_and_null_is_nothing(desk: Desk) -> None:
    desk.source(_json(status="captured") + _json(status=None) + _json(), "payments.jsonl")
    assert desk.rows("SELECT status, status_raw FROM payments ORDER BY line_no") == [
        ("captured", "captured"),
        ("unknown", None),
        ("unknown", None),
    ]


def test_values_inside_objects_have_names_of_their_own(desk: Desk) -> None:
    desk.source(_json(amount={"value": "39.80", "currency": "EUR"}, tags=["a", "b"]), "payments.jsonl")
    assert desk.rows("SELECT amount, currency, CAST(extra AS VARCHAR) FROM payments") == [
        (Decimal("39.8000"), "EUR", '{"tags":"[\\"a\\",\\"b\\"]"}')
    ]


@pytest.mark.parametrize("amount", ["99999999999999.9999", "12345678901234.5678", "0.1", "39.80", "-7", "1200"])
def test_numbers_in_json_keep_every_digit(desk: Desk, amount: str) -> None:
    line = '{"orderId": "A", "createdAt": "2026-03-14T00:00:00Z", "amount": ' + amount + ', "note": "x: 1.5, y"}\n'
    desk.source(line, "payments.jsonl")
    assert desk.rows("SELECT amount, memo FROM payments") == [(Decimal(amount), "x: 1.5, y")]


# Parquet --------------------------------------------------------------------------------------------------------


def test_parquet_keeps_its_types(desk: Desk) -> None:
    moment = datetime(2026, 3, 14, 0, 26, 53, 123456, tzinfo=UTC)
    key = uuid.UUID("8177b746-e22c-48cb-a058-11bcae1dcee3")
    table = pa.table(
        {
            "payment_id": pa.array([key.bytes, None], pa.binary(16)),
            "order_id": pa.array(["ORD-1", "ORD-1"]).dictionary_encode(),
            "amount": pa.array([Decimal("99999999999999.9999"), Decimal("-5.0000")], pa.decimal128(18, 4)),
            "created_at": pa.array([moment, moment], pa.timestamp("us", tz="Asia/Seoul")),
            "status": pa.array(["captured", "refunded"]),
        },
    )
    pq.write_table(table, desk.folder / "p.parquet")
    (source,) = desk.load(desk.folder / "p.parquet").sources
    assert (source.format, source.encoding, source.zone) == ("parquet", None, None)
    assert desk.rows("SELECT line_no, order_id, amount, created_at, status FROM payments ORDER BY line_no") == [
        (1, "ORD-1", Decimal("99999999999999.9999"), moment.replace(tzinfo=None), "captured"),
        (2, "ORD-1", Decimal("-5.0000"), moment.replace(tzinfo=None), "refunded"),
    ]


def test_parquet_times_without_zone_are_read_in_the_zone_given(desk: Desk) -> None:
    naive = datetime(2026, 3, 14, 9, 26, 53)  # noqa: DTZ001
    table = pa.table({"order_id": ["A"], "amount": [1200], "created_at": pa.array([naive], pa.timestamp("ns"))})
    pq.write_table(table, desk.folder / "p.parquet")
    (source,) = desk.load(desk.folder / "p.parquet", zone="Asia/Seoul").sources
    assert (source.zone, source.zone_reason) == ("Asia/Seoul", "given")
    assert desk.rows("SELECT created_at FROM payments") == [(datetime(2026, 3, 14, 0, 26, 53),)]  # noqa: DTZ001


def test_parquet_decimals_that_money_cannot_hold_are_rejected_not_rounded(desk: Desk) -> None:
    amounts = pa.array([Decimal("1.2345000000"), Decimal("1.2345600000")], pa.decimal128(20, 10))
    moment = pa.array([datetime(2026, 3, 14, tzinfo=UTC)] * 2, pa.timestamp("ms", tz="UTC"))
    pq.write_table(pa.table({"order_id": ["A", "B"], "amount": amounts, "created_at": moment}), desk.folder / "p.pq")
    (source,) = desk.load(desk.folder / "p.pq").sources
    assert (source.rows_loaded, source.rows_rejected) == (1, 1)
    assert desk.rows("SELECT amount FROM payments") == [(Decimal("1.2345"),)]
    assert desk.rejects() == [(2, "amount: an amount of money expected, '1.2345600000' found")]


def test_a_broken_parquet_file_is_refused_in_one_sentence(desk: Desk) -> None:
    refused = desk.refusal(b"PAR1" + bytes(100) + b"PAR1", "p.parquet")
    assert "p.parquet: the Parquet file cannot be read" in refused.message
    assert "\n" not in refused.message


# Sheets ---------------------------------------------------------------------------------------------------------


def _sheet(rows: list[list[object]]) -> bytes:
    """The least that is a workbook: one sheet, style 1 for dates, inline strings."""
    body = []
    for r, cells in enumerate(rows, 1):
        marks = []
        for c, cell in enumerate(cells):
            place = f'r="{chr(65 + c)}{r}"'
            if isinstance(cell, str):
                marks.append(f'<c {place} t="inlineStr"><is><t>{escape(cell)}</t></is></c>')
            elif isinstance(cell, datetime):
                days = (cell - datetime(1899, 12, 30, tzinfo=cell.tzinfo)).total_seconds() / 86400
                marks.append(f'<c {place} s="1"><v>{days!r}</v></c>')
            elif cell is not None:
                marks.append(f"<c {place}><v>{cell}</v></c>")
        body.append(f'<row r="{r}">{"".join(marks)}</row>')
    office = "http://schemas.openxmlformats.org"
    main, relations = f"{office}/spreadsheetml/2006/main", f"{office}/officeDocument/2006/relationships"
    package, sheet_type = f"{office}/package/2006/relationships", "application/vnd.openxmlformats-officedocument"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{office}/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="{sheet_type}.spreadsheetml.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="rId1" Type="{relations}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="March" sheetId="1" '
        'r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="rId1" '
        f'Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" '
        f'Type="{relations}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet xmlns="{main}"><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22"/>'
        "</cellXfs></styleSheet>",
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{"".join(body)}</sheetData></worksheet>',
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, '<?xml version="1.0"?>' + text)
    return buffer.getvalue()


def test_a_sheet_is_read_by_its_headings_under_the_title(desk: Desk) -> None:
    moment = datetime(2026, 3, 14, 9, 26, 53)  # noqa: DTZ001
    content = _sheet(
        [
            ["Payments of March"],
            ["order_id", "amount", "created_at", "status", "memo"],
            [100017, 39.8, moment, "captured", "a"],
            [100018, 1200.0, moment, "failed", 'b, "c"\nd'],
            [None, 1239.8],
        ]
    )
    source = desk.source(content, "march.xlsx", zone="UTC")
    assert (source.format, source.rows_loaded, source.notes[0]) == ("xlsx", 2, "sheet 'March'")
    assert desk.rows("SELECT line_no, order_id, amount, created_at, memo FROM payments ORDER BY 1") == [
        (3, "100017", Decimal("39.8000"), moment, "a"),
        (4, "100018", Decimal("1200.0000"), moment, 'b, "c"\nd'),
    ]
    assert desk.rejects() == [(5, "created_at: a time expected, nothing found")]


def _open_document(rows: list[list[str]]) -> bytes:
    """The least that is an OpenDocument spreadsheet; cells that are numbers are kept as numbers."""
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    body = []
    for cells in rows:
        body.append("<table:table-row>")
        for cell in cells:
            kind = f'float" office:value="{cell}' if cell.replace(".", "").isdigit() else "string"
            body.append(
                f'<table:table-cell office:value-type="{kind}"><text:p>{escape(cell)}</text:p></table:table-cell>'
            )
        body.append("</table:table-row>")
    content = (
        f'<?xml version="1.0"?><office:document-content xmlns:office="{urn}:office:1.0" xmlns:table="{urn}:table:1.0" '
        f'xmlns:text="{urn}:text:1.0"><office:body><office:spreadsheet><table:table table:name="March">'
        f"{''.join(body)}</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0"?><manifest:manifest xmlns:manifest="{urn}:manifest:1.0"><manifest:file-entry '
        'manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/>'
        "</manifest:manifest>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)
    return buffer.getvalue()


def test_a_sheet_of_open_document_is_read(desk: Desk) -> None:
    rows = [["Export of March"], HEAD.strip().split(","), ["A", "39.8", "EUR", "2026-03-14T09:26:53Z", "paid", ""]]
    source = desk.source(_open_document(rows), "payments.ods")
    assert (source.format, source.notes[0]) == ("ods", "sheet 'March'")
    assert desk.rows("SELECT line_no, order_id, amount FROM payments") == [(3, "A", Decimal("39.8000"))]


def test_a_sheet_without_headings_is_refused(desk: Desk) -> None:
    refused = desk.refusal(_sheet([[1, 2], [3, 4]]), "numbers.xlsx")
    assert "numbers.xlsx: sheet 'March' has no row of headings" in refused.message


def test_a_broken_workbook_is_refused_in_one_sentence(desk: Desk) -> None:
    content = _sheet([["a", "b"]])
    refused = desk.refusal(content.replace(b"<sheets>", b"<sheetz>"), "broken.xlsx")
    assert "broken.xlsx" in refused.message
    assert "\n" not in refused.message
