"""A case in a notebook: answers draw themselves, evidence stays text, and the example runs from top to bottom."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from forensics.errors import CaseError, UsageError
from forensics.notebook import NotebookCase, open_case

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "first_look.ipynb"
PAYMENTS = """\
id,order_id,amount,currency,status,created_at
1,<b>A</b>,10000,KRW,APPROVED,2026-11-30T13:00:00.000Z
2,<b>A</b>,10000,KRW,APPROVED,2026-11-30T13:00:04.000Z
3,B,5000.50,KRW,APPROVED,2026-11-30T13:01:00.000Z
4,B,5000.50,KRW,APPROVED,2026-11-30T13:01:05.000Z
"""


class Table(HTMLParser):
    """The cells of a table as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1][-1] += data


@pytest.fixture
def case(forensics: Callable[..., Any], tmp_path: Path) -> NotebookCase:
    (tmp_path / "payments.csv").write_text(PAYMENTS, encoding="utf-8")
    assert forensics("load", tmp_path / "c.duckdb", tmp_path / "payments.csv").code == 0
    return open_case(tmp_path / "c.duckdb")


def test_an_answer_draws_itself_as_a_table_and_evidence_stays_text(case: NotebookCase) -> None:
    table = Table(case.show("duplicates/repeated_orders")._repr_html_())
    assert set(table.tags) == {"table", "thead", "tbody", "tr", "th", "td"}
    assert [row[0] for row in table.rows] == ["business_key", "<b>A</b>", "B"]
    assert "10001" in table.rows[2]  # twice 5000.50, exact


def test_an_answer_is_plain_text_where_there_is_no_browser(case: NotebookCase) -> None:
    assert repr(case.show("duplicates/repeated_orders")).splitlines()[-1] == "(2 rows)"


def test_only_the_first_rows_are_drawn_and_the_rest_is_at_hand(case: NotebookCase) -> None:
    shown = case.show("duplicates/repeated_orders", rows=1)
    assert "<p>1 more row in .result</p>" in shown._repr_html_()
    assert len(shown.result) == 2


def test_parameters_are_those_of_the_query_whatever_their_names(case: NotebookCase) -> None:
    assert len(case.show("duplicates/repeated_orders", min_effects=3).result) == 0
    with pytest.raises(UsageError, match="has no parameter 'name'"):
        case.show("duplicates/repeated_orders", name="x")


def test_a_case_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="there is no such case"):
        open_case(tmp_path / "absent.duckdb")


# The example ----------------------------------------------------------------------------------------------------


def cells() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return found


def test_the_notebook_is_kept_without_outputs() -> None:
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.parametrize("place", ["", "examples"])
def test_the_notebook_runs_from_top_to_bottom_after_a_demo(
    demo: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "reports").mkdir()
    (tmp_path / "examples").mkdir()
    (tmp_path / "reports" / "demo").symlink_to(demo.folder)
    monkeypatch.chdir(tmp_path / place)
    names: dict[str, Any] = {}
    out = io.StringIO()
    with redirect_stdout(out):
        for number, cell in enumerate(cells()):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)  # noqa: S102
    summary = demo.findings["payments"]
    orders = f"{summary['orders_with_excess']} of {summary['orders']} orders were paid more than once"
    assert orders in out.getvalue()
    assert summary["excess_amount"]["KRW"] in out.getvalue()
