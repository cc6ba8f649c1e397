"""Evidence into a case: recognise, read, and account for every row, one file a transaction.

Rows read = rows loaded + rows rejected, for every source, and each rejected row is kept with its reason. A file is
recognised by its digest: the same evidence twice changes nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from forensics import schema, store
from forensics.errors import EvidenceError, ForensicsError, UnrecognisedError, UsageError
from forensics.model import Refused, Source
from forensics.sources import columns, log_formats, logs, tables, values, zones
from forensics.sources.evidence import Evidence, prepare

_EXPECTED = {"created_at": "a time", "amount": "an amount of money", "delivered_at": "a time", "settled_at": "a time"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the user says about the evidence; everything else is recognised."""

    kind: str | None = None
    """Canonical table (`--as`)."""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Canonical column -> heading (`--map`)."""
    zone: str | None = None
    """IANA zone of times without an offset (`--zone`)."""
    log_format: str | None = None
    """nginx log_format or Apache LogFormat string (`--log-format`)."""
    unit: str | None = None
    """minor | major (`--unit`)."""
    currency: str | None = None
    """ISO 4217 code for tables that name none (`--currency`)."""
    status: Mapping[str, str] = field(default_factory=dict)
    """The ledger's word -> canonical status (`--status`)."""


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
    paths: Sequence[Path],
    options: Options,
    progress: Callable[[str], None] = lambda _: None,
) -> Loaded:
    """Load files into the case, those whose times carry an offset first, because they place the others.

    Raises:
        UsageError: options that mean nothing.
    """
    _check(options)
    connection.execute("SET TimeZone = 'UTC'")
    loaded: list[Source] = []
    already: list[str] = []
    refused: list[Refused] = []
    with tempfile.TemporaryDirectory(prefix="forensics-") as folder:
        workdir = Path(folder)
        plans = []
        for path in paths:
            try:
                plans.append(_plan(path, workdir, options))
            except UsageError:
                raise
            except ForensicsError as exc:
                refused.append(Refused(str(path), exc.message, exc.hint))
        for plan in sorted(plans, key=lambda p: p.order):
            if _known(connection, plan.evidence.sha256):
                already.append(str(plan.evidence.path))
                continue
            progress(f"reading {plan.evidence.name}")
            try:
                with store.transaction(connection):
                    loaded.append(_load(connection, plan, options, workdir))
            except UsageError:
                raise
            except ForensicsError as exc:
                refused.append(Refused(str(plan.evidence.path), exc.message, exc.hint))
    return Loaded(tuple(loaded), tuple(already), tuple(refused))


def _check(options: Options) -> None:
    if options.zone:
        zones.check(options.zone)
    if options.unit not in (None, "minor", "major"):
        raise UsageError(f"--unit {options.unit}: expected minor or major")
    if options.currency and not (len(options.currency) == 3 and options.currency.isalpha()):
        raise UsageError(f"--currency {options.currency}: expected an ISO 4217 code such as KRW")
    canonical = set(values.words()["status"].values())
    for word, status in options.status.items():
        if status not in canonical:
            raise UsageError(f"--status {word}={status}: {status!r} is no status", f"one of {', '.join(sorted(canonical))}")


def _plan(path: Path, workdir: Path, options: Options) -> _Plan:
    evidence = prepare(path, workdir)
    log = None
    if evidence.container == "text" and options.kind in (None, "requests"):
        sample = [line for line in tables.first_lines(evidence.readable, 1000) if line.strip()]
        if options.log_format:
            log = logs.LogRecognition(log_formats.from_log_format(options.log_format), 1.0, "given by --log-format", None)
        else:
            log = logs.recognise(sample)
    if log is None and options.kind == "requests":
        raise UnrecognisedError(
            f"{path}: no known log format reads its lines", "describe it with --log-format '$remote_addr ...'"
        )
    return _Plan(evidence, log, 1 if log is None else (0 if log.format.has_offset else 2))


