"""The answer at the terminal: labelled lines, exact sums, and 'not examined' that never looks like a pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from forensics.analysis.catalogue import load_catalogue
from forensics.analysis.match import match_gaps
from forensics.model import BROKER_COHORT, CohortPolicy, Examined, KeyUse, Policy, RankedPolicy, Refused, Scan, Source
from forensics.render.terminal import render_match, render_policy, render_reject, render_source, render_summary

LABELS = ("read", "happened", "money", "why", "causes", "traffic", "keys", "sure", "unexamined")


def lines(scan: Scan, report: Path | None = None) -> dict[str, str]:
    """The summary's lines by their labels."""
    return {line[:10].strip(): line[11:] for line in render_summary(scan, report).splitlines()}


def test_the_summary_is_ten_labelled_lines(incident: Scan) -> None:
    found = lines(incident, Path("reports/x/report.html"))
    assert tuple(found) == (*LABELS, "report")
    assert found["report"] == "reports/x/report.html"


def test_what_happened_and_the_money_are_exact_and_apart_by_currency(incident: Scan) -> None:
    found = lines(incident)
    assert found["happened"].startswith("1,284 of 48,210 orders were paid more than once: 2,377 payments too many, ")
    assert found["money"] == (
        "187,654,300 KRW and 12,345.67 USD too much, of which 5,120,400 KRW and 310 USD went back already; "
        "beyond doubt: 173,200,900 KRW and 11,710.47 USD (refunds.csv); 118 payments for a person to judge"
    )
    assert found["causes"] == "retry 2103, redelivery 205, double_submit 41, unexplained 28"
    assert (
        found["keys"] == "none 205, one_key 46,852 (web, web (other callers)), "
        "key_per_attempt 1,079 (app (shop-app/4.1)), race 3 orders"
    )


def test_a_clean_ledger_is_said_in_full(clean: Scan) -> None:
    found = lines(clean)
    assert found["happened"] == "no order of 8,120 was paid more than once (8,120 effects in 8,143 rows)"
    assert found["money"] == "nothing must go back"
    assert found["causes"] == "none"
    assert found["traffic"] == "not examined: no access log was given"


def test_without_payments_no_line_looks_like_a_pass(clean: Scan) -> None:
    why = "no payment table was given"
    examined = tuple(Examined(name, "not_examined", why) for name in ("duplicates", "policies", "keys"))
    found = lines(replace(clean, payments=None, keys=None, examined=examined))
    assert {found[name] for name in ("happened", "money", "why", "causes", "keys")} == {f"not examined: {why}"}
    assert found["unexamined"] == "duplicates, policies, keys"


def test_a_failure_is_shown_and_does_not_look_like_a_pass(clean: Scan) -> None:
    broken = (Examined("duplicates", "failed", "query failed"), Examined("policies", "not_examined", "it rests on it"))
    found = lines(replace(clean, payments=None, keys=None, examined=broken))
    assert found["FAILED"] == "duplicates: query failed"
    assert found["happened"] == found["money"] == found["causes"] == "failed: query failed"
    assert found["why"] == "not examined: it rests on it"


def test_one_is_not_many(incident: Scan) -> None:
    assert incident.payments is not None
    payments = replace(incident.payments, excess_rows=1, review_rows=1)
    found = lines(replace(incident, payments=payments, sources=incident.sources[:1]))
    assert ": 1 payment too many, " in found["happened"]
    assert found["money"].endswith("; 1 payment for a person to judge")
    assert found["read"].startswith("1 file, ")


@pytest.mark.parametrize(("rejected", "shouts"), [(0, False), (100, False), (101, True)])
def test_more_than_one_percent_rejected_is_shouted(clean: Scan, rejected: int, shouts: bool) -> None:
    source = replace(clean.sources[0], rows_read=10_000, rows_loaded=10_000 - rejected, rows_rejected=rejected)
    assert ("MORE THAN 1 % REJECTED" in lines(replace(clean, sources=(source,)))["read"]) is shouts


def test_files_that_could_not_be_used_are_counted(clean: Scan) -> None:
    refused = (Refused("a.pdf", "a.pdf: this is a PDF", None),)
    assert lines(replace(clean, refused=refused))["read"].endswith("; 1 file could not be used")


def test_a_ledger_without_orders_has_no_key_modes(clean: Scan) -> None:
    assert lines(replace(clean, keys=KeyUse(())))["keys"] == "no row names an order"


# Sources --------------------------------------------------------------------------------------------------------


def test_a_source_is_shown_with_what_was_recognised_and_why(incident: Scan) -> None:
    first = render_source(incident.sources[0]).splitlines()
    assert first[0] == "payments.csv: payments, CSV, comma, header, utf-8"
    assert "    rows       51,391 read = 51,377 loaded + 14 rejected" in first
    assert (
        "    columns    order_id <- 주문번호 (synonym), amount <- 금액 (synonym), created_at <- 승인일시 (synonym)"
        in first
    )
    assert "    zone       Asia/Seoul: hours of sale fit Asia/Seoul; given by --zone" in first
    assert "    note       14 rows end in the middle of a line" in first


def test_names_with_line_ends_do_not_look_like_lines_of_ours(incident: Scan) -> None:
    evil = "x\n    rows       1 read\r\nforensics: error: no"
    source: Source = replace(incident.sources[0], path=evil, mapping={"order_id": evil}, notes=(evil,), zone=evil)
    kinds = [line.split()[0] for line in render_source(source).splitlines()[1:]]
    assert kinds == ["rows", "columns", "zone", "times", "note"]
    assert "\n" not in render_reject(7, "no amount", evil)


# Policies -------------------------------------------------------------------------------------------------------


def test_gaps_typed_by_hand_are_drawn_to_scale() -> None:
    gaps = [2.0, 4.0, 8.0]
    picture = render_match(
        match_gaps([[2_000_000]], resolution_us=1000, timeout_s=None, catalogue=()), gaps
    ).splitlines()
    assert [line.count("█") for line in picture[:3]] == [10, 20, 40]
    assert picture[3].startswith("no policy: ")


def test_every_policy_of_the_catalogue_can_be_shown() -> None:
    for entry in load_catalogue():
        assert "\n" not in render_policy(entry, full=False)
        full = render_policy(entry, full=True)
        assert full.isprintable() or "\n" in full
        assert f"    source     {entry.source}" in full
        assert "None" not in full
        assert "none s" not in full


@pytest.mark.parametrize(
    ("base_s", "said"),
    [(10.0, "the broker delivers again after 10 s what"), (0.0, "the broker delivers again at once what")],
)
def test_a_broker_is_not_spoken_of_as_a_client(incident: Scan, base_s: float, said: str) -> None:
    policy = Policy("fixed" if base_s else "none", base_s, 1.0, None, (base_s,), "none", None, base_s, None)
    broker = CohortPolicy(BROKER_COHORT, 40, 1.0, 1.0, RankedPolicy(policy, 0.54, False, (), ()))
    assert f"{said} was not acknowledged (probability 0.54)" in lines(replace(incident, policies=(broker,)))["why"]
