"""How one column of text becomes a time or a word of ours (money has its own module).

A column is decided as a whole, never cell by cell: one sample chooses the reading, every cell is then read with it,
and a cell that does not fit is rejected with its row. Readings are SQL expressions over the column of `staged`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import duckdb

from forensics.sources import spelt
from forensics.sources.headings import plain
from forensics.sources.staged import StagedColumn

_SAMPLE_ROWS = 2000
_OFFSET = r"\d:\d{2}(:\d{2}([.,]\d+)?)?\s*(Z|z|UTC|GMT|[+-]\d{2}(:?\d{2})?)$"

_PLAIN_ISO = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.]\d{1,6})?(Z|[+-]\d\d(?::\d\d)?)?")
"""ISO 8601 as it is mostly written, and its offset."""
_HALF_DAY = r"(?i)\d\s*[ap]\.?\s?m\.?$"

_DAYS = (
    *(("%d.%m.%Y", "day first"), ("%d/%m/%Y", "day first"), ("%m/%d/%Y", "month first"), ("%d-%m-%Y", "day first")),
    *(("%d.%m.%y", "day first"), ("%d/%m/%y", "day first"), ("%m/%d/%y", "month first")),
    *(("%B %d, %Y", "month first"), ("%d %B %Y", "day first")),
    *(("%d-%b-%Y", "day first"), ("%d %b %Y", "day first"), ("%b %d, %Y", "month first")),
    *(("%Y.%m.%d", "year first"), ("%Y. %m. %d.", "year first"), ("%Y/%m/%d", "year first"), ("%Y%m%d", "digits")),
    ("%Y-%m-%d", "ISO"),
    *(("%Y년 %m월 %d일", "Korean"), ("%Y년%m월%d일", "Korean"), ("%Y年%m月%d日", "Japanese")),
)
_CLOCKS = ("", " %H:%M:%S", " %H:%M", " %H:%M:%S.%f", " %I:%M:%S %p", " %I:%M %p")
TIME_FORMATS = (
    *((day + clock, order) for day, order in _DAYS for clock in _CLOCKS),
    ("%Y%m%d%H%M%S", "digits"),
    ("%Y년 %m월 %d일 %H시 %M분 %S초", "Korean"),
    ("%Y年%m月%d日 %H時%M分%S秒", "Japanese"),
)
# Only moments between 2001 and 2096 are taken for epochs: 0 is no time, and neither is a ten-digit order number.
EPOCHS = (("epoch seconds", 9, 1_000_000), ("epoch ms", 12, 1_000), ("epoch µs", 15, 1), ("epoch ns", 18, 0))
_EARLIEST = "TIMESTAMP '1900-01-01'"
"""A two-digit year read as four digits falls before it."""


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


def read_time(
    connection: duckdb.DuckDBPyConnection, column: StagedColumn, zone: str, least: float = 0.5
) -> Reading | None:
    """How to read a column as UTC microseconds; None when its cells are no times.

    Args:
        zone: IANA name, for cells without an offset. It is quoted into the expression as a literal after
            the database itself has accepted it.
        least: share of the cells that must be times of one form; the others are rejected row by row.
    """
    name = column.name
    zoned = _in_zone(zone)
    if column.type == "TIMESTAMP WITH TIME ZONE":
        return Reading(f"make_timestamp(epoch_us({name}))", "timestamp with offset")
    if column.type.startswith("TIMESTAMP") or column.type == "DATE":
        return Reading(zoned.format(f"CAST({name} AS TIMESTAMP)"), "timestamp without offset", naive=True)
    cells = sample(connection, column)
    if not cells:
        return None
    text = f"trim(CAST({name} AS VARCHAR))"
    serial = spelt.is_serial(column.heading, cells), _serial(text, zoned)
    best = max(_epoch(cells, text), _iso(connection, cells, name, text, zoned), serial, key=lambda f: f[0])
    if best[0] < 0.9:
        best = max(best, _formatted(connection, cells, text, zoned), key=lambda f: f[0])
    if best[0] < 0.9 and (respelt := _respelt(connection, cells)) != cells:
        best = max(best, _formatted(connection, respelt, spelt.respelt(text), zoned), key=lambda f: f[0])
    return best[1] if best[0] >= least else None


def _in_zone(zone: str) -> str:
    quoted = zone.replace("'", "''")
    return f"timezone('UTC', timezone('{quoted}', {{}}))"


_Found = tuple[float, Reading | None]
"""The share of the cells that a reading reads, and the reading."""


def _epoch(cells: Sequence[str], text: str) -> _Found:
    for label, digits, scale in EPOCHS:
        form = rf"[1-3]\d{{{digits}}}(\.\d+)?"
        share = sum(bool(re.fullmatch(form, cell)) for cell in cells) / len(cells)
        if share < 0.5:
            continue
        if scale:
            micros = f"CAST(TRY_CAST({text} AS DECIMAL(38,6)) * {scale} AS BIGINT)"
        else:
            micros = f"CAST(TRY_CAST(split_part({text}, '.', 1) AS HUGEINT) // 1000 AS BIGINT)"
        return share, Reading(f"CASE WHEN regexp_full_match({text}, '{form}') THEN make_timestamp({micros}) END", label)
    return 0.0, None


def _serial(text: str, zoned: str) -> Reading:
    return Reading(zoned.format(spelt.serial_sql(text)), "Excel's serial days", naive=True)


def _shares(connection: duckdb.DuckDBPyConnection, cells: Sequence[str], tests: Sequence[str]) -> list[float]:
    """For each condition on `cell`, the share of cells of which it holds."""
    averages = ", ".join(f"avg(CASE WHEN {test} THEN 1.0 ELSE 0 END)" for test in tests)
    row = connection.execute(f"SELECT {averages} FROM unnest($cells) AS t(cell)", {"cells": list(cells)}).fetchone()
    return [float(share or 0.0) for share in row or ()]


def _iso(connection: duckdb.DuckDBPyConnection, cells: Sequence[str], name: str, text: str, zoned: str) -> _Found:
    # A cast to TIMESTAMP silently drops an offset, so cells are told apart before either cast.
    plain, tight = _castable(text)
    looks_iso = f"regexp_matches(cell, '^\\d{{4}}[-/]\\d{{1,2}}[-/]\\d{{1,2}}') AND {_castable('cell')[0]} IS NOT NULL"
    iso, offsets = _shares(connection, cells, [looks_iso, f"regexp_matches(cell, '{_OFFSET}')"])
    with_offset = f"make_timestamp(epoch_us({tight}))"
    has_offset = f"regexp_matches({text}, '{_OFFSET}')"
    sql = f"CASE {_usual_form(cells, name, zoned)}WHEN {has_offset} THEN {with_offset} ELSE {zoned.format(plain)} END"
    if offsets == 1:
        return iso, Reading(sql, "ISO 8601 with offset")
    return iso, Reading(sql, "ISO 8601" if offsets == 0 else "ISO 8601, some with offset", naive=True)


def _usual_form(cells: Sequence[str], name: str, zoned: str) -> str:
    """WHEN ... THEN the time of a cell in the form that most cells have: to look for all forms costs thrice that.

    An underscore stands for any character, so a form without offset must be seen to end in a digit.
    """
    shapes = Counter((re.sub(r"\d", "_", cell), found[1]) for cell in cells if (found := _PLAIN_ISO.fullmatch(cell)))
    if not shapes:
        return ""
    shape, offset = max(shapes, key=lambda s: (shapes[s], s[0]))
    cell = f"CAST({name} AS VARCHAR)"
    if offset:
        return f"WHEN {cell} LIKE '{shape}' THEN make_timestamp(epoch_us(TRY_CAST({cell} AS TIMESTAMPTZ))) "
    moment = zoned.format(f"TRY_CAST({cell} AS TIMESTAMP)")
    return f"WHEN {cell} LIKE '{shape}' AND {cell}[-1] BETWEEN '0' AND '9' THEN {moment} "


def _castable(text: str) -> tuple[str, str]:
    """ISO 8601 text as TIMESTAMP and as TIMESTAMPTZ, the rarer spellings only where the common one fails."""
    upper = f"replace(upper({text}), ',', '.')"
    tight = f"regexp_replace({upper}, '\\s+([+-]\\d{{2}}:?\\d{{2}})$', '\\1')"
    plain = f"coalesce(TRY_CAST({text} AS TIMESTAMP), TRY_CAST({upper} AS TIMESTAMP))"
    # A cast to TIMESTAMP also drops AM and PM, and half a day with it.
    plain = f"CASE WHEN NOT regexp_matches({text}, '{_HALF_DAY}') THEN {plain} END"
    return plain, f"coalesce(TRY_CAST({text} AS TIMESTAMPTZ), TRY_CAST({tight} AS TIMESTAMPTZ))"


def _respelt(connection: duckdb.DuckDBPyConnection, cells: Sequence[str]) -> list[str]:
    rows = connection.execute(
        f"SELECT {spelt.respelt('cell')} FROM (SELECT unnest($cells) AS cell)", {"cells": list(cells)}
    ).fetchall()
    return [row[0] for row in rows]


def _formatted(connection: duckdb.DuckDBPyConnection, cells: Sequence[str], text: str, zoned: str) -> _Found:
    tests = [f"try_strptime(cell, '{form}') >= {_EARLIEST}" for form, _ in TIME_FORMATS]
    found = _shares(connection, cells, tests)
    share, form, order = max(
        ((share, form, order) for share, (form, order) in zip(found, TIME_FORMATS, strict=True)), key=lambda s: s[0]
    )
    rivals = [
        rival
        for other, (_, rival) in zip(found, TIME_FORMATS, strict=True)
        if other == share and {rival, order} == {"day first", "month first"}
    ]
    note = f" (could be {rivals[0]}: no day is above 12)" if rivals else ""
    moment = f"try_strptime({text}, '{form}')"
    return share, Reading(zoned.format(f"CASE WHEN {moment} >= {_EARLIEST} THEN {moment} END"), form + note, naive=True)


# Words ----------------------------------------------------------------------------------------------------------


@cache
def words() -> Mapping[str, Mapping[str, str]]:
    """For `status` and `kind`: the ledger's word in lower case, with its accents or without -> our word."""
    data = tomllib.loads((files("forensics.sources") / "data" / "words.toml").read_text(encoding="utf-8"))
    return {
        field: {said: ours for ours, theirs in table.items() for word in theirs for said in (plain(word), word.lower())}
        for field, table in data.items()
    }


def read_word(
    connection: duckdb.DuckDBPyConnection,
    field: str,
    column: StagedColumn,
    cell: str,
    name: str,
    extra: Mapping[str, str] | None = None,
) -> str:
    """The expression that turns a ledger's word into ours; words in no list become 'unknown'.

    Only the words that occur are looked for, as they are spelled there: they are few, and a list of all would be
    searched for every row.

    Args:
        cell: expression of the word over the column.
        name: what the cell is called where the expression is used.
    """
    table = {**words()[field], **{k.strip().lower(): v for k, v in (extra or {}).items()}}
    found = connection.execute(
        f"SELECT DISTINCT {cell} FROM (SELECT DISTINCT {column.name} FROM staged) ORDER BY ALL LIMIT 1000"
    ).fetchall()
    word = f"CAST({name} AS VARCHAR)"
    if len(found) < 1000:
        table = {w: table[w.strip().lower()] for (w,) in found if w is not None and w.strip().lower() in table}
    else:
        word = f"lower(trim({word}))"
    if not table:
        return "'unknown'"
    keys = ", ".join(_literal(k) for k in table)
    values = ", ".join(_literal(v) for v in table.values())
    return f"coalesce(list_extract([{values}], list_position([{keys}], {word})), 'unknown')"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
