"""Rows of a query as a table for people, or as CSV or JSON lines for machines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from forensics.amounts import plain
from forensics.render.export import neutral
from forensics.render.words import iso

FORMATS = ("table", "csv", "json")
_WIDEST = 48


def render(columns: Sequence[str], rows: Sequence[Sequence[Any]], form: str) -> str:
    """The rows in one of FORMATS, each line ended.

    Raises:
        ValueError: no such format.
    """
    if form == "csv":
        return _csv(columns, rows)
    if form == "json":
        return "".join(
            _escaped(json.dumps(dict(zip(columns, map(_json, row), strict=True)), ensure_ascii=False)) + "\n"
            for row in rows
        )
    if form == "table":
        return _table(columns, rows)
    raise ValueError(form)


def text_rows(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """Cells as text: times as ISO 8601 UTC, decimals exact, NULL empty."""
    return [[_text(value) for value in row] for row in rows]


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return iso(value) or ""
    return plain(value) if isinstance(value, Decimal) else str(value)


def _json(value: Any) -> Any:
    return _text(value) if isinstance(value, datetime | Decimal) else value


def _escaped(document: str) -> str:
    """JSON in which what a terminal would obey is escaped: outside its strings there is nothing of the kind."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in document)


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([neutral(_text(value)) for value in row] for row in rows)
    return out.getvalue()


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [[_shown(_text(value)) for value in row] for row in rows]
    widths = [max([len(name), *(len(row[i]) for row in cells)]) for i, name in enumerate(columns)]
    numeric = [
        bool(rows) and all(isinstance(r[i], int | float | Decimal | None) for r in rows) for i in range(len(columns))
    ]
    lines = ["  ".join(name.ljust(w) for name, w in zip(columns, widths, strict=True))]
    lines += [
        "  ".join(c.rjust(w) if right else c.ljust(w) for c, w, right in zip(row, widths, numeric, strict=True))
        for row in cells
    ]
    lines.append(f"({len(rows)} row{'' if len(rows) == 1 else 's'})")
    return "".join(line.rstrip() + "\n" for line in lines)


def _shown(text: str) -> str:
    """One line, at most _WIDEST characters, nothing that a terminal obeys."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"
