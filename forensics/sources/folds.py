"""Where a zone's clocks were set: local times that occur twice, and such that no clock showed.

The database reads a time that occurs twice as the second of the two, and one that no clock showed by the offset
before; neither can be known, so such rows are counted and told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb

from forensics.sources import values
from forensics.sources.staged import StagedColumn

_DAY = timedelta(days=1)
_MOST_DAYS = 50_000
_MOST_NOTES = 4


@dataclass(frozen=True, slots=True)
class Shift:
    """Local times, from start up to end, that occur twice or never."""

    start: datetime
    end: datetime
    twice: bool


def shifts(zone: str, first: datetime, last: datetime) -> Iterator[Shift]:
    """The shifts of a zone that touch a window, whose ends are in UTC and naive."""
    info = ZoneInfo(zone)
    if not (first.year > 1900 and last.year < 2200 and last - first < _MOST_DAYS * _DAY):
        return
    at, end = first.replace(tzinfo=UTC) - _DAY, last.replace(tzinfo=UTC) + _DAY
    while at < end:
        before, after = (t.astimezone(info).utcoffset() or timedelta() for t in (at, at + _DAY))
        if before != after:
            moment = _moment(info, at, before).replace(tzinfo=None)
            yield Shift(moment + min(before, after), moment + max(before, after), after < before)
        at += _DAY


def _moment(info: ZoneInfo, at: datetime, before: timedelta) -> datetime:
    """When within the day after `at` the offset is no longer as before, to the minute."""
    low, high = 0, 24 * 60
    while high - low > 1:
        middle = (low + high) // 2
        same = (at + timedelta(minutes=middle)).astimezone(info).utcoffset() == before
        low, high = (middle, high) if same else (low, middle)
    return (at + timedelta(minutes=high)).replace(second=0, microsecond=0)


def note_folds(
    connection: duckdb.DuckDBPyConnection, column: StagedColumn, zone: str, window: tuple[datetime, datetime]
) -> list[str]:
    """What must be said of the rows of `staged` that lie in a shift.

    Args:
        column: the times, as `values.read_time` reads them.
        zone: IANA name, in which times without an offset were read.
        window: first and last time in UTC.
    """
    found = list(shifts(zone, *window))
    local = _local(connection, column) if found else None
    return _notes(connection, f"SELECT {local} AS t FROM staged", zone, found) if local else []


def note_log_folds(connection: duckdb.DuckDBPyConnection, source_id: int, time_is: str, zone: str) -> list[str]:
    """What must be said of the requests of a log without offsets whose stamps lie in a time that occurs twice.

    A stamp that no clock showed cannot be told any more from the one that it was read as.
    """
    stamp = "started_at" + (" + to_microseconds(coalesce(duration_us, 0))" if time_is == "end" else "")
    rows = f"SELECT {stamp} AS moment FROM requests WHERE source_id = {source_id:d}"
    window = connection.execute(f"SELECT min(moment), max(moment) FROM ({rows})").fetchone()
    if window is None or window[0] is None:
        return []
    twice = [shift for shift in shifts(zone, *window) if shift.twice]
    quoted = zone.replace("'", "''")
    return _notes(connection, f"SELECT timezone('{quoted}', timezone('UTC', moment)) AS t FROM ({rows})", zone, twice)


def _notes(connection: duckdb.DuckDBPyConnection, times: str, zone: str, found: Sequence[Shift]) -> list[str]:
    """One note for each shift in which a row lies; times: a SELECT of their local times t."""
    notes = []
    for shift in found:
        row = connection.execute(
            f"SELECT count(*) FROM ({times}) WHERE t >= $start AND t < $end",
            {"start": shift.start, "end": shift.end},
        ).fetchone()
        count = row[0] if row else 0
        if count:
            rows = "1 row lies" if count == 1 else f"{count:,} rows lie"
            kind, read = (
                ("occurs twice", "read as the second of the two; gaps to rows outside it may be off by as much")
                if shift.twice
                else ("no clock showed", "read by the offset before; perhaps the zone is another")
            )
            hour = "hour" if shift.end - shift.start == timedelta(hours=1) else "time"
            notes.append(f"{rows} in the {hour} that {kind} ({shift.start:%Y-%m-%d %H:%M} {zone}): {read}")
    more = len(notes) - _MOST_NOTES
    return notes if more <= 0 else [*notes[:_MOST_NOTES], f"and {more} more such hours"]


def _local(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> str | None:
    """SQL of the local time of a row; NULL where a cell carries its own offset and so reads the same in every zone."""
    here, there = (values.read_time(connection, column, zone) for zone in ("UTC", "Etc/GMT-14"))
    if here is None or there is None or not here.naive:
        return None
    return f"CASE WHEN ({here.sql}) <> ({there.sql}) THEN {here.sql} END"
