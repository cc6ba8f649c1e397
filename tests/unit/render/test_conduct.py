"""Retry conduct and dead letters in every form they leave the tool."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from forensics.model import Conduct, ConductRule, DeadLetter, DeadLetters, Scan
from forensics.render.conduct import (
    plain_conduct,
    plain_keys,
    plain_letters,
    plain_violations,
    render_conduct,
    render_letters,
)
from forensics.render.export import render_findings
from forensics.render.html import ReportMeta, render_report
from forensics.render.replay import render_replay
from forensics.render.terminal import render_summary

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
META = ReportMeta("0", "forensics", "report")
BROKEN = ConductRule("retried_400", "Retried after 400", "violated", 27, 36, "27 of 36", (("shop/1 <b>", 27),))
KEPT = ConductRule("retry_after_ignored", "Retry-After was ignored", "kept", 0, 4, "0 of 4", ())
UNSEEN = ConductRule("attempts_over_deadline", "Attempts after it", "not_examined", None, None, "no deadline", ())
CONDUCT = Conduct("POSTs", "", "the same request id", "request_id", 1_043, 7, 10, 4, (BROKEN, KEPT, UNSEEN))


def letter(verdict: str, batch: int | None, **cells: Any) -> DeadLetter:
    one = DeadLetter(1, 7, "m-1", "O-1", "pay", "system", "503", 5, NOON, None, verdict, "why", batch, False)
    return replace(one, **cells)


LETTERS = DeadLetters(
    letters=(letter("safe", 1), letter("safe", 2, reason="=cmd()"), letter("unsafe", None, line_no=9)),
    missing={"original": 0, "reason": 1, "attempts": 2, "first_failed_at": 3, "business_key": 4},
    families={"system": 3},
    reasons=(("system", "503 <script>", 3),),
    first_at=NOON,
    last_at=NOON,
    median_age_s=60.0,
    repeated_messages=1,
    cap=5,
    over_cap=0,
    batches=(1, 1),
)


@pytest.fixture
def scan(incident: Scan) -> Scan:
    """The incident, with conduct and letters."""
    return replace(incident, conduct=CONDUCT, dead_letters=LETTERS)


def test_only_examined_rules_are_counted() -> None:
    assert plain_violations(CONDUCT) == {
        "retried_400": 27,
        "retry_after_ignored": 0,
        "retry_after_honoured": 4,
        "breaker_failures": 10,
        "clients": 7,
    }
    assert plain_violations(None) is None


def test_the_two_names_of_needless_requests_mean_the_same() -> None:
    rule = replace(BROKEN, name="no_breaker_requests", broken=237)
    counts = plain_violations(replace(CONDUCT, rules=(rule,)))
    assert counts is not None
    assert (counts["no_breaker_requests"], counts["after_breaker_should_open"]) == (237, 237)


def test_every_rule_is_in_the_json_whatever_became_of_it() -> None:
    plain = plain_conduct(CONDUCT)
    assert plain is not None
    assert [(r["rule"], r["status"]) for r in plain["rules"]] == [
        ("retried_400", "violated"),
        ("retry_after_ignored", "kept"),
        ("attempts_over_deadline", "not_examined"),
    ]
    assert plain_conduct(None) is None


def test_letters_in_the_json_add_up() -> None:
    plain = plain_letters(LETTERS)
    assert plain is not None
    verdicts = ("safe_to_replay", "unsafe_to_replay", "fix_first", "ask_source", "unknown")
    assert [plain[v] for v in verdicts] == [2, 1, 0, 0, 0]
    assert plain["records"] == sum(plain[v] for v in verdicts)
    assert (plain["missing_reason"], plain["missing_attempts"], plain["missing_first_failed_at"]) == (1, 2, 3)
    assert plain_letters(None) is None


def test_findings_json_holds_both(scan: Scan) -> None:
    document = json.loads(render_findings(scan, "0"))
    assert document["policy_violations"]["retried_400"] == 27
    assert document["dead_letters"]["records"] == 3


def test_findings_json_says_null_for_what_was_not_examined(incident: Scan) -> None:
    document = json.loads(render_findings(incident, "0"))
    assert (document["policy_violations"], document["dead_letters"]) == (None, None)


def test_replay_csv_numbers_what_is_to_be_sent_and_nothing_else(scan: Scan) -> None:
    rows = list(csv.DictReader(io.StringIO(render_replay(LETTERS, scan.sources))))
    assert [(r["place"], r["batch"], r["batch_size"], r["verdict"]) for r in rows] == [
        ("1", "1", "1", "safe"),
        ("2", "2", "1", "safe"),
        ("", "", "", "unsafe"),
    ]
    assert (rows[0]["source"], rows[0]["line_no"], rows[0]["first_failed_at"]) == (
        "payments.csv",
        "7",
        "2026-11-30T12:00:00Z",
    )
    assert [rows[0][name] for name in ("replayed_by", "replayed_at", "replayed_count", "decision")] == [""] * 4


def test_a_reason_that_a_spreadsheet_would_run_is_made_text(scan: Scan) -> None:
    rows = list(csv.DictReader(io.StringIO(render_replay(LETTERS, scan.sources))))
    assert rows[1]["reason"] == "'=cmd()"


def test_the_terminal_says_each_in_one_line(scan: Scan) -> None:
    assert render_conduct(CONDUCT) == "retried 400: 27 of 1,043 requests"
    assert render_letters(LETTERS) == "3: 2 safe to replay, 1 unsafe to replay (replay.csv)"
    lines = render_summary(scan, None).splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("conduct", "letters"))] == ["conduct", "letters"]


def test_the_terminal_is_silent_about_rules_that_are_kept(incident: Scan) -> None:
    kept = replace(incident, conduct=replace(CONDUCT, rules=(KEPT, UNSEEN)))
    assert "conduct" not in [line.split()[0] for line in render_summary(kept, None).splitlines()]


def test_the_report_shows_every_rule_and_the_plan(scan: Scan) -> None:
    page = render_report(scan, META)
    for text in ("violated", "not examined", "No deadline", "shop/1 &lt;b&gt;", "Replay plan", "503 &lt;script&gt;"):
        assert text in page
    assert 'href="replay.csv"' in page


def test_the_report_says_why_when_neither_was_examined(incident: Scan) -> None:
    page = render_report(incident, META)
    assert "Not examined: no access log was given." in page
    assert "Not examined: no dead letters were given." in page
    assert "replay.csv" not in page


def test_swallowed_orders_stand_beside_the_key_modes(incident: Scan) -> None:
    found = plain_keys(incident)
    assert found is not None
    assert (found["none"], found["one_key"], found["key_per_attempt"], found["race"]) == (205, 46_852, 1_079, 3)
    assert "orders_told_paid_but_never_paid" not in found
    one = replace(incident.findings[0], rule="keys/swallowed", evidence_total=17)
    assert plain_keys(replace(incident, findings=(one,))) == {**found, "orders_told_paid_but_never_paid": 17}
    assert plain_keys(replace(incident, keys=None)) is None


def test_every_sender_stands_with_its_habit_and_what_one_key_would_have_left(incident: Scan) -> None:
    app, web, others = (plain_keys(incident) or {})["senders"]
    assert {name: app[name] for name in ("channel", "mode", "payments", "payments_with_one_key_per_act")} == {
        "channel": "app",
        "mode": "key_per_attempt",
        "payments": 1_081,
        "payments_with_one_key_per_act": 1_079,
    }
    assert (app["excess_amount"], web["caller"], others["caller"]) == ({"KRW": "20000"}, None, "(others)")


def test_the_report_shows_who_sends_which_keys(incident: Scan) -> None:
    page = render_report(incident, META)
    for text in ("Who sends which keys", "shop-app/4.1", "all others", "no log tells"):
        assert text in page
