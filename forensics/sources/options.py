"""What the user says about the evidence; everything else is recognised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path

from forensics.errors import UsageError
from forensics.sources import values, zones

TEXT_TABLES = ("csv", "jsonl")
"""What `--format` may call a text file that is no log."""


@dataclass(frozen=True, slots=True)
class Options:
    """The user's own words about files; None and empty mean: recognise it."""

    kind: str | None = None
    """Canonical table (`--as`)."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Canonical column -> heading (`--map`)."""
    mapping_where_found: bool = False
    """Whether a heading of `mapping` that a table lacks is passed over there; else it is wrong use."""
    zone: str | None = None
    """IANA zone of times without an offset (`--zone`)."""
    format: str | None = None
    """csv, jsonl or the id of a log format, for the text files given (`--format`)."""
    log_format: str | None = None
    """nginx log_format or Apache LogFormat string; with `nginx_conf` the name of one in it (`--log-format`)."""
    nginx_conf: Path | None = None
    """An nginx configuration whose log_format directives describe the logs (`--nginx-conf`)."""
    log_format_file: Path | None = None
    """Log formats of one's own, as data; with `log_format` the id of one in it (`--log-format-file`)."""
    unit: str | None = None
    """minor | major (`--unit`)."""
    currency: str | None = None
    """ISO 4217 code for tables that name none (`--currency`)."""
    status: Mapping[str, str] = field(default_factory=dict)
    """The ledger's word -> canonical status (`--status`)."""
    key: tuple[str, ...] = ()
    """Columns that name a business act (`--key`): a ledger that has them needs no order number."""
    by_file: tuple[tuple[str, Options], ...] = ()
    """Patterns of file names, and what holds for the files that match; the first that matches counts."""
    tables: tuple[str, ...] = ()
    """Tables of the databases given (`--table`)."""
    query: str | None = None
    """One SELECT, instead of tables (`--query`)."""
    since: str | None = None
    """Only rows of databases from this moment on, ISO 8601 (`--since`)."""
    where_time: str | None = None
    """The column that `since` is held against, when not the recognised one (`--where-time`)."""

    def for_file(self, name: str) -> Options:
        """The options for a file of that base name: what its pattern says, else the general ones."""
        special = next((o for pattern, o in self.by_file if fnmatchcase(name, pattern)), None)
        return self if special is None else laid_over(self, special)


def laid_over(general: Options, special: Options) -> Options:
    """The special options where they say something, else the general ones; --map and --status word by word."""
    said = {f.name: getattr(special, f.name) for f in fields(Options) if getattr(special, f.name)}
    for name in ("mapping", "status"):
        said[name] = {**getattr(general, name), **getattr(special, name)}
    return replace(general, **said)


def check(options: Options) -> None:
    """Options that can mean something.

    Raises:
        UsageError: they cannot; the message names the option.
    """
    if options.nginx_conf and options.log_format_file:
        raise UsageError("--nginx-conf and --log-format-file: expected one of the two", "load the other's logs apart")
    if options.zone:
        zones.check(options.zone)
    if options.unit not in (None, "minor", "major"):
        raise UsageError(f"--unit {options.unit}: expected minor or major")
    if options.currency and not (len(options.currency) == 3 and options.currency.isalpha()):
        raise UsageError(f"--currency {options.currency}: expected an ISO 4217 code such as KRW")
    if options.query is not None and options.tables:
        raise UsageError("--query and --table: expected one of the two", "the query names its tables itself")
    if options.where_time and not options.since:
        raise UsageError(f"--where-time {options.where_time}: it says what --since is held against, and there is none")
    canonical = set(values.words()["status"].values())
    for word, status in options.status.items():
        if status not in canonical:
            raise UsageError(
                f"--status {word}={status}: {status!r} is no status", f"one of {', '.join(sorted(canonical))}"
            )
