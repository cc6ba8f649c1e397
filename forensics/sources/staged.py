"""What every reader of tables leaves behind, and the few things all of them need."""

from __future__ import annotations

import csv
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

REJECT_TEXT = 500
LONGEST_LINE = 1 << 16
STAGED_CELLS = "staged_cells"
"""The table under `staged` where its line numbers are its row numbers."""
_SPREAD_FROM = 1 << 20


@dataclass(frozen=True, slots=True)
class StagedColumn:
    """A column of the source: its heading, and its name and type in the table `staged`."""

    heading: str
    name: str
    type: str
    joins: tuple[str, ...] = ()
    """The columns of `staged` that it was made of, where it stands in no file."""


@dataclass(frozen=True, slots=True)
class Sense:
    """What a layout known by name says of a staged table."""

    product: str
    kind: str
    """Canonical table."""
    columns: Mapping[str, StagedColumn]
    """By the name of the canonical column."""
    silent: frozenset[str]
    """Canonical columns that the export has not, whatever its headings look like."""
    unit: str | None
    currency: str | None
    zone: str | None
    status: Mapping[str, str]
    """The product's words for canonical statuses."""


@dataclass(frozen=True, slots=True)
class Staged:
    """What a reader found."""

    format: str
    """csv | tsv | jsonl | parquet | xlsx, with the delimiter where it is unusual."""
    columns: tuple[StagedColumn, ...]
    notes: tuple[str, ...] = ()
    sense: Sense | None = None


def drop_staged(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop what a reader left."""
    drop_rows(connection)
    connection.execute("DROP TABLE IF EXISTS staged_rejects")


def add_column(connection: duckdb.DuckDBPyConnection, name: str, type_: str, sql: str) -> None:
    """One more column of `staged`, an expression over the others."""
    connection.execute(f"CREATE TEMP TABLE widened AS SELECT *, CAST({sql} AS {type_}) AS {name} FROM staged")
    drop_rows(connection)
    connection.execute("ALTER TABLE widened RENAME TO staged")


def take_out(connection: duckdb.DuckDBPyConnection, condition: str, parameters: Mapping[str, object]) -> None:
    """Take the rows of which the condition holds out of `staged`."""
    connection.execute(
        f"CREATE TEMP TABLE thinned AS SELECT * FROM staged WHERE NOT coalesce({condition}, false)", dict(parameters)
    )
    drop_rows(connection)
    connection.execute("ALTER TABLE thinned RENAME TO staged")


def drop_rows(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop `staged`, which is a view where the file, or a table without line numbers, is as good as a table."""
    views = connection.execute("SELECT 1 FROM duckdb_views() WHERE view_name = 'staged' AND temporary").fetchall()
    connection.execute(f"DROP {'VIEW' if views else 'TABLE'} IF EXISTS staged")
    connection.execute(f"DROP TABLE IF EXISTS {STAGED_CELLS}")


def first_lines(path: Path, count: int) -> list[str]:
    """The first lines of a clean text, each cut at 64 KiB, without their ends."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as file:
        lines: list[str] = []
        while len(lines) < count and (line := file.readline(LONGEST_LINE)):
            lines.append(line.rstrip("\r\n"))
            while line and not line.endswith("\n"):
                line = file.readline(LONGEST_LINE)
        return lines


def spread_lines(path: Path, count: int) -> list[str]:
    """The first lines of a clean text, and some from its middle and end: what a log shows late is seen as well."""
    lines = first_lines(path, count)
    size = path.stat().st_size
    if len(lines) == count and size > _SPREAD_FROM:
        with path.open("rb") as file:
            for tenth in (3, 5, 7, 9):
                file.seek(size * tenth // 10)
                file.readline()
                part = (file.readline(LONGEST_LINE) for _ in range(count // 10))
                lines += [line.decode("utf-8", "replace").rstrip("\r\n") for line in part]
    return lines


def is_heading(cells: Sequence[str]) -> bool:
    """Headings are words, not numbers, nearly all of them distinct; at most a few may be blank."""
    words = [c.strip() for c in cells]
    named = [w for w in words if w]
    return (
        len(named) >= max(2, len(words) * 0.6)
        and len(set(named)) >= len(named) * 0.9
        and not any(w.replace(".", "").replace(",", "").replace("-", "").isdigit() for w in named)
    )


def normal(heading: str) -> str:
    """A heading without case, accents of width, spaces and punctuation: 'Order ID' = order_id = orderId."""
    return "".join(c for c in unicodedata.normalize("NFKC", heading).casefold() if c.isalnum())


def name_columns(headings: Sequence[str], types: Sequence[str] | None = None) -> tuple[StagedColumn, ...]:
    """Columns c0, c1, ... under their headings; blank headings get a number, repeated ones are told apart."""
    seen: Counter[str] = Counter()
    columns = []
    for i, heading in enumerate(headings):
        seen[heading] += 1
        shown = heading or f"column {i + 1}"
        if heading and seen[heading] > 1:
            shown = f"{heading} ({seen[heading]})"
        columns.append(StagedColumn(shown, f"c{i}", types[i] if types else "VARCHAR"))
    return tuple(columns)


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
        "new_line = '\\n', parallel = false, nullstr = '', allow_quoted_nulls = true)",
        {"path": str(path), "columns": columns},
    )
    path.unlink()
