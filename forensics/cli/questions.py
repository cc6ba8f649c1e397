"""Commands that ask: scan, report, query, queries, order."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from forensics import __version__, packs
from forensics.case import Case, write_reports
from forensics.cli import answer, printable
from forensics.cli.options import PATH, pairs, scan_options, scan_options_from, settings_from
from forensics.detect.business_key import parse_key
from forensics.errors import ExitCode
from forensics.model import SEVERITIES
from forensics.render import tabular, terminal


@click.command()
@click.argument("case", type=PATH)
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit with 3 when a finding is this severe or worse.")
@scan_options
def scan(case: Path, fail_on: str | None, **given: Any) -> None:
    """Run every question that has evidence."""
    options = scan_options_from(given, settings_from(given["config"]))
    with Case.open(case) as opened:
        found = opened.scan(options)
    answer(printable(terminal.render_summary(found, None)))
    worst = max((SEVERITIES.index(f.severity) for f in found.findings), default=-1)
    if found.failed:
        sys.exit(ExitCode.EVIDENCE)
    if fail_on and worst >= SEVERITIES.index(fail_on):
        sys.exit(ExitCode.FINDINGS)


@click.command()
@click.argument("case", type=PATH)
@click.option("--out", type=PATH, required=True, help="Folder to write to.")
@scan_options
def report(case: Path, out: Path, **given: Any) -> None:
    """Write the report of a case."""
    from forensics.render.html import ReportMeta  # with its templates slow to import

    options = scan_options_from(given, settings_from(given["config"]))
    with Case.open(case) as opened:
        found = opened.scan(options)
    meta = ReportMeta(__version__, shlex.join(["forensics", *sys.argv[1:]]), f"Incident report: {case.stem}", case.name)
    answer(printable(terminal.render_summary(found, write_reports(found, out, meta))))
    if found.failed:
        sys.exit(ExitCode.EVIDENCE)


@click.command()
@click.argument("case", type=PATH)
@click.argument("name")
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="A parameter of the query.")
@click.option(
    "--key", metavar="COLUMN[,...]", help="Columns that name a business act, as for scan.  [default: order_id]"
)
@click.option(
    "--format",
    "form",
    type=click.Choice(tabular.FORMATS),
    default="table",
    show_default=True,
    help="Form of the answer.",
)
def query(case: Path, name: str, values: tuple[str, ...], key: str | None, form: str) -> None:
    """Run one query of the packs."""
    with Case.open(case) as opened:
        if key:
            opened.name_acts(parse_key(key))
        result = opened.query(name, **pairs("--set", values))
    answer(tabular.render(result.columns, result.rows, form), nl=False)


@click.command()
@click.argument("name", required=False)
@click.option("--dialect", help="Render it for another engine: spark, trino, bigquery, snowflake.")
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE", help="A parameter of the rendered query.")
def queries(name: str | None, dialect: str | None, values: tuple[str, ...]) -> None:
    """List the queries, or show one."""
    if name is None:
        for found in packs.load_all().values():
            answer(f"{found.name:42} {found.title}")
    elif dialect is None:
        answer(packs.get(name).text, nl=False)
    else:
        from forensics import dialects  # a tenth of a second that no other command should pay

        answer(dialects.render(packs.get(name), dialect, pairs("--set", values)), nl=False)


@click.command()
@click.argument("case", type=PATH)
@click.argument("order_id")
@click.option(
    "--format",
    "form",
    type=click.Choice(tabular.FORMATS),
    default="table",
    show_default=True,
    help="Form of the answer.",
)
def order(case: Path, order_id: str, form: str) -> None:
    """Show the life of one order number, in time order."""
    with Case.open(case) as opened:
        result = opened.order(order_id)
    answer(tabular.render(result.columns, result.rows, form), nl=False)
