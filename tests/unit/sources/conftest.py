"""A desk to read evidence at: small files in, the rows of a case out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics import store
from forensics.model import Refused, Source
from forensics.sources.load import Loaded, load_files
from forensics.sources.options import Options
from forensics.sources.staged import StagedColumn

Row = tuple[Any, ...]


class Desk:
    """One case and a folder of evidence."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.connection = store.open_for_loading(Path(":memory:"))

    def file(self, content: str | bytes, name: str = "payments.csv") -> Path:
        """Write one file of evidence."""
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def load(self, *paths: Path, **options: Any) -> Loaded:
        """Load files that were written before."""
        return load_files(self.connection, paths, Options(**options))

    def source(self, content: str | bytes, name: str = "payments.csv", **options: Any) -> Source:
        """Load one file that can be loaded, and check that every row of it is accounted for."""
        loaded = self.load(self.file(content, name), **options)
        assert loaded.refused == ()
        (source,) = loaded.sources
        assert source.rows_read == source.rows_loaded + source.rows_rejected
        counted = self.rows(f"SELECT count(*) FROM {source.kind} WHERE source_id = {source.source_id}")
        rejected = self.rows(f"SELECT count(*) FROM rejects WHERE source_id = {source.source_id}")
        assert (counted, rejected) == ([(source.rows_loaded,)], [(source.rows_rejected,)])
        return source

    def refusal(self, content: str | bytes, name: str = "payments.csv", **options: Any) -> Refused:
        """Load one file that cannot be loaded."""
        loaded = self.load(self.file(content, name), **options)
        assert loaded.sources == ()
        (refused,) = loaded.refused
        return refused

    def rows(self, sql: str) -> list[Row]:
        """Ask the case."""
        return self.connection.execute(sql).fetchall()

    def rejects(self) -> list[Row]:
        """Line and reason of every rejected row."""
        return self.rows("SELECT line_no, reason FROM rejects ORDER BY source_id, line_no")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """An empty case and a folder."""
    desk = Desk(tmp_path)
    yield desk
    desk.connection.close()


@pytest.fixture
def column() -> Iterator[Callable[[list[str | None]], tuple[duckdb.DuckDBPyConnection, StagedColumn]]]:
    """Stage one column of text cells."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")

    def put(cells: list[str | None]) -> tuple[duckdb.DuckDBPyConnection, StagedColumn]:
        connection.execute("CREATE OR REPLACE TEMP TABLE staged (line_no BIGINT, c0 VARCHAR)")
        connection.execute(
            "INSERT INTO staged SELECT i + 1, cells[i] FROM (SELECT $cells AS cells, "
            "unnest(range(1, len($cells) + 1)) AS i)",
            {"cells": cells},
        )
        return connection, StagedColumn("heading", "c0", "VARCHAR")

    yield put
    connection.close()
