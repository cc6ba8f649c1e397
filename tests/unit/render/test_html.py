"""The report page: every section says something, every number is the scan's, and evidence stays text."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from forensics import packs
from forensics.model import Refused, Scan, Supposed, WhatIf
from forensics.render import html
from forensics.render.html import BUDGET_BYTES, ReportMeta, render_report

SECTIONS = ("summary", "timeline", "gaps", "policies", "causes", "orders", "findings", "sources", "words", "made")
HEADINGS = ("money", "ledger", "keys", "refused", "examined")
VOID = {"meta", "br", "input", "link", "img"}
BLOCKS = {"td", "th", "dt", "dd", "li", "p", "div", "caption", "small", "h1", "h2", "h3", "h4", "summary"}
TWINS = {"findings.json", "duplicates.csv", "refunds.csv", "review.csv"}


class Page(HTMLParser):
    """A page as a browser reads it: elements, the text of each section, scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)
        self.close()
        assert not self._open, "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "br":
            self.handle_data(" ")
        if tag not in VOID:
            self._open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag: str) -> None:
        assert self._open[-1][0] == tag, f"</{tag}> closes <{self._open[-1][0]}>"
        if tag in BLOCKS:
            self.handle_data(" ")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
            return
        for name in {name for _, name in self._open if name}:
            self.texts[name] = self.texts.get(name, "") + data

    def text(self, name: str) -> str:
        """All text under the element of that id, white space folded."""
        return " ".join(self.texts.get(name, "").split())


Rendered = Callable[[Scan], Page]


@pytest.fixture
def rendered(meta: ReportMeta) -> Rendered:
    return lambda scan: Page(render_report(scan, meta))


def test_every_section_of_an_incident_is_there(rendered: Rendered, incident: Scan) -> None:
    page = rendered(incident)
    assert [name for name in (*SECTIONS, *HEADINGS) if not page.text(name)] == []


@pytest.mark.parametrize("name", ["timeline", "gaps", "policies", "causes", "orders", "findings"])
def test_a_section_without_content_says_why(rendered: Rendered, clean: Scan, name: str) -> None:
    text = rendered(clean).text(name)
    assert re.search(r"Not examined: |None: |None to draw: |No retry policy is named. ", text), text


@pytest.mark.parametrize("name", ["gaps", "policies", "causes", "orders"])
def test_without_payments_nothing_about_payments_looks_like_a_pass(rendered: Rendered, clean: Scan, name: str) -> None:
    page = rendered(replace(clean, payments=None))
    assert page.text(name).count("Not examined: no payments were given.") >= 1
    assert "no order could be checked" in page.text("summary")
    assert "not examined" in page.text("summary")


def test_the_first_screen_tells_what_how_much_why_and_how_sure(rendered: Rendered, incident: Scan) -> None:
    text = rendered(incident).text("summary")
    for part in (
        "1,284 orders were paid more than once.",
        "2,377 payments too many, booked between 2026-10-31 14:02:19 and 14:33:56 UTC (31 min 37 s)",
        "a client that waits 3 s for a reply, then 1, 2, 4 s; 4 attempts seen",
        "p-retry-default and 2 others",
        "A timeout does not mean failed; it means unknown.",
        "2,103 automatic retries, 205 redelivery by a queue",
        "×3.00 requests = ×1.05 users · ×2.86 retries",
        "Retries, not users. 66.3% of the incident’s requests were retries (65.2% to 67.5%), told by the",
        "very likely (0.97)",
        "The policy: likely (0.93)",
        "Lawful repeats are read from the rows, not from a contract; 41 rows were kept out as lawful",
        "settlement: no settlement was given. None of this is a pass.",
        "Give back what is in refunds.csv, after a second pair of eyes.",
    ):
        assert part in text


