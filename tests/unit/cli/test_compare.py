"""forensics compare: two folders or cases, in words and as JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

LEDGER = """id,order_id,amount,currency,status,created_at,request_id
p1,A,10.00,EUR,captured,2026-03-02T10:00:00Z,r1
p2,A,10.00,EUR,captured,2026-03-02T10:00:05Z,r1
p3,B,20.00,EUR,captured,2026-03-02T10:00:06Z,r2
"""
MORE = LEDGER + "p4,B,20.00,EUR,captured,2026-03-02T10:00:09Z,r2\n"


@pytest.fixture
def runs(forensics: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs: `new` knows a second payment of order B."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("old", LEDGER), ("new", MORE)):
        (tmp_path / f"{name}.csv").write_text(text)
        assert forensics("investigate", f"{name}.csv", "--out", name).code == 0
    return tmp_path


def test_the_same_evidence_again_shows_no_differences(forensics: Any, runs: Path) -> None:
    assert forensics("investigate", "old.csv", "--out", "again").code == 0
    said = forensics("compare", "old", "again")
    assert (said.code, said.out.splitlines()) == (0, ["old        old", "new        again", "no differences"])


@pytest.mark.parametrize("new", ["new", "new/findings.json", "new/case.duckdb"])
def test_a_new_group_is_told_with_its_money(forensics: Any, runs: Path, new: str) -> None:
    lines = forensics("compare", "old", new).out.splitlines()
    assert "rows       payments too many: 1 -> 2" in lines
    assert "money      too much: 10 EUR -> 30 EUR" in lines
    assert "note       evidence of the new run only: new.csv" in lines
    assert "new        1 group" in lines
    (group,) = [line for line in lines if " B: " in line]
    assert group.endswith(" B: nothing -> 20 EUR; not among the repeated acts of the other run")
    assert "finding    changed: excess-payments: 1 order paid more than once -> 2 orders paid more than once" in lines


def test_json_holds_all_of_it_with_money_as_text(forensics: Any, runs: Path) -> None:
    found = json.loads(forensics("compare", "new", "old", "--format", "json").out)
    assert (found["schema"], found["same"]) == ("forensics-comparison/1", False)
    (group,) = found["groups"]
    assert (group["kind"], group["business_key"]) == ("gone", "B")
    assert (group["old_excess"], group["new_excess"]) == ({"EUR": "20"}, {})
    assert found["counts"]["excess_rows"] == {"old": 2, "new": 1}
    assert found["money"][0] == {
        "name": "excess_amount", "currency": "EUR", "old": "30", "new": "10", "difference": "-20",
    }  # fmt: skip


def test_a_decision_shows_as_a_group_that_is_gone(forensics: Any, runs: Path) -> None:
    with (runs / "old" / "duplicates.csv").open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    decision = f"{row['group_id']},{row['group_state']},not a duplicate,jin,two people,"
    (runs / "d.csv").write_text(f"group_id,group_state,decision,by,why,until\n{decision}\n")
    said = forensics("investigate", "old.csv", "--out", "decided", "--decisions", "d.csv")
    assert "decided    1 of 1 decision applied: 1 payment taken out of the excess, 0 called duplicates" in said.out
    assert "p2" not in (runs / "decided" / "refunds.csv").read_text()
    assert "Decided by people" in (runs / "decided" / "report.html").read_text()
    lines = forensics("compare", "old", "decided").out.splitlines()
    assert "gone       1 group" in lines
    assert any("p2: role excess -> legitimate" in line for line in lines)


def test_where_there_is_no_run_one_sentence_says_so(forensics: Any, runs: Path) -> None:
    (runs / "empty").mkdir()
    said = forensics("compare", "old", "empty")
    assert said.code == 2
    assert said.err.startswith("forensics: error: empty: the folder holds neither findings.json nor case.duckdb\n")
    assert forensics("compare", "old", "old.csv").code == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("findings.json", "{"),
        ("findings.json", "[]"),
        ("findings.json", '{"schema": "forensics/0"}'),
        ("findings.json", '{"schema": "forensics/1"}'),
        ("duplicates.csv", "group_id,business_key\ng,A\n"),
        (
            "duplicates.csv",
            "group_id,business_key,payment_id,role,cause,amount,currency,status\ng,A,p,kept,,ten,EUR,x\n",
        ),
    ],
)
def test_files_that_are_no_run_are_refused_in_one_sentence(forensics: Any, runs: Path, name: str, text: str) -> None:
    (runs / "new" / name).write_text(text)
    said = forensics("compare", "old", "new")
    assert said.code == 1
    assert said.err.startswith("forensics: error: new: findings.json")
    assert "mistake in forensics" not in said.err
