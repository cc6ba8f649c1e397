"""Ledger against settlement, as JSON, at the terminal and on the page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from forensics.detect.settlement import COUNTS
from forensics.model import Scan, Settlement
from forensics.render.balance import plain_settlement, render_settlement
from forensics.render.export import render_findings
from forensics.render.html import ReportMeta, render_report
from forensics.render.terminal import render_summary

ZERO = {"KRW": Decimal(0), "USD": Decimal("0.0000")}


def won(krw: int, usd: str) -> Mapping[str, Decimal]:
    return {"KRW": Decimal(krw), "USD": Decimal(usd)}


@pytest.fixture
def settlement() -> Settlement:
    """Two currencies that do not balance."""
    return Settlement(
        ledger_total=won(1_000_000, "500.00"),
        provider_total=won(930_000, "490.5000"),
        difference=won(70_000, "9.5000"),
        explained_by_duplicates=won(40_000, "0"),
        fees=won(31_000, "9.5000"),
        cutoff=won(-1_500, "0"),
        other=won(500, "0"),
        counts={name: n for n, name in enumerate(COUNTS)},
        cut="23:30 Asia/Seoul",
        covered_from=datetime(2025, 9, 30, 14, 31, 56, tzinfo=UTC),
        covered_to=datetime(2025, 10, 31, 14, 29, 46, tzinfo=UTC),
        beside_share=1.0,
    )


def test_sums_are_decimal_text_by_currency(clean: Scan, settlement: Settlement) -> None:
    found = json.loads(render_findings(replace(clean, settlement=settlement), "0"))["settlement"]
    assert found["difference"] == {"KRW": "70000", "USD": "9.50"}
    assert found["cutoff"] == {"KRW": "-1500", "USD": "0"}
    assert found["counts"]["matched_ledger_rows"] == 0
    assert (found["cut"], found["covered_from"]) == ("23:30 Asia/Seoul", "2025-09-30T14:31:56Z")


def test_what_was_not_examined_is_null() -> None:
    assert plain_settlement(None) is None


def test_the_terminal_has_one_line_when_examined_and_none_when_not(clean: Scan, settlement: Settlement) -> None:
    lines = render_summary(replace(clean, settlement=settlement), None).splitlines()
    assert [line for line in lines if line.startswith("settlement")] == [
        (
            "settlement ledger less provider is 70,000 KRW and 9.50 USD: duplicates 40,000 KRW and 0 USD, "
            "fees 31,000 KRW and 9.50 USD, cut-off -1,500 KRW and 0 USD, other 500 KRW and 0 USD"
        )
    ]
    assert not any(line.startswith("settlement") for line in render_summary(clean, None).splitlines())


def test_agreement_is_said_in_one_line(settlement: Settlement) -> None:
    agreed = replace(settlement, difference=ZERO, explained_by_duplicates=ZERO, fees=ZERO, cutoff=ZERO, other=ZERO)
    assert render_settlement(agreed) == "the provider paid what the ledger says: 1,000,000 KRW and 500 USD"


def test_the_page_shows_the_equation_by_currency(clean: Scan, settlement: Settlement, meta: ReportMeta) -> None:
    page = render_report(replace(clean, settlement=settlement), meta)
    assert '<th scope="row">USD</th><td>500.00</td><td>490.50</td><td>9.50</td><td>0.00</td><td>9.50</td>' in page
    assert "Payouts close at 23:30 Asia/Seoul." in page


def test_the_page_says_when_no_settlement_was_given(incident: Scan, meta: ReportMeta) -> None:
    section = render_report(incident, meta).split('<section id="settlement"')[1].split("</section>")[0]
    assert "no settlement was given" in section.lower()
