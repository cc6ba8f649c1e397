"""Where a zone's clocks were set: local times that occur twice, and such that no clock showed.

The database reads a time that occurs twice as the second of the two, and one that no clock showed by the offset
before. Where the lines are in order of time and step back once, the first and the second are told apart. Else neither
can be known: such rows stand in `clock_folds` with the other reading, are counted and told, and no verdict rests on
their gaps.
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
_JITTER = timedelta(minutes=1)
"""How far lines in order of time may step back: requests are written when they end."""
_FEWEST_IN_ORDER = 8


@dataclass(frozen=True, slots=True)
class Shift:
    """Local times, from start up to end, that occur twice or never."""

    start: datetime
    end: datetime
    twice: bool


@dataclass(frozen=True, slots=True)
class Times:
    """The canonical table and column that times were loaded to."""

    table: str
    column: str


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


def settle_folds(
    connection: duckdb.DuckDBPyConnection,
    source_id: int,
    times: Times,
    column: StagedColumn,
    zone: str,
    window: tuple[datetime, datetime],
) -> list[str]:
    """Settles the rows of `staged`, as loaded, that lie in a shift.

    Args:
        times: where they were loaded to.
        column: the times, as `values.read_time` reads them.
        zone: IANA name, in which times without an offset were read.
        window: first and last time in UTC.

    Returns:
        What must be said of them.
    """
    found = list(shifts(zone, *window))
    local = _local(connection, column) if found else None
    if local is None:
        return []
    return _settle(connection, source_id, times, f"SELECT line_no, {local} AS t FROM staged", zone, found)


def settle_log_folds(connection: duckdb.DuckDBPyConnection, source_id: int, time_is: str, zone: str) -> list[str]:
    """Settles the requests of a log without offsets whose stamps lie in a time that occurs twice; says what must be.

    A stamp that no clock showed cannot be told any more from the one that it was read as.
    """
    stamp = "started_at" + (" + to_microseconds(coalesce(duration_us, 0))" if time_is == "end" else "")
    rows = f"SELECT line_no, {stamp} AS moment FROM requests WHERE source_id = {source_id:d}"
    window = connection.execute(f"SELECT min(moment), max(moment) FROM ({rows})").fetchone()
    if window is None or window[0] is None:
        return []
    twice = [shift for shift in shifts(zone, *window) if shift.twice]
    quoted = zone.replace("'", "''")
    local = f"SELECT line_no, timezone('{quoted}', timezone('UTC', moment)) AS t FROM ({rows})"
    return _settle(connection, source_id, Times("requests", "started_at"), local, zone, twice)


def _settle(
    connection: duckdb.DuckDBPyConnection,
    source_id: int,
    times: Times,
    local: str,
    zone: str,
    found: Sequence[Shift],
) -> list[str]:
    """One note for each shift in which a row lies; local: a SELECT of line_no and local time t."""
    notes = []
    for shift in found:
        row = connection.execute(
            f"SELECT count(*) FROM ({local}) WHERE t >= $start AND t < $end", {"start": shift.start, "end": shift.end}
        ).fetchone()
        count = row[0] if row else 0
        if not count:
            continue
        line = _set_back_at(connection, local, shift) if shift.twice else None
        if line is None:
            _mark(connection, source_id, times, local, shift)
            read = (
                "read as the second of the two; gaps to rows outside it may be off by as much"
                if shift.twice
                else "read by the offset before; perhaps the zone is another"
            )
        else:
            _move_back(connection, source_id, times, local, shift, line)
            read = f"told apart by the order of the lines, whose time steps back once, at line {line}"
        rows = "1 row lies" if count == 1 else f"{count:,} rows lie"
        hour = "hour" if shift.end - shift.start == timedelta(hours=1) else "time"
        kind = "occurs twice" if shift.twice else "no clock showed"
        notes.append(f"{rows} in the {hour} that {kind} ({shift.start:%Y-%m-%d %H:%M} {zone}): {read}")
    more = len(notes) - _MOST_NOTES
    return notes if more <= 0 else [*notes[:_MOST_NOTES], f"and {more} more such hours"]


def _set_back_at(connection: duckdb.DuckDBPyConnection, local: str, shift: Shift) -> int | None:
    """The line from which on clocks were set back: where local time steps back far within the shift, and nowhere else.

    Of eight lines in chance order six in a thousand step back just once (Eulerian numbers); fewer lines tell nothing.
    """
    steps = connection.execute(
        "SELECT line_no, t, before, lines FROM (SELECT line_no, t, lag(t) OVER (ORDER BY line_no) AS before, "
        f"count(*) OVER () AS lines FROM ({local}) WHERE t IS NOT NULL) "
        "WHERE t < before - to_microseconds($jitter) LIMIT 2",
        {"jitter": _JITTER // timedelta(microseconds=1)},
    ).fetchall()
    if len(steps) != 1:
        return None
    line, after, before, lines = steps[0]
    inside = shift.start <= after < before < shift.end and before - after >= (shift.end - shift.start) / 2
    return int(line) if inside and lines >= _FEWEST_IN_ORDER else None


def _move_back(
    connection: duckdb.DuckDBPyConnection, source_id: int, times: Times, local: str, shift: Shift, line: int
) -> None:
    """The rows of the shift before that line are read as the first of the two."""
    connection.execute(
        f"UPDATE {times.table} SET {times.column} = {times.column} - to_microseconds($width) "
        "WHERE source_id = $id AND line_no < $line "
        f"AND line_no IN (SELECT line_no FROM ({local}) WHERE t >= $start AND t < $end)",
        {**_bounds(shift), "id": source_id, "line": line},
    )


def _mark(connection: duckdb.DuckDBPyConnection, source_id: int, times: Times, local: str, shift: Shift) -> None:
    connection.execute(
        f"INSERT INTO clock_folds (source_id, line_no, read_at, other_at, shown) SELECT source_id, line_no, "
        f"{times.column}, {times.column} - to_microseconds($width), $shown FROM {times.table} "
        "WHERE source_id = $id "
        f"AND line_no IN (SELECT line_no FROM ({local}) WHERE t >= $start AND t < $end)",
        {**_bounds(shift), "id": source_id, "shown": "twice" if shift.twice else "never"},
    )


def _bounds(shift: Shift) -> dict[str, object]:
    """Either way the other reading is earlier by the width: by the offset before a set-back, or after a leap."""
    return {
        "start": shift.start,
        "end": shift.end,
        "width": (shift.end - shift.start) // timedelta(microseconds=1),
    }


def _local(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> str | None:
    """SQL of the local time of a row; NULL where a cell carries its own offset and so reads the same in every zone."""
    here, there = (values.read_time(connection, column, zone) for zone in ("UTC", "Etc/GMT-14"))
    if here is None or there is None or not here.naive:
        return None
    return f"CASE WHEN ({here.sql}) <> ({there.sql}) THEN {here.sql} END"
