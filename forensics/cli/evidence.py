"""Commands that take evidence in: investigate, demo, load, sources."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Container, Sequence
from contextlib import closing
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from forensics import __version__, store
from forensics.case import Case, write_reports
from forensics.cli import answer, printable, say, say_error
from forensics.cli.options import (
    CONFIG,
    EVIDENCE,
    KEY,
    PATH,
    evidence_options,
    options_from,
    scan_options,
    scan_options_from,
    settings_from,
)
from forensics.detect.options import ScanOptions
from forensics.errors import ExitCode, UsageError
from forensics.render import terminal
from forensics.sources.load import Loaded
from forensics.sources.options import Options
from forensics.sources.rejected import rejected_by_reason
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
    settings = settings_from(given["config"])
    code = run_investigation(files, folder, options_from(given, settings), scan_options_from(given, settings))
    sys.exit(code)


def name_report(first: Path | Url) -> str:
    """The first folder, or the one that the first file stands in, or the database."""
    if isinstance(first, Url) and first.engine != "sqlite":
        return Path(first.name).stem.strip(".") or "case"
    path = Path(first if isinstance(first, Path) else first.path).resolve()
    return (path if path.is_dir() else path.parent).name or "case"


def run_investigation(files: Sequence[Path | Url], folder: Path, options: Options, questions: ScanOptions) -> int:
    """Investigate files into a folder; the exit code says whether every file and question could be used.

    The case is made aside and moved in when it holds evidence, so that a run that fails leaves the last one as it was.
    """
    from forensics.render.html import ReportMeta  # with its templates slow to import

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
@KEY
@CONFIG
@click.option("--dry-run", is_flag=True, help="Show what would be read, and how; change nothing.")
def load(case: Path, files: tuple[Path | Url, ...], dry_run: bool, **given: Any) -> None:
    """Load evidence into a case."""
    options = options_from(given, settings_from(given["config"]))
    loaded = rehearse(case, files, options) if dry_run else load_and_show(case, files, options)
    sys.exit(ExitCode.EVIDENCE if loaded.refused else ExitCode.OK)


def load_and_show(case: Path, files: Sequence[Path | Url], options: Options) -> Loaded:
    """Load, and show what became of each file."""
    with Case(case) as opened:
        loaded = opened.load(files, options, say)
    show_loaded(loaded)
    return loaded


def rehearse(case: Path, files: Sequence[Path | Url], options: Options) -> Loaded:
    """Load into a copy that is thrown away, so that all that the case knows counts; show what `sources` would show."""
    with TemporaryDirectory(prefix="forensics-") as folder:
        copy = Path(folder) / "case.duckdb"
        if case.exists():
            with Case.open(case):  # held open, nobody writes to it meanwhile
                for path in (case, case.with_name(f"{case.name}.wal")):
                    if path.exists():
                        shutil.copyfile(path, copy.with_name(path.name.replace(case.name, copy.name)))
        with Case(copy) as opened:
            loaded = opened.load(files, options, say)
        show_loaded(replace(loaded, sources=()))
        if loaded.sources:
            show_sources(copy, {source.source_id for source in loaded.sources})
    say("dry run: nothing was changed")
    return loaded


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
    show_sources(case)


def show_sources(case: Path, only: Container[int] | None = None) -> None:
    """Every source of a case, or some, with what was rejected of it: rows by reason, and examples."""
    with Case.open(case) as opened, closing(store.open_for_reading(case)) as connection:
        for source in opened.sources():
            if only is not None and source.source_id not in only:
                continue
            answer(printable(terminal.render_source(source)))
            for rejected in rejected_by_reason(connection, source.source_id) if source.rows_rejected else ():
                rows = f"{rejected.rows:,} row{'s' * (rejected.rows != 1)}"
                answer(printable(f"    rejected   {rows}: {' '.join(rejected.reason.splitlines())}"))
                for example in rejected.examples:
                    answer(printable(terminal.render_reject(*example)))
