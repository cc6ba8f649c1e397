"""Bank statements in the forms of banks, as JSON lines: one entry a line, under the names of their standard."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from forensics.errors import EvidenceError
from forensics.sources import camt, mt940
from forensics.sources.evidence import Evidence

FORMS = ("camt.052", "camt.053", "camt.054", "mt940")
"""What `Evidence.container` is then called."""
_HEAD = 1 << 16


def unfold(evidence: Evidence, workdir: Path) -> Evidence:
    """The evidence with each entry of a statement on a line; as it is where it is no statement.

    Raises:
        EvidenceError: a statement that cannot be read, or that has no entries.
    """
    if evidence.container != "text":
        return evidence
    with evidence.readable.open(encoding="utf-8", errors="replace") as file:
        head = file.read(_HEAD)
    form = camt.form_of(head) or ("mt940" if mt940.is_swift(head) else None)
    if form is None:
        return evidence
    read: Callable[[Path], Iterable[camt.Row]] = mt940.read_lines if form == "mt940" else camt.read_entries
    target = workdir / f"{evidence.sha256[:16]}.entries.jsonl"
    with target.open("w", encoding="utf-8", newline="\n") as out:
        try:
            count = sum(1 for _ in _written(read(evidence.readable), out.write))
        except ValueError as exc:
            raise EvidenceError(f"{evidence.path}: the {form} statement cannot be read: {exc}", _WHAT_TO_DO) from exc
        except ImportError as exc:
            raise EvidenceError(
                f"{evidence.path}: a SWIFT statement, which needs the package mt-940",
                "pip install 'payment-forensics[mt940]'",
            ) from exc
    if not count:
        raise EvidenceError(f"{evidence.path}: a {form} statement without entries", "check the days of the statement")
    notes = (*evidence.notes, "lines are the entries of the statement, numbered from 1")
    return replace(evidence, container=form, readable=target, lines=count, notes=notes)


_WHAT_TO_DO = "export the statement again, or as CSV"


def _written(rows: Iterable[camt.Row], write: Callable[[str], object]) -> Iterator[camt.Row]:
    for row in rows:
        write(json.dumps(row, ensure_ascii=False) + "\n")
        yield row
