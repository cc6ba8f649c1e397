"""A case in a notebook: answers as tables that show themselves, nothing else.

from forensics.notebook import open_case

case = open_case("reports/demo/case.duckdb")
case.show("duplicates/repeated_orders", min_effects=3)
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from forensics.amounts import many
from forensics.case import Case
from forensics.render import tabular
from forensics.runner import Result


class Shown:
    """A result that a notebook draws as a table; `result` holds the rows, exact."""

    def __init__(self, result: Result, rows: int) -> None:
        self.result = result
        self._rows = rows

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in self.result.columns)
        cells = tabular.text_rows(self.result.rows[: self._rows])
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
        more = len(self.result) - self._rows
        note = f"<p>{many(more, 'more row')} in .result</p>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"

    def __repr__(self) -> str:
        return tabular.render(self.result.columns, self.result.rows[: self._rows], "table")


class NotebookCase(Case):
    """A case whose queries show themselves."""

    def show(self, name: str, /, rows: int = 20, **parameters: Any) -> Shown:
        """Run one query of the packs and show its first rows."""
        return Shown(self.query(name, **parameters), rows)


def open_case(path: Path | str) -> NotebookCase:
    """An existing case, to be read.

    Raises:
        CaseError: there is none, or it cannot be opened.
    """
    case = NotebookCase(path)
    case.sources()
    return case
