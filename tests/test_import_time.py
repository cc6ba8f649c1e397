"""What costs time to import is imported when it is needed: help must be instant."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"duckdb", "numpy", "pandas", "plotly", "sqlglot", "jinja2", "scipy", "pyarrow", "charset_normalizer"}
LOADED = """
import sys
sys.argv = ["forensics", *{words!r}]
from forensics.cli import main
try:
    main()
finally:
    print(*sorted({{name.partition(".")[0] for name in sys.modules}}), file=sys.stderr)
"""


def modules_after(*words: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", LOADED.format(words=words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_help_and_version_import_nothing_heavy(words: tuple[str, ...]) -> None:
    assert modules_after(*words) & HEAVY == set()


def test_what_reads_evidence_imports_neither_arrays_nor_templates(tmp_path: Path) -> None:
    ledger, case = tmp_path / "payments.csv", tmp_path / "case.duckdb"
    ledger.write_text("order_id,amount,currency,created_at,status\nA,10.00,EUR,2026-03-14T09:00:00Z,captured\n")
    for words in (("load", case, ledger), ("sources", case), ("order", case, "A")):
        assert modules_after(*map(str, words)) & (HEAVY - {"duckdb"}) == set()


def test_importing_the_package_imports_nothing_heavy() -> None:
    program = "import sys, forensics; print(*{n.partition('.')[0] for n in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) & HEAVY == set()


def test_nothing_ever_imports_pandas_or_scipy() -> None:
    assert modules_after("match", "4.0", "5.1", "7.2") & {"pandas", "scipy"} == set()
