"""Options that several commands share, and what they become."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from forensics import schema
from forensics.amounts import many
from forensics.cli import say
from forensics.detect.business_key import parse_key
from forensics.detect.duplicates import REFUND_PROBABILITY
from forensics.detect.options import ScanOptions
from forensics.errors import UsageError
from forensics.model import SettingsUsed
from forensics.settings import Settings, find_decisions, find_settings
from forensics.sources.options import Options, laid_over
from forensics.sources.urls import is_url, parse

Command = Callable[..., Any]

PATH = click.Path(path_type=Path, readable=False)
"""A path as typed: whether it can be read is found out where it is read, so that one bad file spoils nothing else."""


class _EvidenceType(click.Path):
    """A path or a URL; what a URL holds in secret ends here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The parts of a URL; a path like any other."""
        return parse(value) if isinstance(value, str) and is_url(value) else super().convert(value, param, ctx)


EVIDENCE = _EvidenceType(path_type=Path, readable=False)
"""A file, or the URL of a database or of a file elsewhere."""


def _stack(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


evidence_options = _stack(
    click.option(
        "--as",
        "kind",
        type=click.Choice([t.name for t in schema.EVIDENCE_TABLES]),
        help="What the files are.  [default: recognised]",
    ),
    click.option(
        "--map",
        "mapping",
        multiple=True,
        metavar="COLUMN=HEADING",
        help="Which column is which, e.g. order_id=주문번호.",
    ),
    click.option("--zone", help="Zone of times without an offset, e.g. Asia/Seoul."),
    click.option(
        "--format", help="What the text files are: csv, jsonl or the id of a log format.  [default: recognised]"
    ),
    click.option(
        "--log-format",
        help="nginx log_format or Apache LogFormat string of the logs; with --nginx-conf the name of a format in it.",
    ),
    click.option("--nginx-conf", type=PATH, metavar="FILE", help="nginx configuration whose log_format the logs have."),
    click.option(
        "--log-format-file",
        type=PATH,
        metavar="FILE",
        help="Log formats of your own, as TOML with samples; with --log-format the id of one in it.",
    ),
    click.option("--unit", type=click.Choice(["minor", "major"]), help="Whether amounts are in minor units (cents)."),
    click.option("--currency", help="ISO 4217 code for tables that name none."),
    click.option(
        "--status", multiple=True, metavar="WORD=STATUS", help="What a status word means, e.g. PAID_PARTIAL=captured."
    ),
    click.option("--table", "tables", multiple=True, metavar="NAME", help="Table of a database; may be given again."),
    click.option("--query", metavar="SELECT", help="Rows of a database by one SELECT, instead of a table."),
    click.option("--since", metavar="TIME", help="Only rows of a database from then on, e.g. 2026-11-01."),
    click.option("--where-time", metavar="COLUMN", help="What --since is held against.  [default: recognised]"),
)

KEY = click.option(
    "--key",
    metavar="COLUMN[,...]",
    help="Columns of the ledger that name a business act, e.g. order_id or sender,message_no,day.  [default: chosen]",
)

CONFIG = click.option(
    "--config",
    type=PATH,
    metavar="FILE",
    help="Settings.  [default: forensics.toml in the working folder, if there is one]",
)

scan_options = _stack(
    KEY,
    click.option(
        "--decisions",
        type=PATH,
        metavar="FILE",
        help="What people decided.  [default: decisions.csv in the working folder, if there is one]",
    ),
    CONFIG,
    click.option(
        "--incident", metavar="START/END", help="Window under suspicion, ISO 8601; UTC unless it says otherwise."
    ),
    click.option("--baseline", metavar="START/END", help="Window to compare it with."),
    click.option(
        "--timeout", "timeout_s", type=click.FloatRange(min=0), help="The client's timeout in seconds, if known."
    ),
    click.option(
        "--refund-confidence",
        type=click.FloatRange(0, 1),
        help=f"How sure a payment must be before refunds.csv lists it.  [default: {REFUND_PROBABILITY}]",
    ),
)


def settings_from(config: Path | None) -> Settings | None:
    """The settings of this run, told on stderr; None where there are none.

    Raises:
        UsageError: the file cannot be read, or holds what it should not.
    """
    settings = find_settings(config, Path.cwd())
    if settings:
        say(f"settings from {settings.file}: {', '.join(settings.said) or 'nothing'}")
    return settings


def options_from(given: Mapping[str, Any], settings: Settings | None) -> Options:
    """The evidence options of a command line, laid over those of the settings."""
    typed = _typed_options(given)
    if settings is None:
        return typed
    by_file = tuple((pattern, laid_over(special, typed)) for pattern, special in settings.evidence.by_file)
    general = replace(settings.evidence, key=settings.key, by_file=())
    return replace(laid_over(general, typed), by_file=by_file)


def _typed_options(given: Mapping[str, Any]) -> Options:
    return Options(
        kind=given["kind"],
        mapping=pairs("--map", given["mapping"]),
        zone=given["zone"],
        format=given["format"],
        log_format=given["log_format"],
        nginx_conf=given["nginx_conf"],
        log_format_file=given["log_format_file"],
        unit=given["unit"],
        currency=given["currency"],
        status=pairs("--status", given["status"]),
        tables=given["tables"],
        query=given["query"],
        key=_key(given),
        since=given["since"],
        where_time=given["where_time"],
    )


def _key(given: Mapping[str, Any]) -> tuple[str, ...]:
    return () if given["key"] is None else parse_key(given["key"])


def scan_options_from(given: Mapping[str, Any], settings: Settings | None) -> ScanOptions:
    """The question options of a command line, before those of the settings."""
    decisions = find_decisions(given["decisions"], settings, Path.cwd())
    if decisions:
        say(f"{many(len(decisions), 'decision')} about groups of payments, from {decisions[-1].where.split(':')[0]}")

    def first(typed: Any, set_: Any, default: Any = None) -> Any:
        return typed if typed is not None else set_ if set_ is not None else default

    return ScanOptions(
        incident=_window("--incident", given["incident"]),
        baseline=_window("--baseline", given["baseline"]),
        timeout_s=first(given["timeout_s"], settings and settings.timeout_s),
        refund_confidence=first(
            given["refund_confidence"], settings and settings.refund_confidence, REFUND_PROBABILITY
        ),
        key=_key(given) or (settings.key if settings else ()),
        zone=first(given.get("zone"), settings and settings.evidence.zone),
        holidays=settings.holidays if settings else (),
        policies=settings.policies if settings else (),
        decisions=decisions,
        today=datetime.now().astimezone().date(),
        settings=SettingsUsed(settings.file, settings.said) if settings else None,
    )


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE texts of one option as a dictionary.

    Raises:
        UsageError: a text is not of that form.
    """
    pairs = {}
    for text in texts:
        left, equals, right = text.partition("=")
        if not (left and equals and right):
            raise UsageError(f"{option} {text}: expected NAME=VALUE", None)
        pairs[left.strip()] = right.strip()
    return pairs


def _window(option: str, text: str | None) -> tuple[datetime, datetime] | None:
    if text is None:
        return None
    start, slash, end = text.partition("/")
    try:
        window = _moment(start), _moment(end)
    except (ValueError, OverflowError):
        window = None
    if not slash or window is None or window[0] >= window[1]:
        raise UsageError(
            f"{option} {text}: expected START/END, START before END",
            f"for example {option} 2026-11-30T10:00/2026-11-30T12:00",
        )
    return window


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text.strip())
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
