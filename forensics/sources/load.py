"""Evidence into a case: recognise, read, and account for every row, one file a transaction.

Rows read = rows loaded + rows rejected, for every source, and each rejected row is kept with its reason. A file is
recognised by its digest: the same evidence twice changes nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from forensics import schema, store
from forensics.errors import EvidenceError, ForensicsError, UnrecognisedError, UsageError
from forensics.model import Refused, Source
from forensics.sources import (
    columns,
    databases,
    documents,
    folds,
    gather,
    layouts,
    log_choice,
    logs,
    register,
    statements,
    tables,
    years,
    zones,
)
from forensics.sources.align import align_settlements
from forensics.sources.clock import join_clock
from forensics.sources.evidence import Evidence
from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.options import TEXT_TABLES, Options, check
from forensics.sources.reader import TableReader
from forensics.sources.staged import Staged, first_lines, normal
from forensics.sources.urls import Url

_WHAT_TO_DO = {
    "": "a log: describe it with --log-format; a table: save it as CSV with a heading line",
    "[": "JSON is read as a list of objects, or as objects one a line",
    "{": "JSON is read as a list of objects, or as objects one a line",
    "<": "of XML, statements as CAMT.052, 053 and 054 are read; export anything else as CSV",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What became of the files of one call."""

    sources: tuple[Source, ...]
    already: tuple[str, ...]
    """Paths whose bytes the case already holds."""
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One prepared file and how it will be read."""

    evidence: Evidence
    log: logs.LogRecognition | None
    order: int
    """0: times carry their offset; 1: a table, not yet known; 2: a log without offsets."""


def load_files(
    connection: duckdb.DuckDBPyConnection,
    paths: Sequence[Path | Url | str],
    options: Options,
    progress: Callable[[str], None] = lambda _: None,
) -> Loaded:
    """Load evidence into the case: first what carries the offset of its times, because it places the rest.

    Raises:
        UsageError: options that mean nothing.
    """
    check(options)
    described = log_choice.described(options)
    connection.execute("SET TimeZone = 'UTC'")
    loaded, already = list[Source](), list[str]()
    files, refused = gather.gather(paths, progress)
    with tempfile.TemporaryDirectory(prefix="forensics-") as folder:
        workdir = Path(folder)
        plans = []
        for place in databases.places(files, options):
            try:
                brought = databases.bring(connection, place, workdir, options, progress)
                evidence = documents.unfold(statements.unfold(brought, workdir), workdir)
                plans.append(_plan(evidence, options.for_file(evidence.name), described))
            except UsageError:
                raise
            except ForensicsError as exc:
                refused.append(Refused(str(place), exc.message, exc.hint))
        if sum(plan.log is None for plan in plans) > 1:
            # With several tables a heading of --map need not stand in each.
            options = replace(options, mapping_where_found=True)
        for plan in sorted(plans, key=lambda p: p.order):
            if register.is_known(connection, plan.evidence.sha256):
                already.append(str(plan.evidence.path))
                continue
            progress(f"reading {plan.evidence.name}")
            try:
                loaded.append(_load(connection, plan, options.for_file(plan.evidence.name), workdir))
            except UsageError:
                raise
            except ForensicsError as exc:
                refused.append(Refused(str(plan.evidence.path), exc.message, exc.hint))
    return Loaded(align_settlements(connection, loaded), tuple(already), tuple(refused))


def _plan(evidence: Evidence, options: Options, described: log_choice.Described) -> _Plan:
    log = None
    if evidence.container == "text" and options.kind in (None, "requests") and options.format not in TEXT_TABLES:
        log = log_choice.choose(evidence, options, described)
    if log is None and options.kind == "requests":
        raise UnrecognisedError(
            f"{evidence.path}: no known log format reads its lines", "describe it with --log-format '$remote_addr ...'"
        )
    return _Plan(evidence, log, 1 if log is None else (0 if log.format.has_offset else 2))


def _load(connection: duckdb.DuckDBPyConnection, plan: _Plan, options: Options, workdir: Path) -> Source:
    """Load one file, all of it or nothing.

    Tables are staged before the transaction begins: the engine gives up a transaction in which any statement failed,
    and that a file is not as regular as it looks is found out by a statement that fails.
    """
    try:
        staged = _stage(connection, plan.evidence, workdir, options) if plan.log is None else None
        with store.bulk_insert(connection), store.transaction(connection):
            source_id = register.next_id(connection)
            if plan.log is not None:
                source = _load_log(connection, plan.evidence, plan.log, options, source_id)
            elif staged is not None:
                source = _load_table(connection, plan.evidence, staged, options, source_id)
            if source.rows_loaded == 0:
                why = _first_reason(connection, source_id)
                raise EvidenceError(
                    f"{plan.evidence.path}: none of its {source.rows_read} rows could be read as {source.kind}{why}",
                    "check --as, --map, --zone or --log-format",
                )
            register.record(connection, source)
    except duckdb.Error as exc:
        first = str(exc).splitlines()[0]
        raise EvidenceError(f"{plan.evidence.path}: the file could not be loaded: {first}", None) from exc
    return source


def _first_reason(connection: duckdb.DuckDBPyConnection, source_id: int) -> str:
    row = connection.execute(
        "SELECT line_no, reason FROM rejects WHERE source_id = $id ORDER BY line_no LIMIT 1", {"id": source_id}
    ).fetchone()
    return f"; line {row[0]}: {row[1]}" if row else ""


# Logs -----------------------------------------------------------------------------------------------------------


def _load_log(
    connection: duckdb.DuckDBPyConnection,
    evidence: Evidence,
    log: logs.LogRecognition,
    options: Options,
    source_id: int,
) -> Source:
    log_format, year = years.dated(log.format, evidence.path, register.utc_windows(connection))
    zone = None
    if not log_format.has_offset:
        zone = _zone_of_log(connection, evidence, log_format, options)
    hop = _hop(evidence.name)
    select, parameters = logs.requests_sql(log_format, str(evidence.readable), zone.name if zone else "UTC")
    names = [c.name for c in schema.REQUESTS.columns if c.name not in ("source_id", "hop")]
    inserted = connection.execute(
        f"INSERT INTO requests (source_id, hop, {', '.join(names)}) SELECT ?, ?, {', '.join(names)} FROM ({select})",
        [source_id, hop, *parameters],
    ).fetchall()
    if inserted != [(evidence.lines,)]:
        rejects, parameters = logs.rejects_sql(log_format, str(evidence.readable))
        connection.execute(
            f"INSERT INTO rejects (source_id, line_no, reason, text) SELECT ?, line_no, reason, text FROM ({rejects})",
            [source_id, *parameters],
        )
    counted = logs.settle_attempts(connection, source_id, log_format)
    notes = [*evidence.notes, log.why, *log_format.notes, year, counted]
    notes += folds.settle_log_folds(connection, source_id, log_format.time_is, zone.name) if zone else []
    return Source(
        source_id=source_id,
        path=str(evidence.path),
        sha256=evidence.sha256,
        kind="requests",
        format=log_format.id,
        mapping={},
        encoding=evidence.encoding,
        zone=zone.name if zone else None,
        zone_reason=zone.why if zone else None,
        hop=hop,
        notes=tuple(n for n in notes if n),
        **register.count_rows(connection, "requests", "started_at", source_id),
    )


def _zone_of_log(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, log_format: LogFormat, options: Options
) -> zones.Zone:
    if options.zone:
        return zones.Zone(options.zone, zones.GIVEN)
    select, parameters = logs.requests_sql(log_format, str(evidence.readable), "UTC")
    row = connection.execute(f"SELECT min(started_at), max(started_at) FROM ({select})", parameters).fetchone()
    naive = (row[0], row[1]) if row and row[0] else None
    return zones.choose(naive, register.utc_windows(connection), None)


def _hop(name: str) -> str | None:
    """The hop a log was written at, where the file name tells one: gateway.log -> gateway, access.log -> None."""
    stem = name.split(".", 1)[0].casefold()
    return None if stem in ("access", "access_log", "requests", "log", "out", "stdin") else stem


# Tables ---------------------------------------------------------------------------------------------------------


def _stage(connection: duckdb.DuckDBPyConnection, evidence: Evidence, workdir: Path, options: Options) -> Staged:
    staged = tables.stage(connection, evidence, workdir, options.format)
    if staged is None:
        first = next((line.strip() for line in first_lines(evidence.readable, 20) if line.strip()), "")
        raise UnrecognisedError(
            f"{evidence.path}:1: neither a table nor a log that a known format reads half of: {first[:120]!r}",
            _WHAT_TO_DO.get(first[:1], _WHAT_TO_DO[""]),
        )
    return layouts.make_sense(connection, join_clock(connection, staged), options)


def _load_table(
    connection: duckdb.DuckDBPyConnection,
    evidence: Evidence,
    staged: Staged,
    options: Options,
    source_id: int,
) -> Source:
    ranked = columns.recognise(connection, staged, kind=options.kind, given=_given(staged, options))
    found = ranked[0]
    if found.missing:
        _refuse(evidence, staged, found)
    if found.kind == "payments" and not _names_acts(found.mapping, options.key):
        _refuse(evidence, staged, replace(found, missing=("order_id",)))
    return TableReader(connection, evidence, staged, found, layouts.with_words(options, staged)).load(source_id)


def _names_acts(mapping: Container[str], key: Sequence[str]) -> bool:
    """Whether a ledger's columns can name an act: an order, a sender's message, or all that the user's key takes."""
    if "order_id" in mapping or ("sender" in mapping and "message_no" in mapping):
        return True
    return bool(key) and all(column in mapping for column in key if column != "day")


def _given(staged: Staged, options: Options) -> dict[str, str]:
    """What --map says of this table."""
    headings = {normal(c.heading) for c in staged.columns}
    return {
        name: heading
        for name, heading in options.mapping.items()
        if not options.mapping_where_found or normal(heading) in headings
    }


def _refuse(evidence: Evidence, staged: Staged, found: columns.Recognition) -> None:
    headings = columns.shown_headings(staged)
    missing = " and ".join(found.missing)
    if not found.mapping:
        raise UnrecognisedError(
            f"{evidence.path}: no heading is known and no log format reads half of its lines; as headings it has: "
            f"{headings[:400]}",
            "a log: describe it with --log-format; a table: say what its columns are with --map order_id=HEADING ...",
        )
    raise UnrecognisedError(
        f"{evidence.path}: nearest to {found.kind}, but no column could be recognised as {missing}; "
        f"the columns are: {headings[:400]}",
        f"say which it is: --map {found.missing[0]}=HEADING (or --as KIND if it is not {found.kind})",
    )
