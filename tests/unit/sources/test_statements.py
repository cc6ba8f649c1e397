"""Bank statements in the forms of banks: entries are settlement rows, signed, with what names the order."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics.sources import camt, mt940

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.sources.conftest import Desk

READ = (
    "SELECT line_no, order_id, provider_ref, amount, currency, movement, CAST(settled_at AS VARCHAR) FROM settlements "
    "ORDER BY line_no"
)

# ISO 20022 ------------------------------------------------------------------------------------------------------


def _entry(amount: str, mark: str, details: str = "", status: str = "<Sts><Cd>BOOK</Cd></Sts>") -> str:
    return (
        f'<Ntry><NtryRef>N1</NtryRef><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>{mark}</CdtDbtInd>{status}'
        f"<BookgDt><DtTm>2026-03-14T10:26:53+01:00</DtTm></BookgDt><NtryDtls>{details}</NtryDtls></Ntry>"
    )


def _transaction(order: str, amount: str = "") -> str:
    return f"<TxDtls><Refs><EndToEndId>{order}</EndToEndId><TxId>T-{order}</TxId></Refs>{amount}</TxDtls>"


def _statement(*entries: str, message: str = "BkToCstmrStmt", before: str = "") -> str:
    return (
        f'<?xml version="1.0" encoding="ISO-8859-1"?>{before}<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053'
        f'.001.08"><{message}><GrpHdr><MsgId>M1</MsgId></GrpHdr><Stmt><Id>S1</Id>{"".join(entries)}</Stmt></{message}>'
        "</Document>"
    )


def test_entries_of_a_statement_are_signed_settlement_rows(desk: Desk) -> None:
    text = _statement(_entry("39.80", "CRDT", _transaction("ORD-1")), _entry("5.00", "DBIT", _transaction("ORD-2")))
    source = desk.source(text, "camt.xml")
    assert (source.kind, source.format) == ("settlements", "camt.053")
    at = "2026-03-14 09:26:53"
    assert desk.rows(READ) == [
        (1, "ORD-1", "T-ORD-1", Decimal("39.8000"), "EUR", "payment", at),
        (2, "ORD-2", "T-ORD-2", Decimal("-5.0000"), "EUR", "refund", at),
    ]


def test_a_batch_is_its_transactions_where_they_add_up_to_it(desk: Desk) -> None:
    parts = _transaction("A", '<Amt Ccy="EUR">1.50</Amt>') + _transaction("B", '<Amt Ccy="EUR">2.50</Amt>')
    desk.source(_statement(_entry("4.00", "CRDT", parts), _entry("4.10", "CRDT", parts)), "camt.xml")
    assert desk.rows("SELECT line_no, order_id, amount FROM settlements ORDER BY line_no") == [
        (1, "A", Decimal("1.5000")),
        (2, "B", Decimal("2.5000")),
        (3, None, Decimal("4.1000")),
    ]


def test_entries_that_are_not_booked_are_rejected_with_their_status(desk: Desk) -> None:
    pending = _entry("1.00", "CRDT", status="<Sts>PDNG</Sts>")
    desk.source(_statement(_entry("1.00", "CRDT"), pending), "camt.xml")
    assert desk.rejects() == [(2, "Sts is 'PDNG': no movement of money")]


def test_an_order_that_is_not_provided_is_none(desk: Desk) -> None:
    details = _transaction("NOTPROVIDED")
    desk.source(_statement(_entry("1.00", "CRDT", details)), "camt.xml")
    assert desk.rows("SELECT order_id FROM settlements") == [(None,)]


@pytest.mark.parametrize(
    "before",
    [
        '<!DOCTYPE Document [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE Document [<!ENTITY file SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE Document SYSTEM "http://127.0.0.1/evil.dtd">',
    ],
    ids=["entities that multiply", "an entity that reads a file", "a declaration elsewhere"],
)
def test_a_document_type_declaration_is_refused(desk: Desk, before: str) -> None:
    refused = desk.refusal(_statement(_entry("1.00", "CRDT"), before=before), "camt.xml")
    assert "DOCTYPE, which no bank statement has" in refused.message


def test_elements_without_end_are_refused(desk: Desk) -> None:
    refused = desk.refusal(_statement("<Ntry>" + "<x>" * 5000), "camt.xml")
    assert "more than 200 deep" in refused.message


def test_a_statement_that_is_cut_off_is_refused(desk: Desk) -> None:
    refused = desk.refusal(_statement(_entry("1.00", "CRDT"))[:-30], "camt.xml")
    assert "the camt.053 statement cannot be read" in refused.message


def test_a_statement_without_entries_is_refused(desk: Desk) -> None:
    assert "without entries" in desk.refusal(_statement(), "camt.xml").message


@pytest.mark.parametrize(
    ("head", "form"),
    [
        ("<Document><BkToCstmrAcctRpt>", "camt.052"),
        ("<n:Document><n:BkToCstmrStmt>", "camt.053"),
        ('<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.04">', "camt.054"),
        ("<html><body>", None),
        ("BkToCstmrStmt,amount", None),
    ],
)
def test_the_message_says_what_statement_it_is(head: str, form: str | None) -> None:
    assert camt.form_of(head) == form


# SWIFT ----------------------------------------------------------------------------------------------------------

HEAD = ":20:START\n:25:10020030/1234567\n:28C:7/1\n:60F:C260313EUR1000,00\n"
LINE = ":61:2603140314C39,80NTRFNONREF//B-1\n:86:166?00GUTSCHRIFT?20EREF+ORD-1?21SVWZ+Danke\n"


def test_lines_of_a_swift_statement_are_signed_settlement_rows(desk: Desk) -> None:
    debit = ":61:260315DR5,NMSCREF-9\n:86:Rueckzahlung ORD-2\n"
    source = desk.source(HEAD + LINE + debit + ":62F:C260315EUR1034,80\n-\n", "bank.sta")
    assert (source.kind, source.format) == ("settlements", "mt940")
    assert desk.rows(READ) == [
        (1, "ORD-1", "B-1", Decimal("39.8000"), "EUR", "payment", "2026-03-14 00:00:00"),
        (2, "Rueckzahlung ORD-2", "REF-9", Decimal("-5.0000"), "EUR", "refund", "2026-03-15 00:00:00"),
    ]


@pytest.mark.parametrize(("mark", "amount"), [("C", "1"), ("D", "-1"), ("RC", "-1"), ("RD", "1")])
def test_a_reversal_goes_the_other_way(desk: Desk, mark: str, amount: str) -> None:
    desk.source(HEAD + f":61:260314{mark}1,00NTRFX\n", "bank.sta")
    assert desk.rows("SELECT amount FROM settlements") == [(Decimal(amount),)]


def test_a_line_that_cannot_be_read_costs_one_row(desk: Desk) -> None:
    source = desk.source(HEAD + LINE + ":61:no such line\n" + LINE, "bank.sta")
    assert (source.rows_loaded, desk.rejects()) == (
        2,
        [(2, "amount: an amount of money expected, 'no such line with the mark missing' found")],
    )


@pytest.mark.parametrize(
    ("line", "day"),
    [
        (":61:2512310102C1,00NTRFX", "2026-01-02 00:00:00"),
        (":61:2601021231C1,00NTRFX", "2025-12-31 00:00:00"),
        (":61:260230C1,00NTRFX", "2026-02-28 00:00:00"),
    ],
    ids=["after new year", "before new year", "the thirtieth of February"],
)
def test_the_day_of_an_entry_has_the_year_beside_it(desk: Desk, line: str, day: str) -> None:
    desk.source(HEAD + line + "\n", "bank.sta")
    assert desk.rows("SELECT CAST(settled_at AS VARCHAR) FROM settlements") == [(day,)]


def test_without_the_library_the_extra_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mt940.tags", None)
    refused = desk.refusal(HEAD + LINE, "bank.sta")
    assert ("needs the package mt-940" in refused.message, refused.hint) == (
        True,
        "pip install 'payment-forensics[mt940]'",
    )


def test_random_tags_do_not_break_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "x.sta"
    path.write_text(":86:text\n:61:\n:61:\n:60F:\n:28C:\n-}\n{5:}\n:61:2603C", encoding="utf-8")
    assert len(list(mt940.read_lines(path))) == 3


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    start=st.sampled_from([HEAD + ":61:", ":20:X\n:61:260314C", "<Document><BkToCstmrStmt><Ntry>", "[{", '{"data": [']),
    rest=st.text(st.sampled_from(list(':61CD,0?+/<>&;"{}[]AEN-\n ')), max_size=80),
)
def test_broken_evidence_is_refused_in_a_sentence_or_read(desk: Desk, start: str, rest: str) -> None:
    for table in ("settlements", "sources", "rejects"):
        desk.connection.execute(f"DELETE FROM {table}")
    loaded = desk.load(desk.file(start + rest, "evidence.txt"))
    assert len(loaded.sources) + len(loaded.refused) == 1
