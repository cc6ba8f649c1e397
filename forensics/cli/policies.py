"""Commands about retry policies that need no case: match, policies."""

from __future__ import annotations

from pathlib import Path

import click

from forensics.analysis.catalogue import entries_like, load_catalogue
from forensics.analysis.match import match_gaps
from forensics.cli import answer, printable
from forensics.cli.options import CONFIG, settings_from
from forensics.errors import UsageError
from forensics.model import CatalogueEntry
from forensics.render import terminal


@click.command()
@click.argument("gaps", nargs=-1, required=True)
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0), help="The client's timeout in seconds, if known.")
@click.option(
    "--resolution", type=click.FloatRange(min=0), default=0.001, show_default=True, help="Step of the clock in seconds."
)
@CONFIG
def match(gaps: tuple[str, ...], timeout_s: float | None, resolution: float, config: Path | None) -> None:
    """Name the retry policies that make such gaps.

    GAPS are seconds between one effect and the next. Gaps of one order are joined by commas: 4.0,5.1,7.2; gaps of
    different orders are separate: 4.0 5.1 7.2.
    """
    groups = [[_micros(gap) for gap in group.split(",") if gap.strip()] for group in gaps]
    found = match_gaps(
        [g for g in groups if g],
        resolution_us=max(1, round(resolution * 1e6)),
        timeout_s=timeout_s,
        catalogue=_catalogue(config),
    )
    answer(printable(terminal.render_match(found, [gap / 1e6 for group in groups for gap in group])))


def _catalogue(config: Path | None) -> tuple[CatalogueEntry, ...]:
    """The users' own policies, and the known ones."""
    settings = settings_from(config)
    return (*(settings.policies if settings else ()), *load_catalogue())


def _micros(text: str) -> int:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise UsageError(
            f"gap {text!r}: expected a number of seconds, zero or more", "for example: forensics match 4.0 5.1 7.2"
        )
    return round(seconds * 1e6)


@click.command()
@click.argument("text", required=False)
@CONFIG
def policies(text: str | None, config: Path | None) -> None:
    """Show the catalogue of known retry policies.

    TEXT filters by id, product or kind; a whole id shows all that is known of that one.
    """
    catalogue = _catalogue(config)
    found = entries_like(text, catalogue) if text else catalogue
    found = tuple(entry for entry in found if entry.id == text) or found
    if not found:
        raise UsageError(f"no policy of the catalogue is like {text!r}", "'forensics policies' lists them all")
    for entry in found:
        answer(printable(terminal.render_policy(entry, full=len(found) == 1)))
