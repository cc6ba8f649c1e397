"""The command line: words in, one method called, words out.

stdout is the answer, stderr the story, the exit code the verdict. A command's module is imported only when the command
runs, so that `--help` costs what click costs.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from importlib import import_module

import click

from forensics import __version__
from forensics.errors import ExitCode, ForensicsError

# name -> (where it lives, the line that --help shows; a test compares it with the command's own)
COMMANDS = {
    "demo": ("forensics.cli.evidence:demo", "Investigate the example incident and say where the report is."),
    "investigate": ("forensics.cli.evidence:investigate", "Load, scan and report in one go."),
    "load": ("forensics.cli.evidence:load", "Load evidence into a case."),
    "sources": ("forensics.cli.evidence:sources", "Show what was read, and how."),
    "scan": ("forensics.cli.questions:scan", "Run every question that has evidence."),
    "report": ("forensics.cli.questions:report", "Write the report of a case."),
    "query": ("forensics.cli.questions:query", "Run one query of the packs."),
    "queries": ("forensics.cli.questions:queries", "List the queries, or show one."),
    "order": ("forensics.cli.questions:order", "Show the life of one order number, in time order."),
    "compare": ("forensics.cli.compare:compare", "Say what differs between two runs."),
    "match": ("forensics.cli.policies:match", "Name the retry policies that make such gaps."),
    "policies": ("forensics.cli.policies:policies", "Show the catalogue of known retry policies."),
}


class LazyCommands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when there is no such name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="forensics")
def cli() -> None:
    """Which payments took effect more than once, how much must go back, and why.

    Start with:  forensics investigate payments.csv access.log
    """


def main() -> None:
    """Run the command line; every error is one sentence, a hint and an exit code, and never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter gets its number
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run())


def run() -> int:
    """Run one command and give its exit code."""
    try:
        code = cli.main(prog_name="forensics", standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    except click.ClickException as exc:
        shown = io.StringIO()
        exc.show(file=shown)
        click.echo(_without_passwords(shown.getvalue()), err=True, nl=False)
        return ExitCode.USAGE
    except ForensicsError as exc:
        say_error(exc.message, exc.hint)
        return exc.exit_code
    except OSError as exc:
        say_error(f"{exc.filename or 'output'}: {exc.strerror or exc}", None)
        return ExitCode.EVIDENCE
    except Exception as exc:
        if str(exc) == "Query interrupted":  # DuckDB's word for Ctrl-C during a query
            return ExitCode.INTERRUPTED
        say_bug(exc)
        return ExitCode.EVIDENCE
    return int(code or ExitCode.OK)


def answer(text: str, *, nl: bool = True) -> None:
    """The answer, on stdout. When its reader has gone (`| head`) the command goes on: its verdict counts."""
    try:
        click.echo(text, nl=nl)
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """A line of the story, on stderr: one line, whatever the names in it hold."""
    click.echo(printable(_without_passwords(" ".join(text.split("\n")))), err=True)


def _without_passwords(text: str) -> str:
    """What is told may repeat a word of the command line, and that may be a URL where a path was expected."""
    if ":/" not in text:
        return text
    from forensics.sources.urls import without_passwords

    return without_passwords(text)


def say_bug(exc: Exception) -> None:
    """An error that nobody meant: what and where, in one sentence."""
    where = traceback.extract_tb(exc.__traceback__)[-1]
    # os.path, because pathlib would be loaded for every --help
    place = f"{os.path.basename(where.filename)}:{where.lineno}"  # noqa: PTH119
    say_error(
        f"this is a mistake in forensics, not in your files: {type(exc).__name__} at {place}: {exc}",
        "please report this line; nothing it printed or wrote in this run should be relied on",
    )


def say_error(message: str, hint: str | None) -> None:
    """One sentence and what to do, on stderr, without control characters of hostile evidence."""
    say(f"forensics: error: {message}")
    if hint:
        say(f"hint: {hint}")


def printable(text: str) -> str:
    """Text that a terminal shows and does not obey: control and bidirectional characters are spelled out."""
    return "".join(c if c == "\n" or (c.isprintable() or c == "\t") else f"\\x{ord(c):02x}" for c in text)
