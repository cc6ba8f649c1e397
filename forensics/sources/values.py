"""How one column of text becomes a time or a word of ours (money has its own module).

A column is decided as a whole, never cell by cell: one sample chooses the reading, every cell is then read with it,
and a cell that does not fit is rejected with its row. Readings are SQL expressions over the column of `staged`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import duckdb

from forensics.sources.tables import StagedColumn

_SAMPLE_ROWS = 2000
_OFFSET = r"\d:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|z|UTC|GMT|[+-]\d{2}(:?\d{2})?)$"

TIME_FORMATS = (
    ("%Y-%m-%d %H:%M:%S.%f", "ISO"),
    ("%d.%m.%Y %H:%M:%S", "day first"),
    ("%d.%m.%Y %H:%M", "day first"),
    ("%d.%m.%Y", "day first"),
    ("%Y.%m.%d %H:%M:%S", "year first"),
    ("%Y. %m. %d. %H:%M:%S", "year first"),
    ("%Y.%m.%d", "year first"),
    ("%Y/%m/%d %H:%M", "year first"),
    ("%d/%m/%Y %H:%M:%S", "day first"),
    ("%m/%d/%Y %H:%M:%S", "month first"),
    ("%d/%m/%Y %H:%M", "day first"),
    ("%m/%d/%Y %H:%M", "month first"),
    ("%m/%d/%Y %I:%M:%S %p", "month first"),
    ("%d/%m/%Y", "day first"),
    ("%m/%d/%Y", "month first"),
    ("%d-%m-%Y %H:%M:%S", "day first"),
    ("%d-%b-%Y %H:%M:%S", "day first"),
    ("%d %b %Y %H:%M:%S", "day first"),
    ("%b %d, %Y %H:%M:%S", "month first"),
    ("%Y%m%d%H%M%S", "digits"),
    ("%Y%m%d %H:%M:%S", "digits"),
    ("%Y%m%d", "digits"),
    ("%Y년 %m월 %d일 %H:%M:%S", "Korean"),
    ("%Y년 %m월 %d일 %H시 %M분 %S초", "Korean"),
    ("%Y年%m月%d日 %H:%M:%S", "Japanese"),
)
EPOCHS = (
    ("epoch seconds", 9, 10, 1_000_000),
    ("epoch ms", 12, 13, 1_000),
    ("epoch µs", 15, 16, 1),
    ("epoch ns", 18, 19, 0),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """An SQL expression that gives the canonical value of a staged row, or NULL, and how it was chosen."""

    sql: str
    how: str
    """For people: format, unit, decimal mark."""
    naive: bool = False
    """Times only: some cells carry no offset, so the source's zone matters."""


def sample(connection: duckdb.DuckDBPyConnection, column: StagedColumn, rows: int = _SAMPLE_ROWS) -> list[str]:
    """Up to that many cells of a column as text, spread over the file, always the same ones."""
    found = connection.execute(
        f"SELECT CAST({column.name} AS VARCHAR) FROM staged WHERE {column.name} IS NOT NULL "
        "ORDER BY hash(line_no), line_no LIMIT $rows",
        {"rows": rows},
    ).fetchall()
    return [row[0].strip() for row in found if row[0].strip()]


# Time -----------------------------------------------------------------------------------------------------------


def read_time(connection: duckdb.DuckDBPyConnection, column: StagedColumn, zone: str) -> Reading | None:
    """How to read a column as UTC microseconds; None when its cells are no times.

    Args:
        zone: IANA name, for cells without an offset. It is quoted into the expression as a literal after
            the database itself has accepted it.
    """
    name = column.name
    zoned = _in_zone(zone)
    if column.type == "TIMESTAMP WITH TIME ZONE":
        return Reading(f"({name} AT TIME ZONE 'UTC')", "timestamp with offset")
    if column.type.startswith("TIMESTAMP") or column.type == "DATE":
        return Reading(zoned.format(f"CAST({name} AS TIMESTAMP)"), "timestamp without offset", naive=True)
    cells = sample(connection, column)
    if not cells:
        return None
    text = f"trim(CAST({name} AS VARCHAR))"
    return _epoch(cells, text) or _iso(connection, cells, text, zoned) or _formatted(connection, cells, text, zoned)


