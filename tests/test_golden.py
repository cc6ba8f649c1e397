"""What the tool says of examples/textbook/no-key, kept as files to be reviewed: tests/golden/no-key.

Probabilities and confidences are kept to one decimal: their digits move with the matcher's tuning and with the version
of numpy, and are tested where they are made. The version of the tool is left out. When an answer is meant to change,
copy what the failing test wrote over the kept files, and let the change be reviewed.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KEPT = Path(__file__).parent / "golden" / "no-key"
UNSTEADY = ("probability", "confidence", "share", "explained_share")


def steady(value: Any, name: str = "") -> Any:
    """A document whose probabilities have one decimal and whose version is left out."""
    if isinstance(value, dict):
        return {key: "*" if key == "version" else steady(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [steady(inner) for inner in value]
    return round(value, 1) if isinstance(value, float) and name in UNSTEADY else value


def steady_json(text: str) -> str:
    return json.dumps(steady(json.loads(text)), sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def steady_csv(text: str) -> str:
    out = io.StringIO()
    rows = list(csv.DictReader(io.StringIO(text)))
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({**row, "confidence": f"{float(row['confidence']):.1f}"} for row in rows)
    return out.getvalue()


def steady_words(text: str) -> str:
    return re.sub(r"(probability|excess) (\d\.\d+)", lambda m: f"{m[1]} {float(m[2]):.1f}", text)


@pytest.fixture(scope="module")
def made(textbook: Callable[[str], Any]) -> dict[str, str]:
    report = textbook("no-key")
    return {
        "findings.json": steady_json(report.text("findings.json")),
        "duplicates.csv": steady_csv(report.text("duplicates.csv")),
        "refunds.csv": steady_csv(report.text("refunds.csv")),
        "summary.txt": steady_words(report.said.out.replace(str(report.folder), "reports/no-key")),
    }


@pytest.mark.parametrize("name", ["findings.json", "duplicates.csv", "refunds.csv", "summary.txt"])
def test_the_answer_is_the_one_that_was_reviewed(made: dict[str, str], name: str, tmp_path: Path) -> None:
    kept = (KEPT / name).read_text(encoding="utf-8") if (KEPT / name).exists() else ""
    if made[name] != kept:
        (tmp_path / name).write_text(made[name], encoding="utf-8", newline="\n")
        shown = difflib.unified_diff(
            kept.splitlines(True), made[name].splitlines(True), f"kept/{name}", f"made/{name}", n=2
        )
        pytest.fail(f"{''.join(shown)}\nif this is meant: cp {tmp_path / name} {KEPT / name}", pytrace=False)
