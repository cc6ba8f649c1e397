"""decisions.csv, and [[decision]] in the settings: what people decided about groups of payments."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from forensics.errors import UsageError
from forensics.model import Decision
from forensics.settings.fields import Field

FIELDS = {
    "group_id": Field(str, "the group_id of duplicates.csv"),
    "business_key": Field(str, "the business_key of duplicates.csv"),
    "group_state": Field(str, "the group_state of duplicates.csv", required=True),
    "decision": Field(str, '"duplicate" or "not a duplicate"', required=True),
    "by": Field(str, "who decided", required=True),
    "why": Field(str, "the reason", required=True),
    "until": Field(str, 'the last day on which it counts, such as "2027-03-31"'),
}
"""Columns of a decisions file and keys of a [[decision]]."""
_WORDS = {"duplicate": True, "not a duplicate": False, "not_a_duplicate": False, "not duplicate": False}


def read_decisions(path: Path) -> tuple[Decision, ...]:
    """The decisions of a CSV file, in order.

    Raises:
        UsageError: it cannot be read, lacks a column, or a line says what cannot be followed.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            _check_columns(path, reader.fieldnames or [])
            return tuple(
                decision_of(f"{path.name}:{reader.line_num}", {k: (v or "").strip() for k, v in line.items() if k})
                for line in reader
                if any(cell and cell.strip() for key, cell in line.items() if key)
            )
    except OSError as exc:
        raise UsageError(f"{path}: the decisions cannot be read: {exc.strerror}", "check the path") from exc
    except UnicodeDecodeError as exc:
        raise UsageError(
            f"{path}: expected CSV in UTF-8, found other bytes at {exc.start}", "save it as UTF-8"
        ) from exc
    except csv.Error as exc:
        raise UsageError(f"{path}: expected CSV with commas: {exc}") from exc


def decision_of(where: str, cells: Mapping[str, str]) -> Decision:
    """One decision from its cells, blank ones as if they were not there.

    Raises:
        UsageError: a cell is missing or says what cannot be followed; the message begins with `where`.
    """
    for name, field in FIELDS.items():
        if field.required and not cells.get(name):
            raise UsageError(f"{where}: {name} is blank; expected {field.expected}")
    if not cells.get("group_id") and not cells.get("business_key"):
        raise UsageError(
            f"{where}: expected a group_id or a business_key, found neither", "copy it from duplicates.csv"
        )
    said = " ".join(cells["decision"].casefold().split())
    if said not in _WORDS:
        raise UsageError(f"{where}: decision: expected {FIELDS['decision'].expected}, found {cells['decision']!r}")
    return Decision(
        group_id=cells.get("group_id") or None,
        business_key=cells.get("business_key") or None,
        group_state=cells["group_state"],
        is_duplicate=_WORDS[said],
        by=cells["by"],
        why=cells["why"],
        until=_day(where, cells.get("until", "")),
        where=where,
    )


def _check_columns(path: Path, found: object) -> None:
    names = [str(name) for name in found] if isinstance(found, list | tuple) else []
    missing = [n for n, field in FIELDS.items() if field.required and n not in names]
    if missing or not {"group_id", "business_key"} & set(names):
        lacking = missing or ["group_id (or business_key)"]
        raise UsageError(
            f"{path}:1: no column is called {' or '.join(lacking)}; the columns are: {', '.join(names) or 'none'}",
            f"expected {','.join(FIELDS)}",
        )
    unknown = [n for n in names if n not in FIELDS]
    if unknown:
        raise UsageError(f"{path}:1: unknown column {unknown[0]!r}; expected {', '.join(FIELDS)}")


def _day(where: str, text: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError as exc:
        raise UsageError(f"{where}: until: expected {FIELDS['until'].expected}, found {text!r}") from exc
