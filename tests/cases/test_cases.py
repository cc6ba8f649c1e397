"""Public cases, each on the fewest rows that show it: see README.md beside this file."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from forensics import Case
from forensics.case import write_reports
from forensics.model import Scan
from forensics.render.html import ReportMeta

HERE = Path(__file__).parent
LETTERS = {"kept": "K", "excess": "X", "refunded": "R", "legitimate": "L", "not_an_effect": "N"} | {
    "recorded_twice": "T",
    "second_checkout": "S",
}
FILES = {"payments": "payments.csv", "log": "access.jsonl", "settlement": "settlement.csv"}
CASES = [c for path in sorted(HERE.glob("*.toml")) for c in tomllib.loads(path.read_text(encoding="utf-8"))["case"]]


def investigate(case: Mapping[str, Any], folder: Path) -> Scan:
    """What a scan of the case's files finds; the reports are written beside them."""
    for name in FILES.keys() & case.keys():
        (folder / FILES[name]).write_text(case[name].lstrip(), encoding="utf-8")
    with Case(folder / "case.duckdb") as opened:
        loaded = opened.load([folder / FILES[name] for name in FILES if name in case])
        assert not loaded.refused
        scan = opened.scan()
    write_reports(scan, folder / "report", ReportMeta("test", "forensics", case["id"]))
    return scan


def rows_of(report: Path, name: str) -> list[dict[str, str]]:
    with (report / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_a_public_case_ends_with_its_verdict(case: dict[str, Any], tmp_path: Path) -> None:
    scan = investigate(case, tmp_path)
    report = tmp_path / "report"
    judged = rows_of(report, "duplicates.csv")
    letters = {int(r["line_no"]): LETTERS[r["role"]] for r in judged}
    lines = len(case["payments"].strip().splitlines())
    assert "".join(letters.get(n, ".") for n in range(2, lines + 1)) == case["roles"]
    refunds = rows_of(report, "refunds.csv")
    most = case.get("refunds", 0 if case["id"].startswith("LEG") else case["roles"].count("X"))
    assert len(refunds) == most if "refunds" in case else len(refunds) <= most
    assert len(rows_of(report, "review.csv")) == case.get("review", len(rows_of(report, "review.csv")))
    if "cause" in case:
        assert {r["cause"] for r in judged if r["role"] == "excess"} == {case["cause"]}
    if "not_cause" in case:
        assert case["not_cause"] not in {r["cause"] for r in judged}
    if "class" in case:
        assert [r["lawful_class"] for r in judged if r["role"] == "legitimate"][-1] == case["class"]
    if "finding" in case:
        assert case["finding"] in {f.rule for f in scan.findings}