def _known(connection: duckdb.DuckDBPyConnection, sha256: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM sources WHERE sha256 = $sha", {"sha": sha256}).fetchall())


def _load(connection: duckdb.DuckDBPyConnection, plan: _Plan, options: Options, workdir: Path) -> Source:
    row = connection.execute("SELECT coalesce(max(source_id), 0) + 1 FROM sources").fetchone()
    source_id = int(row[0]) if row else 1
    if plan.log is not None:
        source = _load_log(connection, plan.evidence, plan.log, options, source_id)
    else:
        source = _load_table(connection, plan.evidence, options, source_id, workdir)
    if source.rows_loaded == 0:
        why = _first_reason(connection, source_id)
        raise EvidenceError(
            f"{plan.evidence.path}: none of its {source.rows_read} rows could be read as {source.kind}{why}",
            "check --as, --map, --zone or --log-format",
        )
    _record(connection, source)
    return source


def _first_reason(connection: duckdb.DuckDBPyConnection, source_id: int) -> str:
    row = connection.execute(
        "SELECT line_no, reason FROM rejects WHERE source_id = $id ORDER BY line_no LIMIT 1", {"id": source_id}
    ).fetchone()
    return f"; line {row[0]}: {row[1]}" if row else ""


def _counts(connection: duckdb.DuckDBPyConnection, table: str, time: str | None, source_id: int) -> dict[str, Any]:
    """Rows loaded and rejected, first and last time, and the finest step of the clock that shows."""
    stamp = time or "CAST(NULL AS TIMESTAMP)"
    row = connection.execute(
        f"SELECT count(*), min({stamp}), max({stamp}), CASE WHEN count({stamp}) = 0 THEN NULL "
        f"WHEN bool_and(epoch_us({stamp}) % 86400000000 = 0) THEN 86400000000 "
        f"WHEN bool_and(epoch_us({stamp}) % 60000000 = 0) THEN 60000000 "
        f"WHEN bool_and(epoch_us({stamp}) % 1000000 = 0) THEN 1000000 "
        f"WHEN bool_and(epoch_us({stamp}) % 1000 = 0) THEN 1000 ELSE 1 END FROM {table} WHERE source_id = $id",
        {"id": source_id},
    ).fetchone()
    rejected = connection.execute("SELECT count(*) FROM rejects WHERE source_id = $id", {"id": source_id}).fetchone()
    if row is None or rejected is None:  # an aggregate always gives one row
        raise AssertionError
    return {
        "rows_loaded": row[0],
        "rows_rejected": rejected[0],
        "rows_read": row[0] + rejected[0],
        "first_at": row[1],
        "last_at": row[2],
        "resolution_us": row[3],
    }


def _record(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    cells = {
        **{name: getattr(source, name) for name in source.__slots__},
        "mapping": json.dumps(dict(source.mapping), ensure_ascii=False),
        "notes": "; ".join(source.notes) or None,
    }
    names = [c.name for c in schema.SOURCES.columns]
    marks = ", ".join(f"${name}" for name in names)
    connection.execute(f"INSERT INTO sources ({', '.join(names)}) VALUES ({marks})", {n: cells[n] for n in names})


def _windows(connection: duckdb.DuckDBPyConnection) -> list[tuple[datetime, datetime]]:
    """UTC windows of the sources whose zone was not guessed."""
    return connection.execute(
        "SELECT first_at, last_at FROM sources WHERE first_at IS NOT NULL AND (zone IS NULL OR zone_reason = 'given') "
        "ORDER BY source_id"
    ).fetchall()


# Logs -----------------------------------------------------------------------------------------------------------


def _load_log(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, log: logs.LogRecognition, options: Options, source_id: int
) -> Source:
    zone = None
    if not log.format.has_offset:
        zone = _zone_of_log(connection, evidence, log.format, options)
    hop = _hop(evidence.name)
    select, parameters = logs.requests_sql(log.format, str(evidence.readable), zone.name if zone else "UTC")
    names = [c.name for c in schema.REQUESTS.columns if c.name not in ("source_id", "hop")]
    connection.execute(
        f"INSERT INTO requests (source_id, hop, {', '.join(names)}) SELECT ?, ?, {', '.join(names)} FROM ({select})",
        [source_id, hop, *parameters],
    )
    rejects, parameters = logs.rejects_sql(log.format, str(evidence.readable))
    connection.execute(
        f"INSERT INTO rejects (source_id, line_no, reason, text) SELECT ?, line_no, reason, text FROM ({rejects})",
        [source_id, *parameters],
    )
    counted = logs.settle_attempts(connection, source_id)
    notes = [*evidence.notes, log.why, *log.format.notes, *([counted] if counted else [])]
    return Source(
        source_id=source_id,
        path=str(evidence.path),
        sha256=evidence.sha256,
        kind="requests",
        format=log.format.id,
        mapping={},
        encoding=evidence.encoding,
        zone=zone.name if zone else None,
        zone_reason=zone.why if zone else None,
        hop=hop,
        notes=tuple(n for n in notes if n),
        **_counts(connection, "requests", "started_at", source_id),
    )


def _zone_of_log(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, log_format: log_formats.LogFormat, options: Options
) -> zones.Zone:
    if options.zone:
        return zones.Zone(options.zone, "given")
    select, parameters = logs.requests_sql(log_format, str(evidence.readable), "UTC")
    row = connection.execute(f"SELECT min(started_at), max(started_at) FROM ({select})", parameters).fetchone()
    naive = (row[0], row[1]) if row and row[0] else None
    return zones.choose(naive, _windows(connection), None)


def _hop(name: str) -> str | None:
    """The hop a log was written at, where the file name tells one: gateway.log -> gateway, access.log -> None."""
    stem = name.split(".", 1)[0].casefold()
    return None if stem in ("access", "access_log", "requests", "log", "out") else stem


# Tables ---------------------------------------------------------------------------------------------------------


def _load_table(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, options: Options, source_id: int, workdir: Path
) -> Source:
    staged = tables.stage(connection, evidence, workdir)
    if staged is None:
        first = next((line for line in tables.first_lines(evidence.readable, 20) if line.strip()), "")
        raise UnrecognisedError(
            f"{evidence.path}:1: neither a table nor a log line of a known format: {first[:120]!r}",
            "a log: describe it with --log-format; a table: save it as CSV with a heading line",
        )
    ranked = columns.recognise(connection, staged, kind=options.kind, given=options.mapping)
    found = ranked[0]
    if found.missing:
        _refuse(evidence, staged, found)
    if found.kind == "payments" and "order_id" not in found.mapping:
        _refuse(evidence, staged, replace(found, missing=("order_id",)))
    reader = _TableReader(connection, evidence, staged, found, options)
    return reader.load(source_id)


def _refuse(evidence: Evidence, staged: tables.Staged, found: columns.Recognition) -> None:
    headings = ", ".join(c.heading for c in staged.columns)
    missing = " and ".join(found.missing)
    raise UnrecognisedError(
        f"{evidence.path}: nearest to {found.kind}, but no column could be recognised as {missing}; "
        f"the columns are: {headings[:400]}",
        f"say which it is: --map {found.missing[0]}=HEADING (or --as KIND if it is not {found.kind})",
    )


class _TableReader:
    """One staged table on its way into its canonical table."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        evidence: Evidence,
        staged: tables.Staged,
        found: columns.Recognition,
        options: Options,
    ) -> None:
        self._connection = connection
        self._evidence = evidence
        self._staged = staged
        self._found = found
        self._options = options
        self._table = schema.table(found.kind)
        self._how: dict[str, str] = {}
        self._zone: zones.Zone | None = None

    def load(self, source_id: int) -> Source:
        """Insert the readable rows, keep the others as rejects, and say how it was read."""
        expressions = self._expressions()
        names = list(expressions)
        selected = ", ".join(f"{sql} AS {name}" for name, sql in expressions.items())
        required = [c.name for c in self._table.columns[2:] if c.required]
        good = " AND ".join(f"{name} IS NOT NULL" for name in required) or "true"
        inserted = self._connection.execute(
            f"INSERT INTO {self._table.name} (source_id, line_no, {', '.join(names)}) "
            f"SELECT $id, line_no, {', '.join(names)} FROM (SELECT line_no, {selected} FROM staged) WHERE {good}",
            {"id": source_id},
        ).fetchall()
        self._connection.execute(
            "INSERT INTO rejects SELECT $id, line_no, reason, text FROM staged_rejects", {"id": source_id}
        )
        if inserted != self._connection.execute("SELECT count(*) FROM staged").fetchall():
            self._reject(source_id, expressions, required)
        time = next((c.name for c in self._table.columns if c.type == "TIMESTAMP"), None)
        counts = _counts(self._connection, self._table.name, time, source_id)
        notes = [*self._evidence.notes, *self._staged.notes, *self._warnings(source_id)]
        for name in ("staged", "staged_rejects"):
            self._connection.execute(f"DROP TABLE {name}")
        return Source(
            source_id=source_id,
            path=str(self._evidence.path),
            sha256=self._evidence.sha256,
            kind=self._table.name,
            format=self._staged.format,
            mapping=self._mapping(),
            encoding=self._evidence.encoding,
            zone=self._zone.name if self._zone else None,
            zone_reason=self._zone.why if self._zone else None,
            hop=None,
            notes=tuple(notes),
            **counts,
        )

    def _mapping(self) -> dict[str, str]:
        return {
            name: f"{choice.column.heading} ({choice.why}{'; ' + self._how[name] if name in self._how else ''})"
            for name, choice in self._found.mapping.items()
        }

    def _expressions(self) -> dict[str, str]:
        found = self._found.mapping
        expressions = {}
        for column in self._table.columns[2:]:
            if column.name in found:
                expressions[column.name] = self._expression(column, found[column.name])
        if self._table.name == "payments":
            expressions = self._finish_payments(expressions)
        if self._table.name == "settlements":
            expressions["currency"] = self._currency()
        return expressions

    def _expression(self, column: schema.Column, choice: columns.Choice) -> str:
        name = choice.column.name
        if column.type == "TIMESTAMP":
            return self._time(column.name, choice)
        if column.type == schema.MONEY:
            reading = values.read_money(
                self._connection, choice.column, self._currency(), choice.column.heading, self._options.unit
            )
            return self._read(column.name, choice, reading)
        text = f"CAST({name} AS VARCHAR)"
        if column.type == "JSON":
            return f"CASE WHEN json_valid({text}) THEN CAST({text} AS JSON) ELSE to_json({text}) END"
        if column.type in ("BIGINT", "BOOLEAN", "INTEGER", "DOUBLE"):
            return f"TRY_CAST({text} AS {column.type})"
        return f"nullif(nullif(trim({text}), ''), '-')"

    def _read(self, name: str, choice: columns.Choice, reading: values.Reading | None) -> str:
        if reading is None:
            example = next(iter(values.sample(self._connection, choice.column, 1)), "")
            raise EvidenceError(
                f"{self._evidence.path}: column {choice.column.heading!r} was taken for {name}, but cells like "
                f"{example[:60]!r} are not {_EXPECTED.get(name, 'readable')}",
                f"say which column it is: --map {name}=HEADING",
            )
        self._how[name] = reading.how
        return reading.sql

    def _time(self, name: str, choice: columns.Choice) -> str:
        reading = values.read_time(self._connection, choice.column, "UTC")
        if reading is not None and reading.naive:
            zone = self._choose_zone(reading)
            reading = values.read_time(self._connection, choice.column, zone.name)
        return self._read(name, choice, reading)

    def _choose_zone(self, reading: values.Reading) -> zones.Zone:
        if self._zone is None:
            if self._options.zone:
                self._zone = zones.Zone(self._options.zone, "given")
            else:
                row = self._connection.execute(f"SELECT min(t), max(t) FROM (SELECT {reading.sql} AS t FROM staged)").fetchone()
                naive = (row[0], row[1]) if row and row[0] else None
                language = zones.of_words([c.heading for c in self._staged.columns])
                self._zone = zones.choose(naive, _windows(self._connection), language)
        return self._zone

    def _currency(self) -> str:
        choice = self._found.mapping.get("currency")
        if choice:
            return f"nullif(upper(trim(CAST({choice.column.name} AS VARCHAR))), '')"
        code = self._options.currency or self._currency_of_heading()
        return f"'{code.upper()}'" if code else "CAST(NULL AS VARCHAR)"

    def _currency_of_heading(self) -> str | None:
        amount = self._found.mapping.get("amount")
        known = "KRW JPY USD EUR GBP CNY CHF SEK NOK DKK PLN CZK AUD CAD SGD HKD INR BRL MXN VND THB TWD".split()
        words = columns.tokens(amount.column.heading) if amount else []
        return next((w for w in words if w in known), None)

    def _finish_payments(self, expressions: dict[str, str]) -> dict[str, str]:
        """Canonical status and kind beside the ledger's own words, and what maps to nothing as JSON."""
        found = self._found.mapping
        status_raw = expressions.get("status", "CAST(NULL AS VARCHAR)")
        kind_raw = expressions.get("kind", "CAST(NULL AS VARCHAR)")
        negative = f"({expressions['amount']}) < 0"
        kind = "'charge'"
        if "kind" in found:
            kind = f"CASE WHEN {kind_raw} IS NULL THEN 'charge' ELSE {values.read_word('kind', kind_raw)} END"
        kind = f"CASE WHEN {negative} AND {kind} = 'charge' THEN 'refund' ELSE {kind} END"
        status = "'captured'"
        if "status" in found:
            status = f"CASE WHEN {status_raw} IS NULL THEN 'unknown' ELSE {values.read_word('status', status_raw, self._options.status)} END"
        status = f"CASE WHEN {status} = 'captured' AND {kind} = 'authorisation' THEN 'authorised' ELSE {status} END"
        mapped = {c.column.name for c in found.values()}
        rest = [c for c in self._staged.columns if c.name not in mapped]
        pairs = ", ".join(f"{_literal(c.heading)}, CAST({c.name} AS VARCHAR)" for c in rest)
        return {
            **expressions,
            "currency": self._currency(),
            "status": status,
            "status_raw": status_raw,
            "kind": kind,
            "kind_raw": kind_raw,
            "extra": f"json_object({pairs})" if rest else "CAST(NULL AS JSON)",
        }

    def _reject(self, source_id: int, expressions: Mapping[str, str], required: Sequence[str]) -> None:
        reasons = []
        for name in required:
            cell = f"CAST({self._found.mapping[name].column.name} AS VARCHAR)"
            expected = _EXPECTED.get(name, "a value")
            seen = f"coalesce('''' || left({cell}, 60) || '''', 'nothing')"
            reasons.append(f"WHEN {expressions[name]} IS NULL THEN '{name}: {expected} expected, ' || {seen} || ' found'")
        row = " || ',' || ".join(f"coalesce(CAST({c.name} AS VARCHAR), '')" for c in self._staged.columns)
        self._connection.execute(
            f"INSERT INTO rejects SELECT $id, line_no, CASE {' '.join(reasons)} END AS reason, left({row}, {tables.REJECT_TEXT}) "
            f"FROM staged WHERE {' OR '.join(f'({expressions[n]}) IS NULL' for n in required)}",
            {"id": source_id},
        )

    def _warnings(self, source_id: int) -> list[str]:
        if self._table.name != "payments":
            return []
        rows = self._connection.execute(
            "SELECT coalesce(status_raw, '(blank)'), count(*), sum(amount) FROM payments "
            "WHERE source_id = $id AND status = 'unknown' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 8",
            {"id": source_id},
        ).fetchall()
        notes = [f"status {word!r} is not known: {n} rows, {total} in all, counted as no effect" for word, n, total in rows]
        if "status" not in self._found.mapping:
            notes.append("no status column: every row is taken as captured")
        if "currency" not in self._found.mapping and self._currency().startswith("CAST"):
            notes.append("no currency column: amounts stand under XXX; say it with --currency")
        return notes


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
