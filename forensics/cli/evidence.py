"""Commands that take evidence in: investigate, demo, load, sources."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from forensics import __version__
from forensics.case import Case, ScanOptions, write_reports
from forensics.cli import answer, printable, say, say_error
from forensics.cli.options import EVIDENCE, PATH, evidence_options, options_from, scan_options, scan_options_from
from forensics.errors import ExitCode, UsageError
from forensics.render import terminal
from forensics.render.html import ReportMeta
from forensics.sources.load import Loaded
from forensics.sources.options import Options
from forensics.sources.urls import Url, without_passwords


@click.command()
@click.argument("files", nargs=-1, required=True, type=EVIDENCE)
@click.option(
    "--out",
    type=PATH,
    help="Folder to write to.  [default: reports/<first file's folder>]",
)
@evidence_options
@scan_options
def investigate(files: tuple[Path | Url, ...], out: Path | None, **given: Any) -> None:
    """Load, scan and report in one go."""
    folder = out or Path("reports") / name_report(files[0])
    code = run_investigation(files, folder, options_from(given), scan_options_from(given))
    sys.exit(code)


def name_report(first: Path | Url) -> str:
    """The folder that the first file stands in, or the database."""
    if isinstance(first, Url) and first.engine != "sqlite":
        return Path(first.name).stem.strip(".") or "case"
    return Path(first if isinstance(first, Path) else first.path).resolve().parent.name or "case"


def run_investigation(files: Sequence[Path | Url], folder: Path, options: Options, questions: ScanOptions) -> int:
    """Investigate files into a folder; the exit code says whether every file and question could be used.

    The case is made aside and moved in when it holds evidence, so that a run that fails leaves the last one as it was.
    """
    make_folder(folder)
    with TemporaryDirectory(prefix=".making-", dir=folder) as aside:
        path = Path(aside) / "case.duckdb"
        with Case(path) as case:
            loaded = case.load(files, options, say)
            for refused in loaded.refused:
                say_error(refused.message, refused.hint)
            if not loaded.sources:
                return ExitCode.EVIDENCE
            say("asking the questions")
            scan = case.scan(questions, loaded.refused)
        (folder / f"{path.name}.wal").unlink(missing_ok=True)
        path.replace(folder / path.name)
    meta = ReportMeta(
        __version__, shlex.join(["forensics", *map(without_passwords, sys.argv[1:])]), f"Incident report: {folder.name}"
    )
    answer(printable(terminal.render_summary(scan, write_reports(scan, folder, meta))))
    return ExitCode.EVIDENCE if loaded.refused or scan.failed else ExitCode.OK


def make_folder(folder: Path) -> None:
    """The folder of a report, made where there is none.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise UsageError(f"--out {folder}: cannot be made: {exc.strerror}", "name another folder") from exc


@click.command()
@click.option(
    "--out",
    type=PATH,
    default=Path("reports/demo"),
    show_default=True,
    help="Folder to write to.",
)
def demo(out: Path) -> None:
    """Investigate the example incident and say where the report is."""
    evidence = examples_root() / "lost-replies"
    sys.exit(
        run_investigation(sorted(p for p in evidence.iterdir() if p.name != "truth.csv"), out, Options(), ScanOptions())
    )


def examples_root() -> Path:
    """The folder of examples: inside the wheel, or the checkout's own."""
    packaged = files("forensics") / "examples"
    return Path(str(packaged)) if packaged.is_dir() else Path(__file__).resolve().parents[2] / "examples"


@click.command()
@click.argument("case", type=PATH)
@click.argument("files", nargs=-1, required=True, type=EVIDENCE)
@evidence_options
def load(case: Path, files: tuple[Path | Url, ...], **given: Any) -> None:
    """Load evidence into a case."""
    with Case(case) as opened:
        loaded = opened.load(files, options_from(given), say)
    show_loaded(loaded)
    sys.exit(ExitCode.EVIDENCE if loaded.refused else ExitCode.OK)


def show_loaded(loaded: Loaded) -> None:
    """What became of each file: the answer on stdout, refusals on stderr."""
    for source in loaded.sources:
        answer(printable(terminal.render_source(source)))
    for path in loaded.already:
        answer(printable(f"{path}: the case holds these bytes already; nothing was changed"))
    for refused in loaded.refused:
        say_error(refused.message, refused.hint)


@click.command()
@click.argument("case", type=PATH)
def sources(case: Path) -> None:
    """Show what was read, and how."""
    with Case.open(case) as opened:
        for source in opened.sources():
            answer(printable(terminal.render_source(source)))
            examples = [r for r in opened.query("case/rejects").records() if r["source_id"] == source.source_id]
            for row in examples[:3]:
                answer(printable(terminal.render_reject(row["line_no"], row["reason"], row["text"])))
