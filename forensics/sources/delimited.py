"""Delimited text: which delimiter, which line holds the headings, and the rows under it.

Text is read by DuckDB where the file is as regular as it claims to be, which is checked by counting; where it is not,
row by row with exact line numbers.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from forensics.sources.evidence import Evidence
from forensics.sources.layouts import find_layout
from forensics.sources.staged import (
    LONGEST_LINE,
    REJECT_TEXT,
    STAGED_CELLS,
    Staged,
    StagedColumn,
    drop_rows,
    first_lines,
    is_heading,
    name_columns,
    stage_rows,
    take_out,
)

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE_LINES = 200
_FIELD_LIMIT = 64 << 20
_LONGEST_ROW = 10_000
"""Lines. A quoted field that goes on for longer was not closed."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a delimited file is cut: the delimiter, and the physical line that holds the headings."""

    delimiter: str
    header_line: int
    headings: tuple[str, ...]


def sniff(path: Path) -> Dialect | None:
    """The delimiter that cuts most lines into the same number of fields, and the first line that names them.

    Title rows above the headings are passed over; a line that a known layout is found by is the headings, however
    irregular the rest. None when no delimiter gives a table.
    """
    # A line cut short may end inside a quoted field, which would swallow the lines after it.
    lines = [
        line.replace("\r", " ") if len(line) < LONGEST_LINE - 1 else "" for line in first_lines(path, _SAMPLE_LINES)
    ]
    best: tuple[float, int, Dialect] | None = None
    for delimiter in _DELIMITERS:
        rows = list(_rows(lines, delimiter))
        known = next(((n, c) for n, c in rows if is_heading(c) and find_layout(c)), None)
        if known:
            return Dialect(delimiter, known[0], tuple(c.strip() for c in known[1]))
        widths = Counter(len(cells) for _, cells in rows if len(cells) > 1)
        if not widths:
            continue
        width, regular = widths.most_common(1)[0]
        share = regular / max(1, len(rows))
        header = next(((n, c) for n, c in rows if len(c) == width and is_heading(c)), None)
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


def stage_delimited(
    connection: duckdb.DuckDBPyConnection, evidence: Evidence, dialect: Dialect, workdir: Path
) -> Staged:
    """Stage the rows under the headings; rows that cannot be cut like them go to `staged_rejects`."""
    columns = name_columns(dialect.headings)
    name = {",": "csv", "\t": "tsv"}.get(dialect.delimiter, f"csv with {dialect.delimiter!r}")
    notes = [f"headings in line {dialect.header_line}"] if dialect.header_line > 1 else []
    expected = evidence.lines - dialect.header_line
    if not _read_regular(connection, evidence.readable, dialect, columns) or _count(connection) != expected:
        drop_rows(connection)
        _read_row_by_row(connection, evidence.readable, dialect, workdir)
        notes.append("read row by row: rows and lines differ in number")
    _reject_headings(connection, dialect, columns)
    return Staged(name, columns, tuple(notes))


def _reject_headings(connection: duckdb.DuckDBPyConnection, dialect: Dialect, columns: Sequence[StagedColumn]) -> None:
    """The heading line again, where exports were put one below the other, is no row."""
    named = [(c.name, heading) for c, heading in zip(columns, dialect.headings, strict=True) if heading]
    same = " AND ".join(f"trim({name}) = ${name}" for name, _ in named)
    rows = connection.execute(f"SELECT line_no FROM staged WHERE {same}", dict(named)).fetchall()
    if rows:
        text = dialect.delimiter.join(dialect.headings)[:REJECT_TEXT]
        rejects = [(line_no, "the heading line again", text) for (line_no,) in rows]
        connection.executemany("INSERT INTO staged_rejects VALUES (?, ?, ?)", rejects)
        take_out(connection, same, dict(named))


def _count(connection: duckdb.DuckDBPyConnection) -> int:
    row = connection.execute("SELECT count(*) FROM staged").fetchone()
    return int(row[0]) if row else 0


