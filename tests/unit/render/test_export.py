"""findings.json, duplicates.csv and refunds.csv: the shape others build on, equal bytes, cells nobody runs."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.model import Scan
from forensics.render.export import (
    DUPLICATE_COLUMNS,
    iso,
    neutral,
    render_duplicates,
    render_findings,
)
from forensics.render.finance import REFUND_COLUMNS, REVIEW_COLUMNS, render_refunds, render_review

TOP = {
    "business_key",
    "decisions",
    "settings",
    "schema",
    "tool",
    "sources",
    "refused",
    "examined",
    "payments",
    "causes",
    "conduct",
    "policies",
    "traffic",
    "layers",
    "herd",
    "policy_violations",
    "keys",
    "dead_letters",
    "deliveries",
    "settlement",
    "second_checkouts",
    "findings",
    "what_if",
}


def rows_of(text: str) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)  # cells of a megabyte are among them
    return list(csv.DictReader(io.StringIO(text)))


def document(scan: Scan) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(render_findings(scan, "0.1.0"))
    return found


# findings.json --------------------------------------------------------------------------------------------------


def test_findings_have_the_agreed_shape(incident: Scan) -> None:
    found = document(incident)
    assert found.keys() == TOP
    assert found["schema"] == "forensics/1"
    assert found["tool"] == {"name": "forensics", "version": "0.1.0"}


def test_keys_are_sorted_and_equal_scans_give_equal_bytes(incident: Scan) -> None:
    text = render_findings(incident, "0.1.0")
    assert text == json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False, indent=1) + "\n"
    assert text == render_findings(replace(incident), "0.1.0")


def test_money_is_decimal_text_by_currency(incident: Scan) -> None:
    payments = document(incident)["payments"]
    assert payments["excess_amount"] == {"KRW": "187654300", "USD": "12345.67"}
    assert payments["excess_rows"] == 2377


def test_times_are_utc_with_a_z(incident: Scan) -> None:
    traffic = document(incident)["traffic"]
    assert all(traffic[name].endswith("Z") for name in traffic if name.endswith(("_start", "_end")))


def test_what_was_not_examined_is_null_and_says_so(clean: Scan) -> None:
    found = document(clean)
    assert found["traffic"] is None
    assert {"question": "traffic", "status": "not_examined", "why": "no access log was given"} in found["examined"]
    assert document(replace(clean, payments=None, keys=None))["payments"] is None


def test_evidence_leads_back_to_file_and_line_and_says_how_much_was_left_out(incident: Scan) -> None:
    finding = next(f for f in document(incident)["findings"] if f["evidence"])
    assert finding["evidence"][0].keys() == {"table", "source_id", "line_no", "role"}
    assert (len(finding["evidence"]), finding["evidence_total"]) == (20, 2377)
    assert finding["query"] == {"name": "duplicates/repeated_orders", "params": {"min_effects": 2}}


def test_only_base_names_of_files_are_told(incident: Scan) -> None:
    assert [s["path"] for s in document(incident)["sources"]] == ["payments.csv", "access.log.gz"]


def test_hostile_evidence_leaves_valid_json(hostile: Scan) -> None:
    text = render_findings(hostile, "0.1.0").encode("utf-8", errors="replace").decode("utf-8")
    assert json.loads(text)["findings"][0]["severity"] == "low"


# CSV ------------------------------------------------------------------------------------------------------------


def test_duplicates_have_the_agreed_columns_and_one_line_per_row(incident: Scan) -> None:
    text = render_duplicates(incident)
    assert text.splitlines()[0] == ",".join(DUPLICATE_COLUMNS)
    assert len(rows_of(text)) == len(incident.rows)
    agreed = (
        "group_id business_key order_id payment_id created_at amount currency status gap_s role cause policy confidence"
    )
    assert list(DUPLICATE_COLUMNS)[:15] == [*agreed.split(), "source", "line_no"]


def test_a_gap_is_seconds_without_needless_zeros(incident: Scan) -> None:
    first = replace(incident.rows[0], gap_us=None)
    rows = [first, *(replace(first, gap_us=gap) for gap in (4_000_000, 4_183_000, 1, 0))]
    found = rows_of(render_duplicates(replace(incident, rows=tuple(rows))))
    assert [row["gap_s"] for row in found] == ["", "4", "4.183", "0.000001", "0"]


def test_refunds_name_the_payment_to_give_back_beside_the_one_that_stands(incident: Scan) -> None:
    excess = next(r for r in incident.rows if r.role == "excess")
    text = render_refunds(incident, [excess])
    assert text.splitlines()[0] == ",".join(REFUND_COLUMNS)
    (row,) = rows_of(text)
    assert (row["payment_id_to_refund"], row["kept_payment_id"]) == (excess.payment_id, excess.kept_payment_id)
    assert (row["checked_by"], row["checked_at"], row["decision"]) == ("", "", "")  # for the second pair of eyes


def test_review_shows_both_readings_of_a_payment(incident: Scan) -> None:
    doubtful = next(r for r in incident.rows if r.role == "excess" and r.alternatives)
    text = render_review(incident, [doubtful])
    assert text.splitlines()[0] == ",".join(REVIEW_COLUMNS)
    (row,) = rows_of(text)
    other, probability = doubtful.alternatives[0]
    assert (row["reading"], row["reading_probability"]) == (doubtful.cause, str(doubtful.confidence))
    assert (row["other_reading"], row["other_probability"]) == (other, str(probability))
    assert (row["checked_by"], row["checked_at"], row["decision"]) == ("", "", "")


def test_hostile_rows_stay_in_their_cells(hostile: Scan) -> None:
    found = rows_of(render_duplicates(hostile))
    assert len(found) == len(hostile.rows)
    assert all(None not in row and None not in row.values() for row in found)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1+1", "'-1+1"),
        ("@x", "'@x"),
        ("|cmd", "'|cmd"),
        ("%0A", "'%0A"),
        ("\t=1", "'\t=1"),
        ("  =1", "'  =1"),
        ("\r\n=1", "'  =1"),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("-12.50", "-12.50"),
        ("-1", "-1"),
        (Decimal("-3"), "-3"),
        (0, "0"),
        (None, ""),
        ("a=1", "a=1"),
        ("주문-1", "주문-1"),
        ("a\nb", "a b"),
        ("a\x00b", "a\ufffdb"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("\u202egnp", "\ufffdgnp"),
        ("\x9b31m", "\ufffd31m"),
    ],
)
def test_a_cell_is_neutral_and_otherwise_as_it_was(cell: object, text: str) -> None:
    assert neutral(cell) == text


@given(st.text())
def test_no_cell_begins_a_formula_or_holds_a_control_character(text: str) -> None:
    cell = neutral(text)
    stripped = cell.lstrip()
    is_number = stripped.removeprefix("-").replace(".", "", 1).isdigit()
    assert not stripped.startswith(tuple("=+-@|%＝＋－＠")) or is_number
    assert not {c for c in cell if (ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160}


@given(st.datetimes(timezones=st.just(UTC)))
def test_a_time_keeps_its_microseconds(moment: datetime) -> None:
    text = iso(moment)
    assert text is not None
    assert datetime.fromisoformat(text) == moment
    assert text.endswith("Z")


def test_a_time_shows_as_many_digits_as_it_has() -> None:
    at = datetime(2026, 11, 30, 13, 26, 32, tzinfo=UTC)
    assert iso(at) == "2026-11-30T13:26:32Z"
    assert iso(at + timedelta(milliseconds=470)) == "2026-11-30T13:26:32.470Z"
    assert iso(at + timedelta(microseconds=5)) == "2026-11-30T13:26:32.000005Z"
    assert iso(None) is None
    assert iso(at.astimezone(timezone(timedelta(hours=9)))) == "2026-11-30T13:26:32Z"
