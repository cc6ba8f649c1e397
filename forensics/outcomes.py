"""What a run said, read back: from its folder, from its findings.json, or from a case that is asked anew.

A case is asked and its answer written as text first, so that a case and a folder are read by the same words.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from forensics.case import Case
from forensics.errors import EvidenceError, UsageError
from forensics.model import Scan
from forensics.model.comparison import PastGroup, PastRow, PastRun
from forensics.render.export import SCHEMA, render_duplicates, render_findings

COUNTS = ("orders_with_excess", "excess_rows", "already_refunded_rows", "refund_rows", "review_rows")
MONEY = ("excess_amount", "already_refunded_amount", "refund_amount")
_CASE_NAME = "case.duckdb"


def read_run(path: Path, ask: Callable[[Case], Scan]) -> PastRun:
    """What the run at a path said.

    Args:
        path: a folder that a report was written to, the findings.json in it, or a case.
        ask: scans a case.

    Raises:
        UsageError: there is nothing of a run at the path.
        EvidenceError: its files are not those of a run.
        CaseError: it is a case that cannot be opened.
    """
    if path.is_dir():
        if (path / "findings.json").is_file():
            return _from_files(str(path), path / "findings.json")
        if (path / _CASE_NAME).is_file():
            return _from_case(str(path), path / _CASE_NAME, ask)
        raise UsageError(
            f"{path}: the folder holds neither findings.json nor {_CASE_NAME}", "name a folder that a report is in"
        )
    if path.suffix == ".json":
        return _from_files(str(path), path)
    return _from_case(str(path), path, ask)


def _from_case(name: str, path: Path, ask: Callable[[Case], Scan]) -> PastRun:
    with Case.open(path) as case:
        scan = ask(case)
    if scan.failed:
        failed = next(e for e in scan.examined if e.status == "failed")
        raise EvidenceError(f"{path}: the question {failed.question} failed: {failed.why}")
    return parse_run(name, render_findings(scan, ""), render_duplicates(scan))


def _from_files(name: str, findings: Path) -> PastRun:
    duplicates = findings.with_name("duplicates.csv")
    texts = []
    for path in (findings, duplicates):
        try:
            texts.append(path.read_text(encoding="utf-8"))
        except OSError as exc:
            raise UsageError(
                f"{path}: cannot be read: {exc.strerror}", "findings.json and duplicates.csv go together"
            ) from exc
        except UnicodeDecodeError as exc:
            raise EvidenceError(f"{path}: expected text in UTF-8, found other bytes at {exc.start}") from exc
    return parse_run(name, *texts)


def parse_run(name: str, findings: str, duplicates: str) -> PastRun:
    """What a run said, from the texts of its findings.json and duplicates.csv.

    Raises:
        EvidenceError: one of them is not what its name says.
    """
    try:
        document = json.loads(findings)
        schema = document.get("schema") if isinstance(document, dict) else None
        if schema != SCHEMA:
            raise EvidenceError(f"{name}: findings.json: expected schema {SCHEMA!r}, found {schema!r}")
        payments: Mapping[str, Any] = document.get("payments") or {}
        return PastRun(
            name=name,
            key=tuple((document.get("business_key") or {}).get("columns", ())),
            evidence={s["sha256"]: s["path"] for s in document["sources"]},
            groups=_groups(csv.DictReader(io.StringIO(duplicates))),
            findings={f["id"]: (f["severity"], f["title"]) for f in document["findings"]},
            counts={count: int(payments.get(count, 0)) for count in COUNTS},
            money={kind: _amounts(payments.get(kind, {})) for kind in MONEY},
        )
    except (ValueError, KeyError, TypeError, AttributeError, InvalidOperation, csv.Error) as exc:
        raise EvidenceError(
            f"{name}: findings.json or duplicates.csv is not as this tool writes it: {type(exc).__name__}: {exc}",
            "compare two runs of this version, or their cases",
        ) from exc


def _amounts(texts: Mapping[str, str]) -> dict[str, Decimal]:
    return {currency: Decimal(text) for currency, text in texts.items()}


def _groups(lines: Iterable[Mapping[str, str]]) -> dict[str, PastGroup]:
    rows: dict[str, list[PastRow]] = defaultdict(list)
    keys: dict[str, str] = {}
    for line in lines:
        keys[line["group_id"]] = line["business_key"]
        name = line["payment_id"] or f"{line['source']}:{line['line_no']}"
        rows[line["group_id"]].append(
            PastRow(name, line["role"], line["cause"], Decimal(line["amount"]), line["currency"], line["status"])
        )
    return {
        group_id: PastGroup(
            keys[group_id], tuple(sorted(found, key=lambda r: (r.name, r.role, r.amount, r.cause, r.status)))
        )
        for group_id, found in rows.items()
    }