def _read_regular(
    connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect, columns: Sequence[StagedColumn]
) -> bool:
    """Read with DuckDB's own reader, strictly; False where the file is not regular enough for it.

    A table that is made in one go holds its rows in the order of the file, and numbers them: counting them while they
    are read would leave one core idle.
    """
    names = {c.name: "VARCHAR" for c in columns}
    try:
        connection.execute(
            f"CREATE TEMP TABLE {STAGED_CELLS} AS SELECT {', '.join(names)} "
            "FROM read_csv($path, columns = $names, delim = $delim, quote = '\"', escape = '\"', header = false, "
            "skip = $skip, auto_detect = false, strict_mode = true, nullstr = '')",
            {"path": str(path), "names": names, "delim": dialect.delimiter, "skip": dialect.header_line},
        )
    except duckdb.Error:
        return False
    connection.execute(
        f"CREATE TEMP VIEW staged AS SELECT rowid + {dialect.header_line + 1} AS line_no, {', '.join(names)} "
        f"FROM {STAGED_CELLS}"
    )
    return True


def _read_row_by_row(connection: duckdb.DuckDBPyConnection, path: Path, dialect: Dialect, workdir: Path) -> None:
    """Read with Python's csv reader: exact line numbers, ragged rows rejected with their reason."""
    rejects: list[tuple[int, str, str]] = []
    with path.open(encoding="utf-8", newline="\n") as file:
        good = _good_rows(_Feed(file), dialect, rejects)
        stage_rows(connection, good, [f"c{i}" for i in range(len(dialect.headings))], workdir)
    if rejects:
        connection.executemany("INSERT INTO staged_rejects VALUES (?, ?, ?)", rejects)


class _Feed:
    """Physical lines for one row at a time; lines that turn out not to be of the row can be given back."""

    def __init__(self, file: Iterable[str]) -> None:
        self._file = iter(file)
        self._back: list[str] = []
        self.line_no = 0
        """Of the first line taken."""
        self.taken: list[str] = []
        self.ended = False
        """Whether the row ended for want of lines."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            if len(self.taken) >= _LONGEST_ROW:
                raise StopIteration
            line = self._back.pop() if self._back else next(self._file)
        except StopIteration:
            self.ended = True
            raise
        self.taken.append(line)
        return line

    def begin(self) -> None:
        """Begin the next row."""
        self.line_no += len(self.taken) or 1
        self.taken, self.ended = [], False

    def give_back(self) -> str:
        """Give back all but the first line of the row, which is returned."""
        self._back.extend(reversed(self.taken[1:]))
        del self.taken[1:]
        return self.taken[0]


def _good_rows(feed: _Feed, dialect: Dialect, rejects: list[tuple[int, str, str]]) -> Iterator[list[str]]:
    """Rows as wide as the headings, each led by the physical line on which it begins; blank lines are no rows."""
    csv.field_size_limit(_FIELD_LIMIT)
    width, padded = len(dialect.headings), dialect.delimiter == "|"
    while True:
        feed.begin()
        try:
            cells = next(csv.reader(feed, delimiter=dialect.delimiter), None)
        except csv.Error as exc:
            rejects.append((feed.line_no, f"cannot be cut into fields: {exc}", _cut(feed.give_back())))
            continue
        if cells is None:
            return
        if not cells or feed.line_no <= dialect.header_line:
            continue
        if len(feed.taken) > 1 and (feed.ended or _swallows_rows(feed.taken, dialect)):
            rejects.append((feed.line_no, "a quote is opened and not closed", _cut(feed.give_back())))
        elif len(cells) != width:
            reason = f"{len(cells)} fields where the headings have {width}"
            rejects.append((feed.line_no, reason, _cut(dialect.delimiter.join(cells))))
        else:
            # Screens of psql and mysql pad their cells.
            yield [str(feed.line_no), *(cell.strip() for cell in cells)] if padded else [str(feed.line_no), *cells]


def _swallows_rows(lines: Sequence[str], dialect: Dialect) -> bool:
    """Whether a line inside a quoted field is a whole row by itself, so that the quote is a stray one."""
    width = len(dialect.headings)
    return width >= 3 and any(
        line.count(dialect.delimiter) >= width - 1 and _width(line, dialect) == width for line in lines[1:-1]
    )


def _width(line: str, dialect: Dialect) -> int:
    try:
        return len(next(csv.reader([line], delimiter=dialect.delimiter), []))
    except csv.Error:
        return 0


def _cut(text: str) -> str:
    return text.rstrip("\r\n")[:REJECT_TEXT]
