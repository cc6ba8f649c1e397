"""The wheel is whole: installed alone, far from the repository, it runs the demo and has every query."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


def call(*words: object, cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the repository as it stands."""
    folder = tmp_path_factory.mktemp("dist")
    isolation = ["--no-isolation"] if find_spec("hatchling") else []
    call(sys.executable, "-m", "build", "--wheel", *isolation, "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed from the wheel into an environment of its own."""
    folder = tmp_path_factory.mktemp("venv")
    call(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    options = ["--quiet", "--disable-pip-version-check", "--no-compile", "--prefer-binary"]
    call(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel, cwd=folder)
    return folder / "bin" / "forensics"


@pytest.fixture
def elsewhere() -> Mapping[str, str]:
    """An environment in which nothing leads back to the repository."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def test_the_wheel_holds_the_package_the_queries_and_the_examples_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"forensics"}
    kept = {p.relative_to(ROOT).as_posix() for top in ("queries", "examples") for p in (ROOT / top).rglob("*.*")}
    kept = {name for name in kept if "__pycache__" not in name and not (ROOT / name).is_dir()}
    assert {f"forensics/{name}" for name in kept} <= set(names)
    assert any(name.endswith("/LICENSE") for name in names)


def test_the_demo_runs_from_an_empty_folder(
    installed: Path, elsewhere: Mapping[str, str], demo: Any, tmp_path: Path
) -> None:
    printed = call(installed, "demo", cwd=tmp_path, environment=elsewhere).splitlines()
    expected = demo.said.out.replace(str(demo.folder), "reports/demo").splitlines()
    # Other versions of numpy may round a probability otherwise; nothing else may differ.
    assert [line for line in printed if "probability" not in line] == [x for x in expected if "probability" not in x]
    for name in ("report.html", "duplicates.csv", "refunds.csv", "case.duckdb"):
        assert (tmp_path / "reports" / "demo" / name).is_file()
    found = json.loads((tmp_path / "reports" / "demo" / "findings.json").read_text(encoding="utf-8"))
    assert (found["payments"], found["causes"]) == (demo.findings["payments"], demo.findings["causes"])


def test_every_query_of_the_folder_is_in_the_wheel(
    installed: Path, elsewhere: Mapping[str, str], tmp_path: Path
) -> None:
    listed = [line.split()[0] for line in call(installed, "queries", cwd=tmp_path, environment=elsewhere).splitlines()]
    assert listed == sorted(
        p.relative_to(ROOT / "queries").with_suffix("").as_posix() for p in ROOT.glob("queries/*/*.sql")
    )


def test_the_catalogue_and_the_formats_are_in_the_wheel(
    installed: Path, elsewhere: Mapping[str, str], tmp_path: Path
) -> None:
    assert len(call(installed, "policies", cwd=tmp_path, environment=elsewhere).splitlines()) > 50
    assert call(installed, "queries", "repeated_orders", "--dialect", "spark", cwd=tmp_path, environment=elsewhere)
