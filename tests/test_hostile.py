"""Evidence that tries to break out: of the page, of the spreadsheet, of the terminal, of the JSON. It stays text."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

FORMULAS = tuple("=+-@|%＝＋－＠")
TEXTS = {
    "script": "<script>alert(1)</script>",
    "closed script": "</script><script>alert(2)</script>",
    "comment": "<!-- <script> -->",
    "attribute": "\" onmouseover='alert(3)' x=\"",
    "link": "javascript:alert(4)",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1",
    "at": "@SUM(1+1)",
    "quotes": "'\"`",
    "line ends": "a\nforensics: error: no\r\nb",
    "NUL": "a\x00b",
    "bidi": "\u202egnp.exe\u2066",
    "ANSI": "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "template": "{{ 7 * 7 }}{% raw %}${x}",
    "long": "A" * 1_000_000,
}
VOID = {"meta", "br", "input", "link", "img"}
HEADINGS = ("payment_id", "order_id", "amount", "currency", "status", "created_at", "channel", "memo", "operator")
Run = Callable[..., Any]


class Page(HTMLParser):
    """A page as a browser reads it: its elements, its scripts, its visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1:] == ["script"]:
            self.scripts[-1] += data
        else:
            self.text += data


def ledger() -> str:
    """Two payments for each hostile order, 4 s apart; every free cell holds the hostile text."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADINGS)
    for n, text in enumerate(TEXTS.values()):
        for k, second in enumerate((0, 4)):
            name = f"{text}{n}" if len(text) < 1000 else text
            when = f"2026-11-30T13:{n:02}:{second:02}.000Z"
            writer.writerow([f"{text}{n}-{k}", name, "10000", "KRW", "APPROVED", when, text[:999], text, ""])
    return out.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, forensics: Run) -> Path:
    """What `investigate` makes of a hostile ledger in a file with a hostile name."""
    evidence = tmp_path_factory.mktemp("evidence") / "=cmd()<script>alert(5)<⁄script>\x1b[31m\u202e.csv"
    evidence.write_text(ledger(), encoding="utf-8")
    out = tmp_path_factory.mktemp("hostile")
    said = forensics("investigate", evidence, "--out", out)
    assert said.code == 0, said.err
    (out / "said.txt").write_text(said.out + said.err, encoding="utf-8", newline="")
    return out


@pytest.fixture(scope="module")
def findings(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    return found


def test_every_hostile_order_is_found_as_it_is_written(findings: dict[str, Any]) -> None:
    assert findings["sources"][0]["rows_rejected"] == 0
    assert findings["payments"]["orders"] == findings["payments"]["orders_with_excess"] == len(TEXTS)
    assert findings["payments"]["excess_amount"] == {"KRW": str(10_000 * len(TEXTS))}


def test_the_page_has_the_elements_of_a_harmless_one(folder: Path, demo: Any) -> None:
    hostile, harmless = (Page(text) for text in ((folder / "report.html").read_text("utf-8"), demo.text("report.html")))
    assert {tag for tag, _ in hostile.elements} <= {tag for tag, _ in harmless.elements}
    names = {name for page in (hostile, harmless) for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    links = [a.get("href") or a.get("src") or "" for _, a in hostile.elements]
    assert not [link for link in links if link.lower().startswith(("javascript:", "data:text", "http"))]


def test_no_script_of_the_page_holds_the_evidences_markup(folder: Path) -> None:
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert page.scripts
    for script in page.scripts:
        assert not [text for text in ("alert(1)</script", "<script>alert", "<!-- <script>") if text in script]


def test_the_evidence_is_shown_as_text(folder: Path) -> None:
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert "<script>alert(1)</script>" in page.text
    assert "{{ 7 * 7 }}" in page.text


def test_a_cell_of_a_million_letters_does_not_swell_the_page(folder: Path, demo: Any) -> None:
    assert len((folder / "report.html").read_bytes()) < 3 * len(demo.text("report.html").encode())


@pytest.mark.parametrize("name", ["duplicates.csv", "refunds.csv", "review.csv"])
def test_no_cell_of_a_table_is_run_by_a_spreadsheet(folder: Path, name: str) -> None:
    with (folder / name).open(encoding="utf-8", newline="") as file:
        csv.field_size_limit(10_000_000)
        rows = list(csv.reader(file))
    assert len({len(row) for row in rows}) == 1
    for cell in (cell for row in rows for cell in row):
        assert not cell.lstrip().startswith(FORMULAS), cell[:80]
        assert not {c for c in cell if (not c.isprintable() and c != " ") and c not in "\t\u200e\u200f"}, cell[:80]


def test_the_terminal_is_shown_nothing_that_it_obeys(folder: Path) -> None:
    text = (folder / "said.txt").read_text(encoding="utf-8")
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\nforensics: error" not in text


@pytest.mark.parametrize(
    "words",
    [
        ["sources"],
        ["query", "duplicates/rows_of_repeated_orders"],
        ["query", "duplicates/rows_of_repeated_orders", "--format", "csv"],
        ["query", "duplicates/rows_of_repeated_orders", "--format", "json"],
        ["query", "case/sources"],
        ["order", TEXTS["ANSI"] + "12"],
        ["order", "\x1b[2J no such order"],
    ],
)
def test_no_command_shows_the_terminal_anything_that_it_obeys(forensics: Run, folder: Path, words: list[str]) -> None:
    command, *rest = words
    said = forensics(command, folder / "case.duckdb", *rest)
    text = said.out + said.err
    assert text
    assert all(c.isprintable() or c == "\n" for c in text)


def test_no_name_in_the_evidence_looks_like_a_line_of_ours(forensics: Run, folder: Path) -> None:
    out = forensics("query", folder / "case.duckdb", "duplicates/repeated_orders").out
    assert len(out.splitlines()) == len(TEXTS) + 2


def test_a_file_name_that_is_no_unicode_is_said_or_used_but_does_not_crash(forensics: Run, tmp_path: Path) -> None:
    path = Path(str(tmp_path) + "/\udcff.csv")
    path.write_text(ledger()[:400].rsplit("\n", 1)[0] + "\n", encoding="utf-8")
    said = forensics("investigate", path, "--out", tmp_path / "out")
    assert "Traceback" not in said.err
    assert "this is a mistake in forensics" not in said.err
    assert "\\xdcff.csv" in said.err
