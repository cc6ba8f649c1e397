"""Tables as they come: delimited text, JSON lines, Parquet and sheets, staged column by column under their own names.

The result of every reader is the temporary table `staged(line_no, c0, c1, ...)` and `staged_rejects(line_no, reason,
text)`; what the columns mean is decided elsewhere. Text is read by DuckDB where the file is as regular as it claims
to be, which is checked by counting; where it is not, row by row with exact line numbers.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from datetime import time as clock_time
from pathlib import Path

import duckdb

from forensics.errors import EvidenceError, UnrecognisedError
from forensics.sources.evidence import Evidence

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_LINES = 200
_FIELD_LIMIT = 64 << 20
REJECT_TEXT = 500


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """A column of the source: its heading, and its name and type in the table `staged`."""

    heading: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Staged:
    """What a reader found."""

    format: str
    """csv | tsv | jsonl | parquet | xlsx, with the delimiter where it is unusual."""
    columns: tuple[StagedColumn, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a delimited file is cut: the delimiter, and the physical line that holds the headings."""

    delimiter: str
    header_line: int
    headings: tuple[str, ...]


def stage(connection: duckdb.DuckDBPyConnection, evidence: Evidence, workdir: Path) -> Staged | None:
    """Stage any table; None when the text is no table (it may be a log).

    Raises:
        EvidenceError: a table that cannot be read.
    """
    for name in ("staged", "staged_rejects"):
        connection.execute(f"DROP TABLE IF EXISTS {name}")
    connection.execute("CREATE TEMP TABLE staged_rejects (line_no BIGINT, reason VARCHAR, text VARCHAR)")
    if evidence.container == "parquet":
        return _stage_parquet(connection, evidence)
    if evidence.container == "xlsx":
        return _stage_sheet(connection, evidence, workdir)
    if looks_like_json_lines(evidence.readable):
        return _stage_json_lines(connection, evidence)
    dialect = sniff(evidence.readable)
    return _stage_delimited(connection, evidence, dialect, workdir) if dialect else None


def first_lines(path: Path, count: int) -> list[str]:
    """The first lines of a clean text, each cut at 64 KiB, without their ends."""
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        lines: list[str] = []
        while len(lines) < count and (line := file.readline(1 << 16)):
            lines.append(line.rstrip("\r\n"))
        return lines


def looks_like_json_lines(path: Path) -> bool:
    """Whether the first line that is not blank is a JSON object."""
    for line in first_lines(path, 20):
        if not line.strip():
            continue
        try:
            return isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            return False
    return False


# Delimited text -------------------------------------------------------------------------------------------------


def sniff(path: Path) -> Dialect | None:
    """The delimiter that cuts most lines into the same number of fields, and the first line that names them.

    Title rows above the headings are passed over; None when no delimiter gives a table.
    """
    lines = first_lines(path, _SAMPLE_LINES)
    best: tuple[float, int, Dialect] | None = None
    for delimiter in _DELIMITERS:
        rows = list(_rows(lines, delimiter))
        widths = Counter(len(cells) for _, cells in rows if len(cells) > 1)
        if not widths:
            continue
        width, regular = widths.most_common(1)[0]
        share = regular / max(1, len(rows))
        header = next(((n, c) for n, c in rows if len(c) == width and _is_heading(c)), None)
        if header and share >= 0.5 and (best is None or (share, width) > best[:2]):
            best = (share, width, Dialect(delimiter, header[0], tuple(c.strip() for c in header[1])))
    return best[2] if best else None


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield reader.line_num, cells
    except csv.Error:
        return


def _is_heading(cells: Sequence[str]) -> bool:
    """Headings are distinct words, not numbers; at most a few may be blank."""
    words = [c.strip() for c in cells]
    named = [w for w in words if w]
    return (
        len(named) >= max(2, len(words) * 0.6)
        and len(set(named)) == len(named)
        and not any(w.replace(".", "").replace(",", "").replace("-", "").isdigit() for w in named)
    )