def test_the_statement_of_each_currency_adds_up(rendered: Rendered, incident: Scan) -> None:
    text = rendered(incident).text("summary")
    for line in (
        "Paid too much 187,654,300 12,345.67",
        "Already given back 5,120,400 310.00",
        "Give back now beyond doubt, ≥ 0.95 173,200,900 11,710.47",
        "Review first 9,333,000 325.20",
        "of which 76 given back, 2,183 in refunds.csv, 118 to review in review.csv",
    ):
        assert line in text
    assert 5_120_400 + 173_200_900 + 9_333_000 == 187_654_300
    assert Decimal("310.00") + Decimal("11710.47") + Decimal("325.20") == Decimal("12345.67")


def test_a_clean_ledger_is_said_to_be_clean_and_what_was_not_asked_is_said_too(rendered: Rendered, clean: Scan) -> None:
    text = rendered(clean).text("summary")
    assert "No order was paid more than once." in text
    assert "8,120 orders and 8,143 ledger rows were compared" in text
    assert "traffic: no access log was given. None of this is a pass." in text


def test_lawful_repeats_alone_are_not_called_duplicates(rendered: Rendered, clean: Scan) -> None:
    assert clean.payments is not None
    scan = replace(clean, payments=replace(clean.payments, duplicate_orders=4, legitimate_rows=4))
    text = rendered(scan).text("summary")
    assert "No order has a payment that must go back." in text
    assert "4 orders have more than one payment" in text


def test_refused_files_lost_rows_and_failed_questions_are_on_the_first_screen(
    rendered: Rendered, hostile: Scan
) -> None:
    text = rendered(hostile).text("summary")
    assert "This report does not rest on everything it was given." in text
    assert "could not be used: " in text
    assert "2 of 20 rows of " in text
    assert "(10.0%)" in text
    assert "failed and has no answer: " in text


def test_a_sound_case_carries_no_warning(rendered: Rendered, incident: Scan) -> None:
    assert "does not rest on everything" not in rendered(incident).text("summary")


def test_the_hint_of_a_refused_file_is_shown(rendered: Rendered, clean: Scan) -> None:
    refused = Refused("a/broken.xlsx", "broken.xlsx:1: not a workbook", "export it again as CSV")
    text = rendered(replace(clean, refused=(refused,))).text("refused")
    page = rendered(replace(clean, refused=(refused,)))
    assert "broken.xlsx:1: not a workbook" in page.text("sources")
    assert "hint: export it again as CSV" in page.text("sources")
    assert text == "Files that could not be used"


def test_every_row_of_a_worst_order_is_shown_with_its_place(rendered: Rendered, incident: Scan) -> None:
    text = rendered(incident).text("orders")
    members = [r for r in incident.rows if r.order_id == "ORD-20261031004514"]
    assert len(members) == 4
    for row in members:
        assert f"payments.csv:{row.line_no}" in text
        assert row.created_at.strftime("%Y-%m-%d %H:%M:%S.") + f"{row.created_at.microsecond // 1000:03}" in text
        assert f"{row.amount:,} KRW" in text
    assert "4.216 s" in text


def test_worst_orders_of_each_currency_take_turns(incident: Scan) -> None:
    groups, hidden = html._worst_groups(incident.rows, html.Caps())
    assert [next(iter(g.excess)) for g in groups[:4]] == ["KRW", "USD", "KRW", "USD"]
    assert len(groups) == 20
    assert hidden == 220
    won = [g.excess["KRW"] for g in groups if "KRW" in g.excess]
    assert won == sorted(won, reverse=True)


def test_how_many_orders_are_left_out_is_said(rendered: Rendered, incident: Scan) -> None:
    assert "220 more in duplicates.csv." in rendered(incident).text("orders")


def test_rows_below_the_refund_threshold_are_marked_for_review(rendered: Rendered, incident: Scan) -> None:
    row = next(r for r in incident.rows if r.role == "excess")
    sure, unsure = replace(row, excess_probability=0.96), replace(row, excess_probability=0.94)
    assert "excess review" not in rendered(replace(incident, rows=(sure,))).text("orders")
    assert "excess review" in rendered(replace(incident, rows=(unsure,))).text("orders")


