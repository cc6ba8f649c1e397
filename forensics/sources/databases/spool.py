"""Rows of a database into one local file, typed where every cell allows it, and their digest.

The rows come in batches of at most 50,000 rows or 32 MB of text: nothing larger is ever held outside DuckDB, which
keeps its own memory limit and spills to disk.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from forensics.sources.databases.driver import Column, Kind
from forensics.sources.staged import Staged, StagedColumn, name_columns

BATCH_ROWS = 50_000
_BATCH_BYTES = 32 << 20
_LANES = range(1, 65, 16)


@dataclass(frozen=True, slots=True)
class Spooled:
    """A local copy of the rows."""

    path: Path
    rows: int
    sha256: str


def spool(
    connection: duckdb.DuckDBPyConnection,
    records: Iterator[bytes],
    columns: Sequence[Column],
    workdir: Path,
    progress: Callable[[int], None],
) -> int:
    """Rows into the temporary table `spooled(c0, c1, ...)`, all of them text; returns their number.

    Args:
        records: CSV records as `driver.record` writes them.
        progress: told the rows so far after each batch.
    """
    names = ", ".join(f"c{i} VARCHAR" for i in range(len(columns)))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE spooled ({names})")
    batch, total = workdir / "batch.csv", 0
    more = True
    while more:
        with batch.open("wb") as file:
            more = _write_batch(file.write, records)
        total += _take(connection, batch, len(columns))
        if more:
            progress(total)
    batch.unlink()
    return total


def _write_batch(write: Callable[[bytes], int], records: Iterator[bytes]) -> bool:
    """Write whole records up to the size of a batch; False when there are no more.

    A record ends with a line end outside quotes, that is, where the number of quotes so far is even.
    """
    rows, size, quotes, begun = 0, 0, 0, b""
    for piece in records:
        quotes += piece.count(b'"')
        begun = begun + piece if begun else piece
        if quotes % 2 == 0 and piece.endswith(b"\n"):
            size += write(_clean(begun))
            rows, begun = rows + 1, b""
            if rows >= BATCH_ROWS or size >= _BATCH_BYTES:
                return True
    return False


def _clean(piece: bytes) -> bytes:
    """The piece as UTF-8; a database without an encoding (SQL_ASCII) may hold anything."""
    if piece.isascii():
        return piece
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        return piece.decode("utf-8", "replace").encode()
    return piece


def _take(connection: duckdb.DuckDBPyConnection, batch: Path, width: int) -> int:
    if not batch.stat().st_size:
        return 0
    inserted = connection.execute(
        "INSERT INTO spooled SELECT * FROM read_csv($path, columns = $columns, delim = ',', quote = '\"', "
        "escape = '\"', header = false, auto_detect = false, strict_mode = true, max_line_size = 134217728, "
        "new_line = '\\n', parallel = false, nullstr = '', allow_quoted_nulls = false)",
        {"path": str(batch), "columns": {f"c{i}": "VARCHAR" for i in range(width)}},
    ).fetchone()
    return int(inserted[0]) if inserted else 0


def settle(
    connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], kinds: Mapping[str, Kind], workdir: Path
) -> Spooled:
    """The spooled rows as a typed Parquet file under its digest; the table is dropped.

    Args:
        kinds: what reading has told beyond the columns' own kinds.
    """
    digest, rows = _digest(connection, [c.heading for c in columns])
    path = workdir / f"{digest[:16]}.parquet"
    cells = [_cell(connection, f"c{i}", kinds.get(f"c{i}", c.kind)) for i, c in enumerate(columns)]
    connection.execute(f"COPY (SELECT {', '.join(cells)} FROM spooled) TO '{_literal(path)}' (FORMAT parquet)")
    connection.execute("DROP TABLE spooled")
    path.with_suffix(".json").write_text(json.dumps([c.heading for c in columns]), encoding="utf-8")
    return Spooled(path, rows, digest)


def stage(connection: duckdb.DuckDBPyConnection, path: Path, engine: str) -> Staged:
    """The settled rows as the table `staged`; line numbers are row numbers, in the order in which they came."""
    connection.execute(
        "CREATE TEMP TABLE staged AS SELECT CAST(file_row_number + 1 AS BIGINT) AS line_no, "
        f"* EXCLUDE (file_row_number) FROM read_parquet('{_literal(path)}', file_row_number = true)"
    )
    described = connection.execute("DESCRIBE SELECT * EXCLUDE (line_no) FROM staged").fetchall()
    headings = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return Staged(engine, name_columns(headings, [row[1] for row in described]))


def empty_stage(connection: duckdb.DuckDBPyConnection, columns: Sequence[Column], engine: str) -> Staged:
    """A table `staged` without rows, to ask what its columns are by their names."""
    named = name_columns([c.heading for c in columns])
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE staged (line_no BIGINT{''.join(f', {c.name} VARCHAR' for c in named)})"
    )
    return Staged(engine, tuple(StagedColumn(c.heading, c.name, c.type) for c in named))


def _literal(path: Path) -> str:
    return str(path).replace("'", "''")


def _digest(connection: duckdb.DuckDBPyConnection, headings: Sequence[str]) -> tuple[str, int]:
    """SHA-256 of the headings, the number of rows, and the sum of the rows' own SHA-256 in four lanes of 64 bits.

    A sum does not depend on the order of the rows, which a database does not promise. A row is digested as its cells,
    each with its length before it, NULL apart from the empty text.
    """
    cells = " || ".join(f"coalesce(strlen(c{i}) || ':' || c{i}, '-')" for i in range(len(headings)))
    lanes = ", ".join(f"sum(CAST('0x' || substr(h, {at}, 16) AS UBIGINT))" for at in _LANES)
    row = connection.execute(f"SELECT count(*), {lanes} FROM (SELECT sha256({cells}) AS h FROM spooled)").fetchone()
    rows, *sums = row or (0,)
    text = json.dumps([list(headings), rows, [int(s or 0) % (1 << 64) for s in sums]], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), rows


def _cell(connection: duckdb.DuckDBPyConnection, name: str, kind: Kind) -> str:
    """The column under the first type that reads every cell of it and gives it back; as text where none does."""
    for kept, sql in _candidates(connection, name, kind):
        row = connection.execute(f"SELECT bool_and({kept}) FROM spooled WHERE {name} IS NOT NULL").fetchone()
        if row and row[0] is not False:
            return f"{sql} AS {name}"
    if kind == "instant":  # MySQL prints no offset; what no calendar has stays text, to be rejected with its row
        bare = f"regexp_matches({name}, '^[-0-9]+ [:.0-9]+$')"
        return f"CASE WHEN {bare} THEN {name} || '+00' ELSE {_never(name)} END AS {name}"
    return f"{_never(name)} AS {name}" if kind in ("naive", "date") else name


def _never(name: str) -> str:
    """DuckDB would take 'infinity' for a time; it is how PostgreSQL says never."""
    return f"CASE WHEN {name} IN ('infinity', '-infinity') THEN {name} || ' (no time)' ELSE {name} END"


def _candidates(connection: duckdb.DuckDBPyConnection, name: str, kind: Kind) -> list[tuple[str, str]]:
    """For a kind: conditions under which every cell survives, and the expression then."""
    if kind == "integer":
        return [
            (f"coalesce(CAST(TRY_CAST({name} AS {t}) AS VARCHAR) = {name}, false)", f"CAST({name} AS {t})")
            for t in ("BIGINT", "DECIMAL(38,0)")
        ]
    if kind == "decimal":
        row = connection.execute(f"SELECT max(length(split_part({name}, '.', 2))) FROM spooled").fetchone()
        scale = min(row[0] or 0, 38) if row else 0
        return [(f"TRY_CAST({name} AS DECIMAL(38,{scale})) IS NOT NULL", f"CAST({name} AS DECIMAL(38,{scale}))")]
    if kind in ("instant", "naive", "date"):
        to = {"instant": "TIMESTAMPTZ", "naive": "TIMESTAMP", "date": "DATE"}[kind]
        return [(f"coalesce(isfinite(TRY_CAST({name} AS {to})), false)", f"CAST({name} AS {to})")]
    if kind in ("float", "boolean"):
        to = {"float": "DOUBLE", "boolean": "BOOLEAN"}[kind]
        return [(f"TRY_CAST({name} AS {to}) IS NOT NULL", f"CAST({name} AS {to})")]
    return []