def _in_zone(zone: str) -> str:
    quoted = zone.replace("'", "''")
    return f"timezone('UTC', timezone('{quoted}', {{}}))"


def _epoch(cells: Sequence[str], text: str) -> Reading | None:
    for label, low, high, scale in EPOCHS:
        if all(re.fullmatch(rf"\d{{{low},{high}}}(\.\d+)?", cell) for cell in cells):
            if label == "epoch seconds" or scale:
                micros = f"CAST(TRY_CAST({text} AS DECIMAL(38,6)) * {scale} AS BIGINT)"
            else:
                micros = f"CAST(TRY_CAST({text} AS HUGEINT) // 1000 AS BIGINT)"
            return Reading(f"make_timestamp({micros})", label)
    return None


def _share(connection: duckdb.DuckDBPyConnection, cells: Sequence[str], test: str) -> float:
    row = connection.execute(
        f"SELECT avg(CASE WHEN {test} THEN 1.0 ELSE 0 END) FROM unnest($cells) AS t(cell)", {"cells": list(cells)}
    ).fetchone()
    return float(row[0]) if row and row[0] is not None else 0.0


def _iso(connection: duckdb.DuckDBPyConnection, cells: Sequence[str], text: str, zoned: str) -> Reading | None:
    looks_iso = "regexp_matches(cell, '^\\d{4}[-/]\\d{1,2}[-/]\\d{1,2}') AND TRY_CAST(cell AS TIMESTAMP) IS NOT NULL"
    if _share(connection, cells, looks_iso) < 0.9:
        return None
    # A cast to TIMESTAMP silently drops an offset, so cells are told apart before either cast.
    offsets = _share(connection, cells, f"regexp_matches(cell, '{_OFFSET}')")
    tight = f"regexp_replace({text}, '\\s+([+-]\\d{{2}}:?\\d{{2}})$', '\\1')"
    with_offset = f"(TRY_CAST({tight} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')"
    without = zoned.format(f"TRY_CAST({text} AS TIMESTAMP)")
    sql = f"CASE WHEN regexp_matches({text}, '{_OFFSET}') THEN {with_offset} ELSE {without} END"
    if offsets == 1:
        return Reading(sql, "ISO 8601 with offset")
    return Reading(sql, "ISO 8601" if offsets == 0 else "ISO 8601, some with offset", naive=True)


def _formatted(connection: duckdb.DuckDBPyConnection, cells: Sequence[str], text: str, zoned: str) -> Reading | None:
    shares = [
        (_share(connection, cells, f"try_strptime(cell, '{form}') IS NOT NULL"), form, order)
        for form, order in TIME_FORMATS
    ]
    share, form, order = max(shares, key=lambda s: s[0])
    if share < 0.9:
        return None
    rivals = [o for s, _, o in shares if s == share and {o, order} == {"day first", "month first"}]
    note = f" (could be {rivals[0]}: no day is above 12)" if rivals else ""
    return Reading(zoned.format(f"try_strptime({text}, '{form}')"), form + note, naive=True)


# Words ----------------------------------------------------------------------------------------------------------


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """For `status` and `kind`: the ledger's word in lower case -> our word."""
    data = tomllib.loads((files("forensics.sources") / "data" / "words.toml").read_text(encoding="utf-8"))
    return {
        field: {word.casefold(): ours for ours, theirs in table.items() for word in theirs}
        for field, table in data.items()
    }


def read_word(field: str, name: str, extra: Mapping[str, str] | None = None) -> str:
    """The expression that turns a ledger's word into ours; words in no list become 'unknown'."""
    table = {**words()[field], **{k.casefold(): v for k, v in (extra or {}).items()}}
    keys = ", ".join(_literal(k) for k in table)
    values = ", ".join(_literal(v) for v in table.values())
    word = f"lower(trim(CAST({name} AS VARCHAR)))"
    return f"coalesce(list_extract([{values}], list_position([{keys}], {word})), 'unknown')"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
