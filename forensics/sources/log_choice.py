"""Which format a log is read by: the one that the user describes or names, else the one that its lines show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from forensics.errors import UnrecognisedError
from forensics.sources import logs
from forensics.sources.evidence import Evidence
from forensics.sources.format_file import read_format_file
from forensics.sources.logs.catalogue import Catalogue, LogFormat
from forensics.sources.options import TEXT_TABLES, Options
from forensics.sources.staged import spread_lines

_SAMPLE = 1000
_LEAST_LINES = 2
_LEAST_SHARE = 0.1
_ADD_A_TIME = (
    "have it stamped: docker logs -t, kubectl logs --timestamps, journalctl -o short-iso; "
    "or put a time into the log's own format"
)


@dataclass(frozen=True, slots=True)
class Described:
    """The formats that the user has described in files."""

    formats: tuple[LogFormat, ...] = ()
    """Of an nginx configuration."""
    catalogue: Catalogue | None = None
    """Of a file in the shape of the built-in formats."""
    option: str = ""
    """The option that named the file."""


def described(options: Options) -> Described:
    """What the files say that options name.

    Raises:
        UsageError: a file cannot be read, or says nothing that can be used.
    """
    if options.nginx_conf:
        return Described(formats=logs.read_nginx_conf(options.nginx_conf, options.log_format), option="--nginx-conf")
    if options.log_format_file:
        own = read_format_file(options.log_format_file, options.log_format)
        return Described(catalogue=own, option="--log-format-file")
    return Described()


def choose(evidence: Evidence, options: Options, own: Described) -> logs.LogRecognition | None:
    """The format of a log: by the user's words where there are any that fit, else by its lines.

    Returns:
        The recognition; None when the file is no log.

    Raises:
        UnrecognisedError: no line is of the format named, or nothing dates the lines.
    """
    sample = [line for line in spread_lines(evidence.readable, _SAMPLE) if line.strip()]
    found = _by_description(options, own, sample)
    if found is None:
        found = logs.recognise(sample, options.format) or _among_much_else(sample, options)
        if found is None and options.format:
            _refuse_format(evidence, sample, options.format)
        if found is not None and own.option:
            found = replace(found, why=f"{found.why}; the formats of {own.option} do not read them")
    if found is not None and found.format.stamp is None:
        raise UnrecognisedError(
            f"{evidence.path}: its lines are those of {found.format.product}, which carry no time, "
            "and nothing that stands before them does",
            _ADD_A_TIME,
        )
    return found


def _by_description(options: Options, own: Described, sample: Sequence[str]) -> logs.LogRecognition | None:
    """By the user's words, where they read the lines."""
    if options.log_format and not own.option:
        given = logs.from_log_format(options.log_format)
        seen = logs.recognise_among((given,), sample, 0.0)
        return logs.LogRecognition(seen.format if seen else given, 1.0, "given by --log-format", None)
    if own.catalogue is not None:
        return logs.recognise(sample, options.log_format, own.catalogue)
    # A format that is named need not read half of the lines; one that is picked must.
    return logs.recognise_among(own.formats, sample, 0.0 if options.log_format else 0.5)


def _among_much_else(sample: Sequence[str], options: Options) -> logs.LogRecognition | None:
    """Requests between an application's other lines, or in several formats: the format that reads most of them.

    Only where lines follow a product's own pattern or keys: rows of no table do.
    """
    if options.format:
        return None
    found = logs.recognise(sample, least=_LEAST_SHARE)
    if found is None or found.format.reader == "labels" or found.format.id == "json":
        return None
    return found if found.share * len(sample) >= _LEAST_LINES else None


def _refuse_format(evidence: Evidence, sample: Sequence[str], wanted: str) -> None:
    found = logs.recognise(sample)
    seen = f"most lines are {found.format.id}" if found else "no log format reads half of them"
    raise UnrecognisedError(
        f"{evidence.path}: no line reads as --format {wanted}; {seen}",
        f"--format takes {', '.join(TEXT_TABLES)} or the id of a log format",
    )