def test_findings_are_articles_with_permalinks_gravest_first(rendered: Rendered, incident: Scan) -> None:
    page = rendered(incident)
    ids = [a["id"] for tag, a in page.elements if tag == "article"]
    assert ids == ["finding-duplicates-7d31c0", "finding-traffic-10ba2f", "finding-n-1"]
    text = page.text("finding-duplicates-7d31c0")
    for part in (
        "▲ high",
        "very likely (0.97)",
        "a lawful repeat 0.02",
        "4.183 s",
        "66.3%",
        "187,654,300 KRW",
        "12,345.67 USD",
    ):
        assert part in text, part
    assert "Evidence: 2,377 rows, 15 shown" in text
    assert "payments.csv:131" in text


def test_a_finding_carries_its_query_and_the_command_that_runs_it(rendered: Rendered, incident: Scan) -> None:
    text = rendered(incident).text("finding-duplicates-7d31c0")
    assert "forensics query case.duckdb duplicates/repeated_orders --set min_effects=2" in text
    assert " ".join(packs.get("duplicates/repeated_orders").sql.split()) in text
    assert "min_effects = 2" in text


def test_a_query_that_the_packs_do_not_hold_is_said_to_be_missing(rendered: Rendered, incident: Scan) -> None:
    finding = replace(incident.findings[2], query="no/such_query_at_all", id="x")
    text = rendered(replace(incident, findings=(finding,))).text("finding-x")
    assert "The packs of this version hold no query of that name." in text


def test_sources_carry_digest_zone_clock_and_counts(rendered: Rendered, incident: Scan) -> None:
    text = rendered(incident).text("sources")
    for source in incident.sources:
        assert source.sha256 in text
    for part in (
        "51,391 51,377 14",
        "Asia/Seoul",
        "given by --zone",
        "milliseconds",
        "14 rows end in the middle of a line",
    ):
        assert part in text, part


def test_tools_and_command_are_named(rendered: Rendered, incident: Scan, meta: ReportMeta) -> None:
    text = rendered(incident).text("made")
    assert f"forensics {meta.tool_version}" in text
    assert meta.command in text


def test_the_drawings_have_tables_with_the_same_numbers(rendered: Rendered, incident: Scan) -> None:
    page = rendered(incident)
    timeline = page.text("timeline")
    for traffic in incident.timeline:
        assert f"{traffic.first_attempts:,} {traffic.retries:,} {traffic.unnumbered:,}" in timeline
    assert sum(1 for tag, a in page.elements if tag == "svg" and a["class"] == "sketch") == 3
    assert incident.gap_picture is not None
    assert f"{max(incident.gap_picture.counts)}" in page.text("gaps")
    assert "23 longer gaps lie beyond the right edge" in page.text("gaps")
    assert any(tag == "noscript" for tag, _ in page.elements)


def test_figures_stand_in_the_page_as_json(rendered: Rendered, incident: Scan) -> None:
    islands = {a["id"]: json.loads(text) for a, text in rendered(incident).scripts if a.get("type")}
    assert islands.keys() == {"figure-gaps", "figure-residuals", "figure-timeline"}
    retries = next(t for t in islands["figure-timeline"]["data"] if t["name"] == "retries")
    assert retries["y"] == [b.retries for b in incident.timeline]
    assert incident.gap_picture is not None
    assert islands["figure-gaps"]["data"][0]["y"] == list(incident.gap_picture.counts)
    assert islands["figure-residuals"]["data"][0]["y"] == list(incident.gap_picture.residuals)


def _scripts_are_those_the_policy_allows(page: Page) -> None:
    content = next(a["content"] for t, a in page.elements if t == "meta" and a.get("http-equiv")) or ""
    allowed = re.findall(r"'sha256-([^']+)'", content)
    run = [text for a, text in page.scripts if a.get("type") != "application/json"]
    assert [base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in run] == allowed
    assert content.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in content


