"""The command that holds two runs against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forensics.analysis.comparison import compare_runs
from forensics.case import Case
from forensics.cli import answer, printable
from forensics.cli.options import PATH, scan_options, scan_options_from, settings_from
from forensics.model import Scan
from forensics.outcomes import read_run
from forensics.render.comparison import render_comparison, render_comparison_json


@click.command()
@click.argument("old", type=PATH)
@click.argument("new", type=PATH)
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Form of the answer.",
)
@scan_options
def compare(old: Path, new: Path, form: str, **given: Any) -> None:
    """Say what differs between two runs.

    OLD and NEW are folders that a report is in, or cases; a case is asked anew, with the options given here.
    """

    def ask(case: Case) -> Scan:
        return case.scan(scan_options_from(given, settings_from(given["config"])))

    found = compare_runs(read_run(old, ask), read_run(new, ask))
    if form == "json":
        answer(render_comparison_json(found))
    else:
        answer(printable(render_comparison(found)))