def _columns(headings: Sequence[str], types: Sequence[str] | None = None) -> tuple[StagedColumn, ...]:
    types = types or ["VARCHAR"] * len(headings)
    return tuple(
        StagedColumn(heading or f"column {i + 1}", f"c{i}", kind)
        for i, (heading, kind) in enumerate(zip(headings, types, strict=True))
    )


def _stage_delimited(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, dialect: Dialect, workdir: Path
) -> Staged:
    columns = _columns(dialect.headings)
    name = {",": "csv", "\t": "tsv"}.get(dialect.delimiter, f"csv with {dialect.delimiter!r}")
    notes = [f"headings in line {dialect.header_line}"] if dialect.header_line > 1 else []
    expected = evidence.lines - dialect.header_line
    if not _read_regular(connection, evidence.readable, dialect, columns) or _count(connection) != expected:
        connection.execute("DROP TABLE IF EXISTS staged")
        _read_row_by_row(connection, evidence, dialect, workdir)
        notes.append("read row by row: rows and lines differ in number")
    return Staged(name, columns, tuple(notes))


def _count(connection: duckdb.DuckDBPyConnection) -> int:
    row = connection.execute("SELECT count(*) FROM staged").fetchone()
    return int(row[0]) if row else 0


def _read_regular(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect, columns: Sequence[StagedColumn]
) -> bool:
    """Read with DuckDB's own reader, strictly; False where the file is not regular enough for it."""
    names = {c.name: "VARCHAR" for c in columns}
    try:
        connection.execute(
            "CREATE TEMP TABLE staged AS "
            f"SELECT CAST(row_number() OVER () + $skip AS BIGINT) AS line_no, {', '.join(names)} "
            "FROM read_csv($path, columns = $names, delim = $delim, quote = '\"', escape = '\"', header = false, "
            "skip = $skip, auto_detect = false, strict_mode = true, max_line_size = 16777216, nullstr = '')",
            {"path": str(path), "names": names, "delim": dialect.delimiter, "skip": dialect.header_line},
        )
    except duckdb.Error:
        return False
    return True


def _read_row_by_row(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, dialect: Dialect, workdir: Path
) -> None:
    """Read with Python's csv reader: exact line numbers, ragged rows rejected with their reason."""
    width = len(dialect.headings)
    rejects: list[tuple[int, str, str]] = []

    def good() -> Iterator[list[str]]:
        for line_no, cells in _physical_rows(evidence.readable, dialect):
            if len(cells) == width:
                if [c.strip() for c in cells] == list(dialect.headings):
                    rejects.append((line_no, "the heading line again", _cut(dialect.delimiter.join(cells))))
                else:
                    yield [str(line_no), *cells]
            else:
                reason = f"{len(cells)} fields where the headings have {width}"
                rejects.append((line_no, reason, _cut(dialect.delimiter.join(cells))))

    stage_rows(connection, good(), [f"c{i}" for i in range(width)], workdir)
    if rejects:
        connection.executemany("INSERT INTO staged_rejects VALUES (?, ?, ?)", rejects)