@pytest.mark.parametrize("name", ["incident", "clean", "hostile"])
def test_only_our_own_scripts_may_run(rendered: Rendered, name: str, request: pytest.FixtureRequest) -> None:
    scan: Scan = request.getfixturevalue(name)
    page = rendered(scan)
    _scripts_are_those_the_policy_allows(page)
    drawn = {"incident": 3, "clean": 0, "hostile": 1}[name]
    assert len(page.scripts) == (2 + drawn if drawn else 1)


@pytest.mark.parametrize("name", ["incident", "clean", "hostile"])
def test_no_element_loads_or_runs_anything(rendered: Rendered, name: str, request: pytest.FixtureRequest) -> None:
    for tag, attributes in rendered(request.getfixturevalue(name)).elements:
        assert tag not in ("img", "link", "iframe", "object", "embed", "base"), tag
        assert not [
            key for key in attributes if key.startswith("on") or key in ("src", "srcset", "action", "formaction")
        ]
        target = attributes.get("href")
        assert target is None or target in TWINS or re.fullmatch(r"#[A-Za-z0-9_-]+", target), target


def test_every_link_within_the_page_has_a_target(rendered: Rendered, incident: Scan) -> None:
    page = rendered(incident)
    ids = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    targets = {a["href"] for _, a in page.elements if (a.get("href") or "").startswith("#")}
    assert {f"#{name}" for name in ids} >= targets


def test_hostile_evidence_ends_up_as_text(rendered: Rendered, hostile: Scan) -> None:
    page = rendered(hostile)
    known = {"aria-hidden", "aria-label", "aria-labelledby", "aria-live", "autocomplete", "charset", "class", "colspan"}
    known |= {"content", "d", "data-cause", "data-figure", "datetime", "fill", "for", "height", "hidden", "href"}
    known |= {"http-equiv", "id", "lang", "name", "patterntransform", "patternunits", "placeholder", "role", "scope"}
    known |= {"spellcheck", "style", "tabindex", "text-anchor", "title", "type", "value", "viewbox", "width"}
    known |= {"x", "x1", "x2", "y", "y1", "y2"}
    assert {key for _, attributes in page.elements for key in attributes} <= known
    text = page.text("orders")
    for part in (
        "<script>alert(1)</script>",
        "</script><script>alert(2)</script>",
        "<!-- <script>",
        "javascript:alert(4)",
    ):
        assert part in text
    assert "{{ 7 * 7 }}{% raw %}" in text


def test_what_cannot_be_seen_is_spelled_out(meta: ReportMeta, hostile: Scan) -> None:
    page = render_report(hostile, meta)
    assert "\\u{202e}gnp.exe␀⏎␍⇥end" in page
    assert "\\u{d800} lone" in page
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    assert not re.search(r"[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f\ud800-\udfff]", body)
    assert page.encode("utf-8")


def test_a_string_of_a_megabyte_is_cut_where_it_stands(meta: ReportMeta, hostile: Scan) -> None:
    page = render_report(hostile, meta)
    assert "A" * 1300 not in page
    assert "AAAA…" in page
    assert len(page.encode()) <= BUDGET_BYTES


def test_the_same_scan_gives_the_same_bytes(meta: ReportMeta, incident: Scan) -> None:
    assert render_report(incident, meta) == render_report(replace(incident, rows=incident.rows[::-1]), meta)
    assert render_report(incident, meta) == render_report(incident, meta)


def test_thousands_of_orders_stay_within_the_budget(meta: ReportMeta, incident: Scan, many_rows: Scan) -> None:
    page = render_report(many_rows, meta)
    assert len(page.encode()) <= BUDGET_BYTES
    assert "4,980 more in" in page


