"""The examples are what their makers say, and the tool finds in them exactly what was planted."""

from __future__ import annotations

import csv
import io
import json
import runpy
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
Rows = list[dict[str, str]]


def rows_of(text: str) -> Rows:
    return list(csv.DictReader(io.StringIO(text)))


# lost-replies ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def truth() -> Rows:
    return rows_of((EXAMPLES / "lost-replies" / "truth.csv").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def duplicates(demo: Any) -> Rows:
    return rows_of(demo.text("duplicates.csv"))


def test_the_maker_makes_the_committed_files_again_byte_for_byte(tmp_path: Path) -> None:
    make = runpy.run_path(str(EXAMPLES / "make_lost_replies.py"))["main"]
    make(tmp_path)
    made, kept = (
        {p.name: p.read_bytes() for p in folder.iterdir()} for folder in (tmp_path, EXAMPLES / "lost-replies")
    )
    assert made == kept


def test_the_demo_finds_every_planted_payment_and_no_other(truth: Rows, duplicates: Rows) -> None:
    planted = {r["payment_id"]: r["cause"] for r in truth if r["is_excess"] == "1"}
    found = {r["payment_id"]: r["cause"] for r in duplicates if r["role"] in ("excess", "refunded")}
    assert found == planted


def test_the_demo_tells_the_refunds_already_made(truth: Rows, duplicates: Rows, demo: Any) -> None:
    # A refund in the example names no payment: one excess payment of the same order and amount went back for each.
    given_back = Counter((r["order_no"], r["amount"].lstrip("-")) for r in truth if r["amount"].startswith("-"))
    refunded = [r for r in duplicates if r["role"] == "refunded"]
    assert Counter((r["order_id"], r["amount"]) for r in refunded) == given_back
    payments = demo.findings["payments"]
    assert payments["already_refunded_rows"] == sum(given_back.values()) == 6
    assert payments["already_refunded_amount"] == {"KRW": str(sum(int(amount) for _, amount in given_back.elements()))}


def test_the_demos_money_is_exact(truth: Rows, demo: Any) -> None:
    money: dict[str, list[int]] = defaultdict(list)
    for row in truth:
        if row["is_excess"] == "1":
            money[row["cause"]].append(int(row["amount"]))
    payments = demo.findings["payments"]
    assert payments["excess_rows"] == sum(map(len, money.values()))
    assert payments["excess_amount"] == {"KRW": str(sum(map(sum, money.values())))}
    assert demo.findings["causes"] == {
        cause: {"rows": len(amounts), "amount": {"KRW": str(sum(amounts))}} for cause, amounts in money.items()
    }


def test_the_demo_names_the_planted_policy_and_growth(demo: Any) -> None:
    policy, traffic = demo.findings["policies"][0], demo.findings["traffic"]
    assert (policy["shape"], policy["base_s"], policy["factor"], policy["timeout_s"]) == ("exponential", 1.0, 2.0, 3.0)
    assert (policy["schedule_s"], policy["jitter"], policy["max_attempts"]) == ([1.0, 2.0, 4.0], "none", 4)
    assert traffic["verdict"] == "retries"
    # Planted from 10:10 to 10:22; with nine orders a minute the edges are found to the minute.
    assert "2026-11-30T10:09" <= traffic["incident_start"] < "2026-11-30T10:11"
    assert "2026-11-30T10:21" <= traffic["incident_end"] < "2026-11-30T10:23"


def test_refunds_csv_asks_only_for_planted_payments_that_have_not_gone_back(
    truth: Rows, duplicates: Rows, demo: Any
) -> None:
    planted = {r["payment_id"] for r in truth if r["is_excess"] == "1"}
    back = {r["payment_id"] for r in duplicates if r["role"] == "refunded"}
    asked = [r["payment_id_to_refund"] for r in rows_of(demo.text("refunds.csv"))]
    assert len(asked) == len(set(asked)) == demo.findings["payments"]["refund_rows"]
    assert set(asked) <= planted - back


# textbook -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "excess", "money", "keys"),
    [
        ("no-key", 3, {"KRW": "30000"}, {"none": 4}),
        ("one-key", 0, {}, {"one_key": 4}),
        ("key-per-attempt", 3, {"KRW": "30000"}, {"key_per_attempt": 4}),
    ],
)
def test_the_textbook_runs_tell_what_keys_are_for(
    textbook: Callable[[str], Any], name: str, excess: int, money: dict[str, str], keys: dict[str, int]
) -> None:
    findings = textbook(name).findings
    assert findings["payments"]["excess_rows"] == findings["payments"]["refund_rows"] == excess
    assert findings["payments"]["excess_amount"] == findings["payments"]["refund_amount"] == money
    (sender,) = findings["keys"]["senders"]
    assert {mode: orders for mode, orders in sender["modes"].items() if orders} == keys
    assert (sender["payments"], sender["payments_with_one_key_per_act"]) == (4 + excess, 4)
    assert sum(cause["rows"] for cause in findings["causes"].values()) == excess
    assert set(findings["causes"]) <= {"retry"}


@pytest.mark.parametrize(("name", "waits"), [("no-key", [1.0, 2.0]), ("key-per-attempt", [1.0, 2.0, 4.0])])
def test_the_textbook_client_is_recognised(textbook: Callable[[str], Any], name: str, waits: list[float]) -> None:
    strongest = textbook(name).findings["policies"][0]
    assert (strongest["shape"], strongest["timeout_s"], strongest["schedule_s"]) == ("exponential", 3.0, waits)


# all ------------------------------------------------------------------------------------------------------------


def test_every_example_is_told_in_the_readme() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    folders = {p.parent.relative_to(EXAMPLES).as_posix() for p in EXAMPLES.rglob("payments.csv")}
    assert all(f"`{folder}/`" in text for folder in folders)


def test_findings_of_the_examples_are_sorted_and_hold_no_path_of_this_machine(demo: Any) -> None:
    text = demo.text("findings.json")
    assert text == json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False, indent=1) + "\n"
    assert str(EXAMPLES.parent) not in text