def _physical_rows(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Data rows with the physical line on which each begins; blank lines are no rows."""
    csv.field_size_limit(_FIELD_LIMIT)
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter=dialect.delimiter)
        while True:
            begins = reader.line_num + 1
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as exc:
                raise EvidenceError(f"{path}:{reader.line_num}: the row cannot be cut into fields: {exc}") from exc
            if begins > dialect.header_line and cells:
                yield begins, cells


def _cut(text: str) -> str:
    return text.replace("\x00", "\ufffd")[:REJECT_TEXT]


def stage_rows(
    connection: duckdb.DuckDBPyConnection, rows: Iterable[Sequence[str]], names: Sequence[str], workdir: Path
) -> None:
    """Stage rows of text cells, the first of each its line number, by way of a regular file that DuckDB reads."""
    path = workdir / "staged.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    columns = {"line_no": "BIGINT", **dict.fromkeys(names, "VARCHAR")}
    connection.execute(
        "CREATE TEMP TABLE staged AS SELECT * FROM read_csv($path, columns = $columns, delim = ',', quote = '\"', "
        "escape = '\"', header = false, auto_detect = false, strict_mode = true, max_line_size = 134217728, "
        "parallel = false, nullstr = '', allow_quoted_nulls = true)",
        {"path": str(path), "columns": columns},
    )
    path.unlink()


# JSON lines -----------------------------------------------------------------------------------------------------

JSON_LINES_SQL = (
    "SELECT CAST(row_number() OVER () AS BIGINT) AS line_no, line FROM read_csv($path, columns = {'line': 'VARCHAR'}, "
    "delim = chr(31), quote = '', escape = '', header = false, auto_detect = false, strict_mode = false, "
    "max_line_size = 134217728)"
)


def _stage_json_lines(connection: duckdb.DuckDBPyConnection, evidence: Evidence) -> Staged:
    path = str(evidence.readable)
    connection.execute(f"CREATE OR REPLACE TEMP TABLE staged_lines AS {JSON_LINES_SQL}", {"path": path})
    is_object = "json_valid(line) AND json_type(line) = 'OBJECT'"
    keys = [
        row[0]
        for row in connection.execute(
            f"SELECT key FROM (SELECT unnest(json_keys(line)) AS key FROM staged_lines WHERE {is_object}) "
            "GROUP BY key ORDER BY count(*) DESC, key LIMIT 200"
        ).fetchall()
    ]
    columns = _columns(keys)
    paths = [f"/{key.replace('~', '~0').replace('/', '~1')}" for key in keys]
    cells = ", ".join(f"cells[{i + 1}] AS {c.name}" for i, c in enumerate(columns))
    connection.execute(
        f"CREATE TEMP TABLE staged AS SELECT line_no, {cells} FROM "
        f"(SELECT line_no, json_extract_string(line, $paths) AS cells FROM staged_lines WHERE {is_object})",
        {"paths": paths},
    )
    connection.execute(
        "INSERT INTO staged_rejects SELECT line_no, 'not a JSON object', line[:500] FROM staged_lines "
        f"WHERE line IS NOT NULL AND trim(line) <> '' AND NOT ({is_object})"
    )
    connection.execute("DROP TABLE staged_lines")
    return Staged("jsonl", columns)


# Parquet and sheets ---------------------------------------------------------------------------------------------


def _stage_parquet(connection: duckdb.DuckDBPyConnection, evidence: Evidence) -> Staged:
    path = {"path": str(evidence.readable)}
    try:
        described = connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", path).fetchall()
        columns = _columns([row[0] for row in described], [row[1] for row in described])
        aliases = ", ".join(c.name for c in columns)
        connection.execute(
            "CREATE TEMP TABLE staged AS SELECT CAST(file_row_number + 1 AS BIGINT) AS line_no, * "
            "EXCLUDE (file_row_number) FROM read_parquet($path, file_row_number = true) "
            f"AS file({aliases}, file_row_number)",
            path,
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
        book = CalamineWorkbook.from_path(str(evidence.path))
        sheets = {name: book.get_sheet_by_name(name).to_python(skip_empty_area=False) for name in book.sheet_names}
    except CalamineError as exc:
        raise EvidenceError(f"{evidence.path}: the workbook cannot be read: {exc}", "save it again, or as CSV") from exc
    name = max(sheets, key=lambda n: len(sheets[n]))
    rows = [(n, [_cell_text(c) for c in cells]) for n, cells in enumerate(sheets[name], 1)]
    header = next(((n, cells) for n, cells in rows if _is_heading(cells)), None)
    if header is None:
        raise UnrecognisedError(
            f"{evidence.path}: sheet {name!r} has no row of headings", "put the column names above the rows"
        )
    line, headings = header
    body = ([str(n), *cells] for n, cells in rows if n > line and any(cells))
    columns = _columns([h.strip() for h in headings])
    stage_rows(connection, body, [c.name for c in columns], workdir)
    others = [n for n in sheets if n != name and sheets[n]]
    notes = [f"sheet {name!r}"] + ([f"not read: sheets {', '.join(others)}"] if others else [])
    return Staged("xlsx", columns, tuple(notes))


def _cell_text(cell: object) -> str:
    """A cell as exact text: numbers as the sheet shows them, times as ISO 8601."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, date | clock_time):
        return cell.isoformat()
    return str(cell)
