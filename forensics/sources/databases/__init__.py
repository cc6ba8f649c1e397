"""Databases as evidence: PostgreSQL, MySQL or MariaDB, SQLite; and files at URLs, where DuckDB can fetch them.

A database is read like a file: one table or one SELECT becomes a clean local copy, and what its columns mean is decided
by those who decide it for files. One module a database, each with a `Driver`; `urls` holds what is secret.

sources.path is the URL without password and parameters, with the table as fragment; sources.sha256 is a digest of the
rows (`spool`), so that the same rows are recognised in whatever order they come; line_no is the number of the row as it
came.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb

from forensics import schema
from forensics.errors import EvidenceError, UsageError
from forensics.sources import columns
from forensics.sources.databases import queries, remote, spool
from forensics.sources.databases.driver import Column, Driver, Since
from forensics.sources.databases.mysql import MySQL
from forensics.sources.databases.postgresql import PostgreSQL
from forensics.sources.databases.sqlite import SQLite, is_sqlite
from forensics.sources.evidence import Evidence
from forensics.sources.evidence import prepare as prepare_file
from forensics.sources.options import Options
from forensics.sources.stdin import STDIN, prepare_stdin
from forensics.sources.urls import Engine, Url, is_url, parse

DRIVERS: Mapping[Engine, Callable[[Url], Driver]] = {"postgresql": PostgreSQL, "mysql": MySQL, "sqlite": SQLite}
_QUERY = "query"
_EACH_TOLD = 5 * spool.BATCH_ROWS
_NOT_TIMES = ("text", "boolean", "float")


def places(given: Sequence[Path | Url | str], options: Options) -> list[Path | Url]:
    """What was given, one place for each table to be read.

    Raises:
        UsageError: database options without a database, or a query that is not one SELECT.
    """
    found: list[Path | Url] = []
    databases = 0
    for one in given:
        place = parse(one) if isinstance(one, str) and is_url(one) else one
        place = Path(place) if isinstance(place, str) else place
        asked = bool(options.tables or options.query)
        if isinstance(place, Path) and asked and is_sqlite(place):
            place = Url("sqlite", "sqlite", path=str(place))
        if isinstance(place, Path) or place.engine == "remote":
            found.append(place)
            continue
        databases += 1
        if options.query is not None:
            queries.check_query(options.query, place.engine)
        found += [place.of(t) for t in options.tables] or [place.of(_QUERY) if options.query else place]
    if not databases and (options.tables or options.query or options.since):
        raise UsageError(
            "--table, --query and --since are for databases; none was given", "for example sqlite:///shop.db"
        )
    return found


def bring(
    connection: duckdb.DuckDBPyConnection,
    place: Path | Url,
    workdir: Path,
    options: Options,
    progress: Callable[[str], None] = lambda _: None,
) -> Evidence:
    """Any evidence as a clean local file: a file, a remote file, the rows of a database.

    Raises:
        EvidenceError: it cannot be read.
        UsageError: it is not said what of a database.
    """
    if place == STDIN:
        progress("reading standard input")
        return prepare_stdin(workdir)
    if isinstance(place, Path):
        return prepare_file(place, workdir)
    if place.engine == "remote":
        fetched = prepare_file(remote.fetch(connection, place, workdir), workdir)
        return replace(fetched, path=place, name=place.name)
    return prepare(connection, place, workdir, options, progress)


def prepare(
    connection: duckdb.DuckDBPyConnection,
    url: Url,
    workdir: Path,
    options: Options,
    progress: Callable[[str], None] = lambda _: None,
) -> Evidence:
    """Copy the rows of one table or query to a clean local file.

    Args:
        workdir: where the copy is written; the caller removes it.

    Raises:
        EvidenceError: no server, no permission, no such table, no rows, a connection lost.
        UsageError: neither table nor query, or a time column that does not exist.
    """
    with closing(DRIVERS[url.engine](url)) as driver:
        select = _select(driver, url, options)
        described = driver.describe(select)
        since = _since(connection, described, url, options)
        progress(f"reading {url}")
        with closing(driver.records(select, since)) as records:
            rows = spool.spool(connection, records, described, workdir, lambda n: _tell(progress, url, n))
        kinds = driver.kinds()
    if not rows:
        after = f" since {options.since}" if since else ""
        raise EvidenceError(f"{url}: it has no rows{after}", "check the name; an empty table is evidence of nothing")
    spooled = spool.settle(connection, described, kinds, workdir)
    return Evidence(
        path=url,
        name=url.name,
        sha256=spooled.sha256,
        container=url.engine,
        readable=spooled.path,
        encoding=None,
        lines=0,
        has_quotes=False,
        notes=_notes(options, since),
    )


def _tell(progress: Callable[[str], None], url: Url, rows: int) -> None:
    if rows % _EACH_TOLD == 0:
        progress(f"reading {url}: {rows:,} rows so far")


def _select(driver: Driver, url: Url, options: Options) -> str:
    if options.query is not None:
        return queries.check_query(options.query, url.engine)
    if url.rows is None:
        names = driver.tables()
        hint = f"its tables: {', '.join(names[:20])}" if names else "the user sees no tables there"
        raise UsageError(f"{url}: which rows? Say --table NAME or --query 'SELECT ...'", hint)
    return f"SELECT * FROM {driver.find(url.rows)}"


def _notes(options: Options, since: Since | None) -> tuple[str, ...]:
    notes = [f"query: {' '.join(options.query.split())[:1000]}"] if options.query else []
    if since is not None:
        moment = f"{since.instant.isoformat()}Z"
        notes.append(f"only rows since {moment} by {since.column.heading!r}; rows without a time are left out")
    return tuple(notes)


# Since ----------------------------------------------------------------------------------------------------------


def _since(
    connection: duckdb.DuckDBPyConnection, described: Sequence[Column], url: Url, options: Options
) -> Since | None:
    """The moment and the column to hold against it; None when all rows are wanted."""
    if options.since is None:
        return None
    moment = queries.read_since(options.since, options.zone)
    column = (
        _named(described, options.where_time) if options.where_time else _recognised(connection, described, options)
    )
    if column is None or (url.engine != "sqlite" and column.kind in _NOT_TIMES):
        seen = f"column {column.heading!r} holds no times" if column else "no column of times could be recognised"
        raise UsageError(
            f"{url}: {seen}; --since needs one",
            f"say --where-time COLUMN; the columns are: {', '.join(c.heading for c in described)[:400]}",
        )
    local = moment.astimezone(ZoneInfo(options.zone or "UTC"))
    return Since(column, moment.astimezone(UTC).replace(tzinfo=None), local.replace(tzinfo=None))


def _named(described: Sequence[Column], name: str) -> Column:
    for column in described:
        if column.heading == name:
            return column
    headings = ", ".join(c.heading for c in described)
    raise UsageError(f"--where-time {name}: there is no such column", f"the columns are: {headings[:400]}")


def _recognised(connection: duckdb.DuckDBPyConnection, described: Sequence[Column], options: Options) -> Column | None:
    """The column that would become the time of the canonical row, by its name; else the only column of times."""
    staged = spool.empty_stage(connection, described, "")
    found = columns.recognise(connection, staged, kind=options.kind, given=options.mapping)[0]
    connection.execute("DROP TABLE staged")
    times = [c.name for c in schema.table(found.kind).columns if c.type == "TIMESTAMP"]
    for name in times:
        if name in found.mapping:
            return described[[c.name for c in staged.columns].index(found.mapping[name].column.name)]
    typed = [c for c in described if c.kind in ("instant", "naive", "date")]
    return typed[0] if len(typed) == 1 else None
