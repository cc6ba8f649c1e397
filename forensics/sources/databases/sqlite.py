"""SQLite files, through Python's own library, opened so that nothing is written, not even beside the file.

A file in WAL mode whose log is gone can only be read as immutable (https://sqlite.org/wal.html#read_only_databases).
Anything else is opened with mode=ro and the usual lock: `immutable` would pass over a log that still holds the last
rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote as percent

from forensics.errors import EvidenceError
from forensics.sources.databases.driver import Column, Kind, Since, hexadecimal, no_such_table, record, reworded
from forensics.sources.databases.postgresql import epoch_seconds
from forensics.sources.urls import Url
from forensics.store import quote

MAGIC = b"SQLite format 3\x00"
_CELLS_ARE: Mapping[frozenset[type], Kind] = {
    frozenset({int}): "integer",
    frozenset({float}): "float",
    frozenset({int, float}): "float",
}


class SQLite:
    """One connection to a file."""

    def __init__(self, url: Url) -> None:
        """Open the file.

        Raises:
            EvidenceError: missing, or no SQLite database.
        """
        self._url = url
        path = Path(url.path)
        _check(path)
        immutable = "&immutable=1" if _is_left_in_wal_mode(path) else ""
        with self._worded("the file cannot be opened"):
            self._connection = sqlite3.connect(
                f"file:{percent(str(path.resolve()))}?mode=ro{immutable}", uri=True, isolation_level=None
            )
            self._connection.text_factory = lambda cell: cell.decode("utf-8", "replace")
            self._connection.execute("PRAGMA query_only = ON")
            self._connection.execute("BEGIN")
        self._seen: list[set[type]] = []

    def tables(self) -> list[str]:
        """Tables and views."""
        with self._worded("its tables cannot be listed"):
            rows = self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
                "ESCAPE '\\' ORDER BY name"
            ).fetchall()
        return [name for (name,) in rows]

    def find(self, table: str) -> str:
        """A table by its name."""
        names = self.tables()
        if table not in names:
            raise no_such_table(self._url, table, names)
        return quote(table)

    def describe(self, select: str) -> tuple[Column, ...]:
        """Names only: in SQLite a cell has a type, a column has none."""
        with self._worded("the rows cannot be read"):
            described = self._connection.execute(f"SELECT * FROM ({select}\n) LIMIT 0").description
        return tuple(Column(d[0], "text") for d in described)

    def records(self, select: str, since: Since | None) -> Generator[bytes, None, None]:
        """Cells as text, numbers in their shortest exact form."""
        arguments: dict[str, object] = {}
        if since is not None:
            condition, arguments = _condition(since)
            select = f"SELECT * FROM ({select}\n) WHERE {condition}"
        with self._worded("the rows cannot be read"):
            cursor = self._connection.execute(select, arguments)
            self._seen = [set() for _ in cursor.description]
            for row in cursor:
                for seen, cell in zip(self._seen, row, strict=True):
                    seen.add(type(cell))
                yield record([_text(cell) for cell in row])

    def kinds(self) -> Mapping[str, Kind]:
        """What the cells of each column were, all of them."""
        return {f"c{i}": _CELLS_ARE.get(frozenset(seen - {type(None)}), "text") for i, seen in enumerate(self._seen)}

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def _worded(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning) as exc:
            said = reworded(self._url, exc)
            hint = None
            if "readonly" in said or "unable to open" in said:
                hint = "copy the file together with its -wal or -journal to a folder that can be written, and load that"
            elif "locked" in said:
                hint = "a program writes it now: try again, or load a copy"
            raise EvidenceError(f"{self._url}: {what}: {said[:300]}", hint) from exc


def _text(cell: object) -> bytes | None:
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return hexadecimal(cell)
    if isinstance(cell, str):
        return cell.replace("\0", "\ufffd").encode("utf-8", "replace")
    return repr(cell).encode()


def _check(path: Path) -> None:
    try:
        if path.exists() and not is_sqlite(path):
            raise EvidenceError(f"{path}: this is no SQLite database", "give a table or log by its path alone")
        if not path.exists():
            raise EvidenceError(
                f"{path}: there is no such file", "sqlite:///FILE is relative, sqlite:////FILE absolute"
            )
    except OSError as exc:
        raise EvidenceError(f"{path}: the file cannot be read: {exc.strerror}", None) from exc


def is_sqlite(path: Path) -> bool:
    """Whether a file is a SQLite database (https://sqlite.org/fileformat.html#magic_header_string)."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _is_left_in_wal_mode(path: Path) -> bool:
    """Whether the header asks for a log (read version 2, at offset 19) and there is none: nobody has it open."""
    with path.open("rb") as file:
        head = file.read(20)
    return head[19:20] == b"\x02" and not path.with_name(path.name + "-wal").exists()


def _condition(since: Since) -> tuple[str, dict[str, object]]:
    """Numbers are epochs, texts are ISO 8601; a text that is no time is kept, to be rejected with its reason."""
    column = quote(since.column.heading)
    has_offset = f"({column} GLOB '*[Zz]' OR {column} GLOB '*[-+][0-9][0-9]:[0-9][0-9]')"
    moment = f"julianday(CASE WHEN {has_offset} THEN :instant ELSE :local END)"
    condition = (
        f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN {epoch_seconds(column)} >= :epoch "
        f"WHEN {column} IS NOT NULL THEN coalesce(julianday({column}) >= {moment}, 1) ELSE 0 END"
    )
    return condition, {
        "instant": since.instant.isoformat(sep=" "),
        "local": since.local.isoformat(sep=" "),
        "epoch": since.epoch_s,
    }