def test_the_worst_input_we_could_think_of_stays_within_the_budget(meta: ReportMeta, hostile: Scan) -> None:
    wide = "\"'<>&" * 20_000
    row = replace(
        hostile.rows[1], order_id=wide, payment_id=wide, why=wide, policy=wide, alternatives=((wide, 0.5),) * 9
    )
    rows = tuple(
        replace(row, group_id=f"g{group}", line_no=line, created_at=row.created_at + timedelta(seconds=line))
        for group in range(60)
        for line in range(60)
    )
    finding = replace(hostile.findings[0], why=(wide,) * 300, next_steps=(wide,) * 300, statement=wide)
    finding = replace(
        finding, numbers={f"{i}{wide}": wide for i in range(30)}, parameters={f"p{i}": wide for i in range(30)}
    )
    source = replace(hostile.sources[0], notes=(wide,) * 50, mapping={f"{i}{wide}": wide for i in range(50)})
    scan = replace(
        hostile,
        rows=rows,
        findings=tuple(replace(finding, id=f"{i}") for i in range(200)),
        sources=tuple(replace(source, source_id=i) for i in range(300)),
        refused=(Refused(wide, wide, wide),) * 300,
        examined=hostile.examined * 300,
        policies=hostile.policies * 300,
    )
    assert len(render_report(scan, meta).encode()) <= BUDGET_BYTES


def test_equal_finding_ids_get_anchors_of_their_own(rendered: Rendered, incident: Scan) -> None:
    page = rendered(replace(incident, findings=incident.findings[2:] * 3))
    ids = [a["id"] for tag, a in page.elements if tag == "article"]
    assert len(set(ids)) == 3


def test_a_page_without_charts_carries_no_plotly(meta: ReportMeta, clean: Scan) -> None:
    assert len(render_report(clean, meta)) < 60_000


def test_more_currencies_than_the_first_screen_holds_are_in_the_table_below(rendered: Rendered, incident: Scan) -> None:
    assert incident.payments is not None
    sums = {code: Decimal("1.5") for code in ("BHD", "EUR", "JPY", "KRW", "USD")}
    page = rendered(replace(incident, payments=replace(incident.payments, excess_amount=sums)))
    assert "2 more currencies" in page.text("summary")
    assert "BHD 1.500" in page.text("causes")
    assert "JPY 1.5" in page.text("causes")


def test_tables_have_captions_and_headings_have_scope(rendered: Rendered, incident: Scan) -> None:
    page = rendered(incident)
    tags = [tag for tag, _ in page.elements]
    assert tags.count("table") == tags.count("caption")
    assert all(a.get("scope") in ("col", "row", "rowgroup") for tag, a in page.elements if tag == "th")


def test_rivals_that_lost_are_counted_and_ties_are_marked(rendered: Rendered, incident: Scan) -> None:
    lost = replace(incident.policies[1], ranked=replace(incident.policies[1].ranked, tied=False, probability=0.002))
    text = rendered(replace(incident, policies=(*incident.policies[:2], lost, *incident.policies[2:]))).text("policies")
    assert "tied a client that waits 3 s" in text
    assert "1 other policy was tried and lost" in text
    assert "a client that hears of the failure at once, then waits 30 s each time" in text


def test_a_cause_other_than_retries_leads_where_it_made_more_of_the_payments(
    rendered: Rendered, incident: Scan
) -> None:
    text = rendered(replace(incident, causes=incident.causes[1:])).text("summary")
    assert text.index("205 redelivery by a queue") < text.index("Among the retries: a client that waits 3 s")


def test_why_no_policy_is_named_comes_from_the_scan(rendered: Rendered, incident: Scan) -> None:
    said = replace(incident.findings[0], rule="policies/gaps", statement="The gaps of 12 orders follow no schedule.")
    page = rendered(replace(incident, policies=(), findings=(said,)))
    assert "No retry policy is named. The gaps of 12 orders follow no schedule." in page.text("summary")
    assert "No retry policy is named. The gaps of 12 orders follow no schedule." in page.text("policies")


def test_a_model_is_shown_with_every_one_of_its_assumptions(incident: Scan, meta: ReportMeta) -> None:
    assumed = tuple(f"assumption {n}: {'so it goes ' * 12}and ends" for n in range(6))
    page = render_report(replace(incident, what_if=WhatIf(5.0, assumed, (Supposed("as_seen", 213, 5),))), meta)
    assert all(text in page for text in assumed)
