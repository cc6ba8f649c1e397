"""Settings of the whole suite, and what many tests look at: the examples, and what the tool makes of them, made once.

A run must give the same verdict twice, so hypothesis draws from a fixed seed;
`HYPOTHESIS_PROFILE=search pytest tests/laws` looks for new counterexamples.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import settings

from forensics import cli

settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered (stdout), told (stderr) and decided (exit code)."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Report:
    """A folder that a command wrote, and what it said meanwhile."""

    folder: Path
    said: Said

    def text(self, name: str) -> str:
        """One of its files."""
        return (self.folder / name).read_text(encoding="utf-8")

    @property
    def findings(self) -> dict[str, Any]:
        """findings.json."""
        found: dict[str, Any] = json.loads(self.text("findings.json"))
        return found


Run = Callable[..., Said]


def run_here(*words: object) -> Said:
    """Run a command in this process, which spares the imports."""
    out, err = io.StringIO(), io.StringIO()
    with patch.object(sys, "argv", ["forensics", *map(str, words)]), redirect_stdout(out), redirect_stderr(err):
        try:
            code = cli.run()
        except SystemExit as exc:
            code = int(str(exc.code or 0))
    return Said(int(code), out.getvalue(), err.getvalue())


def run_apart(*words: object, cwd: Path | None = None) -> Said:
    """Run the installed command in a process of its own, as a shell does."""
    command = [str(Path(sys.executable).with_name("forensics")), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def forensics() -> Run:
    """Runs a command in this process."""
    return run_here


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """`forensics demo`, run once."""
    folder = tmp_path_factory.mktemp("demo")
    return Report(folder, run_apart("demo", "--out", folder))


@pytest.fixture(scope="session")
def textbook(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """One of examples/textbook, investigated once."""

    @cache
    def investigated(name: str) -> Report:
        evidence = ROOT / "examples" / "textbook" / name
        folder = tmp_path_factory.mktemp("textbook") / name
        said = run_here("investigate", evidence / "payments.csv", evidence / "access.log", "--out", folder)
        return Report(folder, said)

    return investigated
