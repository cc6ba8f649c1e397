"""The only opener of a case file.

A case is written by one process at a time and, once loaded, read through a connection that can touch nothing
but the case: read-only, no files, no Python variables, configuration locked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb

from forensics import packs, schema
from forensics.errors import CaseError

_LOCKED = {
    "enable_external_access": "false",
    "python_enable_replacements": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "lock_configuration": "true",
}


def open_for_loading(path: Path, memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open a case to write, creating it when there is none.

    Raises:
        CaseError: held by another process, not a case, or written by another version.
    """
    existed = path.exists()
    if existed:
        _check_is_duckdb(path)
    connection = _connect(path, read_only=False, config={"python_enable_replacements": "false"})
    if existed:
        _check(connection, path)
    if memory_limit:
        connection.execute("SET memory_limit = ?", [memory_limit])
    connection.execute("SET preserve_insertion_order = true")
    _create(connection)
    return connection


def open_for_reading(path: Path) -> duckdb.DuckDBPyConnection:
    """Open a case so that nothing but the case can be read and nothing be written.

    Raises:
        CaseError: missing, held by a writer, not a case, or written by another version.
    """
    if not path.is_file():
        raise CaseError(f"{path}: there is no such case", "make one with 'forensics load CASE FILE...'")
    _check_is_duckdb(path)
    connection = _connect(path, read_only=True, config=_LOCKED)
    _check(connection, path)
    return connection


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing: whatever ends the block early leaves the case as it was."""
    connection.execute("BEGIN TRANSACTION")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def bulk_insert(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """For a transaction that inserts many rows, which bear their line numbers and are filtered by what is made of them.

    Rows may be written in any order, so that all cores write; and a condition on a column must not be pushed below
    the expression that gives it, which would be worked out twice for every row. Stands around the transaction: in one
    that was given up no setting can be set back.
    """
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET disabled_optimizers = 'filter_pushdown'")
    try:
        yield
    finally:
        connection.execute("SET disabled_optimizers = ''")
        connection.execute("SET preserve_insertion_order = true")


def quote(identifier: str) -> str:
    """A name as SQL identifier, whatever characters it holds."""
    return '"' + identifier.replace('"', '""') + '"'


def _check_is_duckdb(path: Path) -> None:
    """DuckDB itself would take a CSV by its name and read it; a case is told by its first bytes.

    https://duckdb.org/docs/stable/internals/storage: the magic bytes DUCK stand after an 8-byte checksum.
    """
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError as exc:
        raise CaseError(
            f"{path}: the case cannot be opened: {exc.strerror}", "check the path and its permissions"
        ) from exc
    if head[8:] != b"DUCK":
        raise CaseError(f"{path}: this is not a case file", "a case is a DuckDB file made by 'forensics load'")


def _connect(path: Path, *, read_only: bool, config: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(str(path), read_only=read_only, config=dict(config))
    except duckdb.IOException as exc:
        holder = re.search(r"PID (\d+)", str(exc))
        if "lock" in str(exc).lower():
            who = f" (process {holder.group(1)})" if holder else ""
            raise CaseError(
                f"{path}: the case is open in another process{who}",
                "close it there (a notebook, a shell, another forensics), then try again",
            ) from exc
        raise CaseError(
            f"{path}: the case cannot be opened: {_first_line(exc)}", "check the path and its permissions"
        ) from exc
    except duckdb.Error as exc:
        raise CaseError(f"{path}: the case cannot be opened: {_first_line(exc)}", None) from exc


def _first_line(exc: BaseException) -> str:
    return str(exc).splitlines()[0]


def _check(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    found = connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'case_info'").fetchall()
    version = connection.execute("SELECT schema FROM case_info").fetchall() if found[0][0] else []
    if version != [(schema.SCHEMA_VERSION,)]:
        connection.close()
        seen = f"schema {version[0][0]!r}" if version else "no case tables"
        raise CaseError(
            f"{path}: expected a case of schema {schema.SCHEMA_VERSION!r}, found {seen}",
            "load the evidence into a new case",
        )


def _create(connection: duckdb.DuckDBPyConnection) -> None:
    with transaction(connection):
        for table in schema.TABLES:
            connection.execute(schema.ddl(table))
        connection.execute("CREATE TABLE IF NOT EXISTS case_info (schema VARCHAR NOT NULL)")
        connection.execute(
            "INSERT INTO case_info SELECT ? WHERE NOT EXISTS (SELECT 1 FROM case_info)", [schema.SCHEMA_VERSION]
        )
        for view in packs.views():
            name = quote(view.name.rsplit("/", 1)[-1])
            connection.execute(f"CREATE OR REPLACE VIEW {name} AS {view.sql}")
