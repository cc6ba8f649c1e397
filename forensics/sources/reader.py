"""One staged table on its way into its canonical table: which expression gives which column, and what is rejected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from forensics import schema
from forensics.errors import EvidenceError
from forensics.model import Source
from forensics.sources import columns, folds, letters, money, register, values, zones
from forensics.sources.evidence import Evidence
from forensics.sources.options import Options
from forensics.sources.staged import REJECT_TEXT, Staged, drop_staged
from forensics.sources.zone_column import column_of_zones, zone_of

_EXPECTED = {"created_at": "a time", "amount": "an amount of money", "delivered_at": "a time", "settled_at": "a time"}
_CURRENCIES = frozenset(
    (
        *("KRW", "JPY", "USD", "EUR", "GBP", "CNY", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK"),
        *("AUD", "CAD", "SGD", "HKD", "INR", "BRL", "MXN", "VND", "THB", "TWD"),
    )
)
# How databases and spreadsheets write that a cell is empty. Taken for a key, it would make one act of many rows.
_NOTHING = "'', '-', 'null', '(null)', '<null>', '\\n', 'none', 'nil', 'nan', 'n/a', '#n/a', 'undefined'"
_INITIALS = "'n', 'N', 'u', 'U', '<', '\\'"  # of those; the other words begin with what sorts before 0


class TableReader:
    """Reads one staged table; `staged` and `staged_rejects` are dropped when it is done."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        evidence: Evidence,
        staged: Staged,
        found: columns.Recognition,
        options: Options,
    ) -> None:
        self._connection = connection
        self._evidence = evidence
        self._staged = staged
        self._found = found
        self._options = options
        self._table = schema.table(found.kind)
        self._cells: dict[str, str] = {}
        """What is read from the columns of `staged`."""
        self._derived: dict[str, str] = {}
        """What follows from the cells, by their names."""
        self._how: dict[str, str] = {}
        self._zone: zones.Zone | None = None

    def load(self, source_id: int) -> Source:
        """Insert the readable rows, keep the others as rejects, and say how it was read."""
        self._read_cells()
        required = [c.name for c in self._table.columns[2:] if c.required]
        good = " AND ".join(f"{name} IS NOT NULL" for name in required) or "true"
        cells = ", ".join(f"{sql} AS {name}" for name, sql in self._cells.items())
        given = {c.name: c.name for c in self._table.columns if c.name in self._cells} | self._derived
        inserted = self._connection.execute(
            f"INSERT INTO {self._table.name} (source_id, line_no, {', '.join(given)}) "
            f"SELECT $id, line_no, {', '.join(given.values())} FROM (SELECT line_no, {cells} FROM staged) WHERE {good}",
            {"id": source_id},
        ).fetchall()
        self._connection.execute(
            "INSERT INTO rejects SELECT $id, line_no, reason, text FROM staged_rejects", {"id": source_id}
        )
        if inserted != self._connection.execute("SELECT count(*) FROM staged").fetchall():
            self._reject(source_id, required)
        time = next((c.name for c in self._table.columns if c.type == "TIMESTAMP"), None)
        counts = register.count_rows(self._connection, self._table.name, time, source_id)
        folded = self._folds(source_id, time, counts)
        if folded:
            counts = register.count_rows(self._connection, self._table.name, time, source_id)
        notes = [*self._evidence.notes, *self._staged.notes, *self._zone_notes(), *folded]
        notes += self._warnings(source_id)
        drop_staged(self._connection)
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

    def _read_cells(self) -> None:
        found = self._found.mapping
        for column in self._table.columns[2:]:
            if column.name in found:
                self._cells[column.name] = self._expression(column, found[column.name])
        if self._table.name == "payments":
            self._finish_payments()
        if self._table.name == "settlements":
            self._finish_settlements()
        if self._table.name == "dead_letters" and "original" in found:
            named = letters.business_key_sql(f"CAST({found['original'].column.name} AS VARCHAR)")
            self._cells["business_key"] = f"coalesce({self._cells.get('business_key', 'NULL')}, {named})"

    def _expression(self, column: schema.Column, choice: columns.Choice) -> str:
        name = choice.column.name
        if column.type == "TIMESTAMP":
            return self._time(column.name, choice)
        if column.type == schema.MONEY:
            reading = money.read_money(
                self._connection, choice.column, self._currency(), choice.column.heading, self._options.unit
            )
            return self._read(column.name, choice, reading)
        text = f"CAST({name} AS VARCHAR)"
        if column.type == "JSON":
            return f"CASE WHEN json_valid({text}) THEN CAST({text} AS JSON) ELSE to_json({text}) END"
        if column.type in ("BIGINT", "BOOLEAN", "INTEGER", "DOUBLE"):
            return f"TRY_CAST({text} AS {column.type})"
        # Words for nothing are short and begin with one of few letters; most cells need not be compared with them.
        plain = f"{text} >= '0' AND NOT suffix({text}, ' ') AND (strlen({text}) > 9 OR {text}[1] NOT IN ({_INITIALS}))"
        return f"CASE WHEN {plain} THEN {text} WHEN lower(trim({text})) NOT IN ({_NOTHING}) THEN trim({text}) END"

    def _read(self, name: str, choice: columns.Choice, reading: values.Reading | None) -> str:
        if reading is None:
            example = next(iter(values.sample(self._connection, choice.column, 1)), "")
            if not self._table.column(name).required:
                self._how[name] = (
                    f"left out: {example[:40]!r} is not {_EXPECTED.get(name, 'readable')}" if example else "empty"
                )
                return "NULL"
            expected = _EXPECTED.get(name, "readable")
            seen = f"cells like {example[:60]!r} are not {expected}" if example else "it is empty"
            raise EvidenceError(
                f"{self._evidence.path}: column {choice.column.heading!r} was taken for {name}, but {seen}",
                f"say which column it is: --map {name}=HEADING",
            )
        self._how[name] = reading.how
        return reading.sql

    def _time(self, name: str, choice: columns.Choice) -> str:
        reading = values.read_time(self._connection, choice.column, "UTC")
        if reading is not None and reading.naive:
            zone = self._choose_zone(reading, choice.column.heading)
            reading = values.read_time(self._connection, choice.column, zone.name)
        return self._read(name, choice, reading)

    def _choose_zone(self, reading: values.Reading, heading: str) -> zones.Zone:
        if self._zone is None:
            if self._options.zone:
                self._zone = zones.Zone(self._options.zone, zones.GIVEN)
            elif {"UTC", "GMT"} & set(columns.tokens(heading)):
                self._zone = zones.Zone("UTC", zones.IN_HEADING)
            elif named := self._named_zone():
                self._zone = named
            else:
                row = self._connection.execute(
                    f"SELECT min(t), max(t) FROM (SELECT {reading.sql} AS t FROM staged)"
                ).fetchone()
                naive = (row[0], row[1]) if row and row[0] else None
                language = zones.of_words([c.heading for c in self._staged.columns])
                self._zone = zones.choose(naive, register.utc_windows(self._connection), language)
        return self._zone

    def _named_zone(self) -> zones.Zone | None:
        """The zone that a column names in every row, or the only one that the product writes."""
        column, sense = column_of_zones(self._staged.columns), self._staged.sense
        if column is not None and (named := zone_of(values.sample(self._connection, column))):
            return zones.Zone(named, zones.IN_COLUMN)
        return zones.Zone(sense.zone, zones.OF_PRODUCT) if sense and sense.zone else None

    def _zone_notes(self) -> list[str]:
        """What a column of zone names would say, where the zone had to be assumed."""
        column = column_of_zones(self._staged.columns)
        if self._zone is None or self._zone.why in zones.KNOWN or column is None:
            return []
        seen = ", ".join(sorted(set(values.sample(self._connection, column)))[:3])
        return [f"column {column.heading!r} ({seen[:60]}) is not read; say the zone with --zone"]

    def _folds(self, source_id: int, name: str | None, counts: Mapping[str, Any]) -> list[str]:
        choice = self._found.mapping.get(name) if name else None
        if name is None or self._zone is None or choice is None or counts["first_at"] is None:
            return []
        window = (counts["first_at"], counts["last_at"])
        times = folds.Times(self._table.name, name)
        return folds.settle_folds(self._connection, source_id, times, choice.column, self._zone.name, window)

    def _currency(self) -> str:
        """The code that the amount's own heading names, else the row's, what the user says, what the language says."""
        choice = self._found.mapping.get("currency")
        code = self._currency_of_heading()
        if choice and not code:
            return f"nullif(upper(trim(CAST({choice.column.name} AS VARCHAR))), '')"
        code = code or self._options.currency or self._currency_of_language()
        return f"'{code.upper()}'" if code else "CAST(NULL AS VARCHAR)"

    def _currency_of_heading(self) -> str | None:
        amount = self._found.mapping.get("amount")
        words = columns.tokens(amount.column.heading) if amount else []
        return next((w for w in words if w in _CURRENCIES), None)

    def _currency_of_language(self) -> str | None:
        """Won or yen, where Korean or Japanese headings stand over whole amounts; shown as an assumption."""
        amount = self._found.mapping.get("amount")
        language = zones.of_words([c.heading for c in self._staged.columns])
        code = {"Asia/Seoul": "KRW", "Asia/Tokyo": "JPY"}.get(language.name) if language else None
        if code is None or amount is None or "DECIMAL" in amount.column.type:
            return None
        cells = values.sample(self._connection, amount.column, 200)
        return None if any(re.search(r"[.,]\d{1,2}\D*$", cell) for cell in cells) else code

    def _finish_payments(self) -> None:
        """Canonical status and kind beside the ledger's own words, and what maps to nothing as JSON."""
        found = self._found.mapping
        raw = {field: self._cells.pop(field, "CAST(NULL AS VARCHAR)") for field in ("status", "kind")}
        kind = "'charge'"
        if "kind" in found:
            word = self._word("kind", raw["kind"], "kind_raw")
            kind = f"CASE WHEN kind_raw IS NULL THEN 'charge' ELSE {word} END"
        kind = f"CASE WHEN amount < 0 AND {kind} = 'charge' THEN 'refund' ELSE {kind} END"
        status = "'captured'"
        if "status" in found:
            word = self._word("status", raw["status"], "status_raw")
            status = f"CASE WHEN status_raw IS NULL THEN 'unknown' ELSE {word} END"
        if "kind" in found:
            status = f"CASE WHEN {status} = 'captured' AND {kind} = 'authorisation' THEN 'authorised' ELSE {status} END"
        mapped = {c.column.name for c in found.values()}
        rest = [c for c in self._staged.columns if c.name not in mapped and not c.joins]
        pairs = ", ".join(f"{_literal(c.heading)}, CAST({c.name} AS VARCHAR)" for c in rest)
        self._cells |= {
            "currency": self._currency(),
            "status_raw": raw["status"],
            "kind_raw": raw["kind"],
            "extra": f"json_object({pairs})" if rest else "CAST(NULL AS JSON)",
        }
        self._derived = {"status": status, "kind": kind}

    def _word(self, field: str, cell: str, name: str) -> str:
        """Our word for what stands in a cell, which is called `name` where it is asked for."""
        column = self._found.mapping["status" if field == "status" else "kind"].column
        given = self._options.status if field == "status" else {}
        return values.read_word(self._connection, field, column, cell, name, given)

    def _finish_settlements(self) -> None:
        """What each row is, and the sign that its kind gives the amount: some providers write refunds without one."""
        by_sign = "CASE WHEN amount < 0 THEN 'refund' ELSE 'payment' END"
        movement = by_sign
        if "kind" in self._found.mapping:
            word = self._word("movement", self._cells["kind"], "kind")
            movement = f"coalesce(nullif({word}, 'unknown'), {by_sign})"
        payout = self._found.mapping.get("payout")
        if payout and "settled_at" not in self._cells and values.read_time(self._connection, payout.column, "UTC"):
            self._cells["settled_at"] = self._time("settled_at", payout)
        self._cells["currency"] = self._currency()
        self._derived = {
            "movement": movement,
            "amount": f"CASE WHEN {movement} = 'refund' THEN -abs(amount) ELSE amount END",
        }

    def _reject(self, source_id: int, required: Sequence[str]) -> None:
        reasons = []
        for name in required:
            cell = f"CAST({self._found.mapping[name].column.name} AS VARCHAR)"
            expected = _EXPECTED.get(name, "a value")
            seen = f"coalesce('''' || left({cell}, 60) || '''', 'nothing')"
            reasons.append(
                f"WHEN {self._cells[name]} IS NULL THEN '{name}: {expected} expected, ' || {seen} || ' found'"
            )
        cells = [c.name for c in self._staged.columns if not c.joins]
        row = " || ',' || ".join(f"coalesce(CAST({name} AS VARCHAR), '')" for name in cells)
        self._connection.execute(
            f"INSERT INTO rejects SELECT $id, line_no, CASE {' '.join(reasons)} END, left({row}, {REJECT_TEXT}) "
            f"FROM staged WHERE {' OR '.join(f'({self._cells[n]}) IS NULL' for n in required)}",
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
        notes = [
            f"status {word!r} is not known: {n} rows, {total} in all, counted as no effect" for word, n, total in rows
        ]
        if "status" not in self._found.mapping:
            notes.append("no status column: every row is taken as captured")
        if "currency" not in self._found.mapping and self._currency().startswith("CAST"):
            notes.append("no currency column: amounts stand under XXX; say it with --currency")
        elif "currency" not in self._found.mapping and not (self._options.currency or self._currency_of_heading()):
            notes.append(
                f"no currency column: {self._currency_of_language()} assumed from the language of the headings"
            )
        return notes


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
