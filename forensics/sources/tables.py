"""Tables as they come: delimited text, JSON lines, Parquet and sheets, staged column by column under their own names.

The result of every reader is `staged(line_no, c0, c1, ...)`, a temporary table, or a view where the file is as good as
one, and the temporary table `staged_rejects(line_no, reason, text)`; what the columns mean is decided elsewhere.
Delimited text has its own module.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from datetime import time as clock_time
from pathlib import Path

import duckdb

from forensics.errors import EvidenceError, UnrecognisedError
from forensics.sources import databases, letters, statements
from forensics.sources.delimited import sniff, stage_delimited
from forensics.sources.evidence import SHEETS, Evidence
from forensics.sources.staged import (
    LONGEST_LINE,
    REJECT_TEXT,
    Staged,
    drop_staged,
    first_lines,
    is_heading,
    name_columns,
    stage_rows,
)

_MOST_KEYS = 200


def stage(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, workdir: Path, form: str | None = None
) -> Staged | None:
    """Stage any table; None when the text is no table (it may be a log).

    Args:
        form: csv or jsonl, where the user says which of the two a text is.

    Raises:
        EvidenceError: a table that cannot be read.
    """
    connection.execute("SET preserve_insertion_order = true")  # line numbers are counted in the order of the file
    drop_staged(connection)
    connection.execute("CREATE TEMP TABLE staged_rejects (line_no BIGINT, reason VARCHAR, text VARCHAR)")
    if evidence.container == "parquet":
        return _stage_parquet(connection, evidence)
    if evidence.container in databases.DRIVERS:
        return databases.spool.stage(connection, evidence.readable, evidence.container)
    if evidence.container in SHEETS:
        return _stage_sheet(connection, evidence, workdir)
    if evidence.container in statements.FORMS:
        return replace(_stage_json_lines(connection, evidence), format=evidence.container)
    if form == "jsonl" or (form is None and looks_like_json_lines(evidence.readable)):
        return _stage_json_lines(connection, evidence)
    dialect = sniff(evidence.readable)
    return stage_delimited(connection, evidence, dialect, workdir) if dialect else None


def looks_like_json_lines(path: Path) -> bool:
    """Whether the first line that is not blank is a JSON object."""
    for line in first_lines(path, 20):
        if not line.strip():
            continue
        if len(line) >= LONGEST_LINE - 1:  # it was cut
            return line.lstrip().startswith('{"')
        try:
            return isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            return False
    return False


# JSON lines -----------------------------------------------------------------------------------------------------

JSON_LINES_SQL = (
    "SELECT CAST(row_number() OVER () AS BIGINT) AS line_no, line FROM read_csv($path, columns = {'line': 'VARCHAR'}, "
    "delim = chr(31), quote = '', escape = '', header = false, auto_detect = false, strict_mode = false, "
    "max_line_size = 134217728)"
)


# The engine reads a JSON number into a float, which holds 15 digits; a longer decimal is read as text.
_LONG_DECIMAL = r"([:\[,]\s*)(-?\d[\d.]{15,})(\s*[,}\]])"
_QUOTED = "regexp_replace(line, $long, '\\1\"\\2\"\\3', 'g')"


def _stage_json_lines(connection: duckdb.DuckDBPyConnection, evidence: Evidence) -> Staged:
    exact = f"CASE WHEN regexp_matches(line, $long) AND json_valid({_QUOTED}) THEN {_QUOTED} ELSE line END"
    is_object = "CASE WHEN json_valid(line) THEN json_type(line) = 'OBJECT' ELSE false END"
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE staged_lines AS SELECT line_no, line AS text, CASE WHEN {is_object} "
        f"THEN {exact} END AS object FROM ({JSON_LINES_SQL})",
        {"path": str(evidence.readable), "long": _LONG_DECIMAL},
    )
    keys = _json_keys(connection)
    columns = name_columns([".".join(key) for key in keys])
    paths = ["".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in key) for key in keys]
    cells = "".join(f", cells[{i + 1}] AS {c.name}" for i, c in enumerate(columns))
    shape = letters.find_shape(connection)
    added = letters.columns_of(shape) if shape else ()
    cells += "".join(f", {sql} AS {column.name}" for column, sql in added)
    connection.execute(
        f"CREATE TEMP TABLE staged AS SELECT line_no{cells} FROM (SELECT line_no, object, "
        "json_extract_string(object, $paths) AS cells FROM staged_lines WHERE object IS NOT NULL)",
        {"paths": paths or [""]},
    )
    connection.execute(
        f"INSERT INTO staged_rejects SELECT line_no, 'not a JSON object', text[:{REJECT_TEXT}] FROM staged_lines "
        "WHERE trim(text) <> '' AND object IS NULL"
    )
    connection.execute("DROP TABLE staged_lines")
    if shape is None:
        return Staged("jsonl", columns)
    return Staged(shape.id, (*columns, *(column for column, _ in added)), letters.notes_of(shape))


_POINTER = "('/' || replace(replace({}, '~', '~0'), '/', '~1'))"


def _json_keys(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, ...]]:
    """The keys of the objects, most frequent first; keys that only ever hold objects give way to the keys in those.

    Objects in such objects stand as they are, and so do the keys in them.
    """
    pairs = "SELECT unnest(json_keys(object)) AS key, object FROM staged_lines WHERE object IS NOT NULL"
    typed = f"SELECT key, object -> {_POINTER.format('key')} AS cell FROM ({pairs})"
    rows = connection.execute(
        "SELECT key, bool_and(json_type(cell) = 'OBJECT') FILTER (json_type(cell) <> 'NULL'), count(*) AS n "
        f"FROM ({typed}) GROUP BY key ORDER BY n DESC, key LIMIT {_MOST_KEYS}"
    ).fetchall()
    objects = [key for key, is_object, _ in rows if is_object]
    parts = f"SELECT key, cell, unnest(json_keys(cell)) AS part FROM ({typed}) WHERE list_contains($objects, key) "
    parts += "AND json_type(cell) = 'OBJECT'"
    cells = f"SELECT key, part, cell -> {_POINTER.format('part')} AS inner_cell FROM ({parts})"
    inner = connection.execute(
        "SELECT key, part, bool_and(json_type(inner_cell) = 'OBJECT') FILTER (json_type(inner_cell) <> 'NULL'), "
        f"count(*) AS n FROM ({cells}) GROUP BY key, part ORDER BY n DESC, key, part",
        {"objects": objects},
    ).fetchall()
    deeper = [f"{key}\x1f{part}" for key, part, is_object, _ in inner if is_object]
    innermost = (
        connection.execute(
            f"SELECT key, part, unnest(json_keys(inner_cell)) AS leaf, count(*) AS n FROM ({cells}) "
            "WHERE list_contains($deeper, key || chr(31) || part) AND json_type(inner_cell) = 'OBJECT' "
            "GROUP BY key, part, leaf ORDER BY n DESC, key, part, leaf",
            {"objects": objects, "deeper": deeper},
        ).fetchall()
        if deeper
        else []
    )
    found: list[tuple[str, ...]] = [(key,) for key, is_object, _ in rows if not is_object]
    found += [(key, part) for key, part, _, _ in inner]
    found += [(key, part, leaf) for key, part, leaf, _ in innermost]
    return found[:_MOST_KEYS]


# Parquet and sheets ---------------------------------------------------------------------------------------------


def _stage_parquet(connection: duckdb.DuckDBPyConnection, evidence: Evidence) -> Staged:
    """The file itself under our names for its columns: its columns are read as they are needed."""
    literal = "'" + str(evidence.readable).replace("'", "''") + "'"  # a view takes no parameters
    try:
        described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({literal})").fetchall()
        columns = name_columns([row[0] for row in described], [row[1] for row in described])
        aliases = ", ".join(c.name for c in columns)
        connection.execute(
            "CREATE TEMP VIEW staged AS SELECT CAST(file_row_number + 1 AS BIGINT) AS line_no, * "
            f"EXCLUDE (file_row_number) FROM read_parquet({literal}, file_row_number = true) "
            f"AS file({aliases}, file_row_number)"
        )
    except duckdb.Error as exc:
        raise EvidenceError(
            f"{evidence.path}: the Parquet file cannot be read: {str(exc).splitlines()[0]}", "write it again"
        ) from exc
    return Staged("parquet", columns)


def _stage_sheet(connection: duckdb.DuckDBPyConnection, evidence: Evidence, workdir: Path) -> Staged:
    """The sheet with the most rows; its first row of distinct words is the heading."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_path(str(evidence.readable))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except CalamineError as exc:
        raise EvidenceError(f"{evidence.path}: the workbook cannot be read: {exc}", "save it again, or as CSV") from exc
    name = max(sheets, key=lambda n: len(sheets[n]))
    rows = [(n, [_cell_text(c) for c in cells]) for n, cells in enumerate(sheets[name], 1)]
    header = next(((n, cells) for n, cells in rows if is_heading(cells)), None)
    if header is None:
        raise UnrecognisedError(
            f"{evidence.path}: sheet {name!r} has no row of headings", "put the column names above the rows"
        )
    line, headings = header
    body = ([str(n), *cells] for n, cells in rows if n > line and any(cells))
    columns = name_columns([h.strip() for h in headings])
    stage_rows(connection, body, [c.name for c in columns], workdir)
    others = [n for n in sheets if n != name and sheets[n]]
    notes = [f"sheet {name!r}"] + ([f"not read: sheets {', '.join(others)}"] if others else [])
    return Staged(evidence.container, columns, tuple(notes))


def _cell_text(cell: object) -> str:
    """A cell as exact text: numbers as the sheet shows them, times as ISO 8601."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, timedelta):  # how OpenDocument keeps a time of day
        return str(cell).rjust(8, "0")
    if isinstance(cell, date | clock_time):
        return cell.isoformat()
    return str(cell)
