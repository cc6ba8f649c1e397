"""The table `sources`: what is in the case already, and what is written down about a file once it is read."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import duckdb

from forensics import schema
from forensics.model import Source
from forensics.sources import zones


def is_known(connection: duckdb.DuckDBPyConnection, sha256: str) -> bool:
    """Whether the case holds these bytes already."""
    return bool(connection.execute("SELECT 1 FROM sources WHERE sha256 = $sha", {"sha": sha256}).fetchall())


def next_id(connection: duckdb.DuckDBPyConnection) -> int:
    """The number that the next file gets."""
    row = connection.execute("SELECT coalesce(max(source_id), 0) + 1 FROM sources").fetchone()
    return int(row[0]) if row else 1


def count_rows(connection: duckdb.DuckDBPyConnection, table: str, time: str | None, source_id: int) -> dict[str, Any]:
    """Rows loaded and rejected, first and last time, and the finest step of the clock that shows."""
    stamp = time or "CAST(NULL AS TIMESTAMP)"
    # A log that stamps the end in whole seconds has starts in milliseconds: its clock shows in start + duration.
    clock = f"{stamp} + to_microseconds(coalesce(duration_us, 0))" if table == "requests" else stamp
    row = connection.execute(
        f"SELECT count(*), min({stamp}), max({stamp}), CASE WHEN count({stamp}) = 0 THEN NULL "
        f"WHEN bool_and(epoch_us({stamp}) % 86400000000 = 0) THEN 86400000000 "
        f"WHEN bool_and(epoch_us({stamp}) % 60000000 = 0) THEN 60000000 "
        f"WHEN bool_and(epoch_us({stamp}) % 1000000 = 0) OR bool_and(epoch_us({clock}) % 1000000 = 0) THEN 1000000 "
        f"WHEN bool_and(epoch_us({stamp}) % 1000 = 0) THEN 1000 ELSE 1 END FROM {table} WHERE source_id = $id",
        {"id": source_id},
    ).fetchone()
    rejected = connection.execute("SELECT count(*) FROM rejects WHERE source_id = $id", {"id": source_id}).fetchone()
    if row is None or rejected is None:  # an aggregate always gives one row
        raise AssertionError
    return {
        "rows_loaded": row[0],
        "rows_rejected": rejected[0],
        "rows_read": row[0] + rejected[0],
        "first_at": row[1],
        "last_at": row[2],
        "resolution_us": row[3],
    }


def record(connection: duckdb.DuckDBPyConnection, source: Source) -> None:
    """Write the file down."""
    cells = {
        **{name: getattr(source, name) for name in source.__slots__},
        "mapping": json.dumps(dict(source.mapping), ensure_ascii=False),
        "notes": "\n".join(source.notes) or None,
    }
    names = [c.name for c in schema.SOURCES.columns]
    marks = ", ".join(f"${name}" for name in names)
    connection.execute(f"INSERT INTO sources ({', '.join(names)}) VALUES ({marks})", {n: cells[n] for n in names})


def utc_windows(connection: duckdb.DuckDBPyConnection) -> list[tuple[datetime, datetime]]:
    """UTC windows of the sources whose zone was not guessed."""
    return connection.execute(
        "SELECT first_at, last_at FROM sources WHERE first_at IS NOT NULL "
        "AND (zone IS NULL OR list_contains($known, zone_reason)) ORDER BY source_id",
        {"known": list(zones.KNOWN)},
    ).fetchall()
