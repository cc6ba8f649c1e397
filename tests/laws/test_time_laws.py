"""Laws of time: a moment written in any style and zone is read back as the same moment."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import store
from forensics.sources.load import load_files
from forensics.sources.options import Options
from forensics.sources.staged import StagedColumn
from forensics.sources.values import read_time

QUICK = settings(max_examples=30, deadline=None)
COLUMN = StagedColumn("created_at", "c0", "VARCHAR")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOMENTS = st.lists(
    st.datetimes(datetime(2002, 1, 1), datetime(2068, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001
    min_size=1,
    max_size=20,
)


def _offset(moment: datetime, colon: str) -> str:
    minutes = int((moment.utcoffset() or timedelta()).total_seconds()) // 60
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{colon}{abs(minutes) % 60:02}"


def _clock(m: datetime) -> str:
    return f"{m.hour:02}:{m.minute:02}:{m.second:02}"


def _date(m: datetime, mark: str = "-") -> str:
    return f"{m.year}{mark}{m.month:02}{mark}{m.day:02}"


WITH_OFFSET: list[Callable[[datetime], str]] = [
    lambda m: f"{_date(m)}T{_clock(m)}.{m.microsecond:06}{_offset(m, ':')}",
    lambda m: f"{_date(m)} {_clock(m)}.{m.microsecond:06}{_offset(m, '')}",
    lambda m: f"{_date(m)} {_clock(m)}.{m.microsecond:06} {_offset(m, '')}",
    lambda m: f"{_date(m, '/')} {_clock(m)},{m.microsecond:06} {_offset(m, ':')}",
]
NAIVE: list[Callable[[datetime], str]] = [
    lambda m: f"{_date(m)} {_clock(m)}",
    lambda m: f"{_date(m)}T{_clock(m)}",
    lambda m: f"{_date(m, '/')} {m.hour}:{m.minute:02}:{m.second:02}",
    lambda m: f"{m.day:02}.{m.month:02}.{m.year} {_clock(m)}",
    lambda m: f"{m.day}-{MONTHS[m.month - 1]}-{m.year} {_clock(m)}",
    lambda m: f"{_date(m, '')}{_clock(m).replace(':', '')}",
    lambda m: f"{m.year}년 {m.month}월 {m.day}일 {_clock(m)}",
    lambda m: f"{m.year}年{m.month}月{m.day}日 {_clock(m)}",
]


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    yield connection
    connection.close()


def _read(connection: duckdb.DuckDBPyConnection, cells: list[str], zone: str) -> list[datetime]:
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE staged AS SELECT i AS line_no, cells[i] AS c0 FROM "
        "(SELECT CAST($cells AS VARCHAR[]) AS cells, unnest(range(1, len($cells) + 1)) AS i)",
        {"cells": cells},
    )
    reading = read_time(connection, COLUMN, zone)
    assert reading is not None
    rows = connection.execute(f"SELECT {reading.sql} FROM staged ORDER BY line_no").fetchall()
    return [row[0].replace(tzinfo=UTC) for row in rows]


@QUICK
@given(
    moments=MOMENTS,
    quarters=st.lists(st.integers(-12 * 4, 14 * 4), min_size=20, max_size=20),
    style=st.sampled_from(WITH_OFFSET),
)
def test_a_moment_with_its_offset_is_read_back_whatever_the_zone(
    connection: duckdb.DuckDBPyConnection, moments: list[datetime], quarters: list[int], style: Callable[..., str]
) -> None:
    local = [m.astimezone(timezone(timedelta(minutes=15 * q))) for m, q in zip(moments, quarters, strict=False)]
    assert _read(connection, [style(m) for m in local], "Asia/Seoul") == moments


@QUICK
@given(moments=MOMENTS, zone=st.sampled_from(["UTC", "Asia/Seoul", "Asia/Kolkata"]), style=st.sampled_from(NAIVE))
def test_a_moment_without_offset_is_read_back_in_its_zone(
    connection: duckdb.DuckDBPyConnection, moments: list[datetime], zone: str, style: Callable[..., str]
) -> None:
    whole = [m.replace(microsecond=0) for m in moments]
    assert _read(connection, [style(m.astimezone(ZoneInfo(zone))) for m in whole], zone) == whole


@QUICK
@given(moments=MOMENTS)
def test_a_moment_of_a_zone_with_summer_time_is_read_back_but_for_the_hour_that_comes_twice(
    connection: duckdb.DuckDBPyConnection, moments: list[datetime]
) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    local = [m.replace(microsecond=0).astimezone(berlin) for m in moments]
    clear = [m for m in local if m.utcoffset() == m.replace(fold=1 - m.fold).utcoffset()]
    if clear:
        assert _read(connection, [NAIVE[0](m) for m in clear], "Europe/Berlin") == clear


@QUICK
@given(moments=MOMENTS, unit=st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_an_epoch_is_read_back_to_its_unit(
    connection: duckdb.DuckDBPyConnection, moments: list[datetime], unit: int
) -> None:
    step = timedelta(microseconds=max(1, 10**6 // unit))
    start = datetime(1970, 1, 1, tzinfo=UTC)
    whole = [start + (m - start) // step * step for m in moments]
    cells = [str((m - start) // timedelta(microseconds=1) * unit // 10**6) for m in whole]
    assert _read(connection, cells, "Asia/Seoul") == whole


def _write_local(moments: list[datetime], zone: ZoneInfo) -> str:
    stamps = [f"{m.astimezone(zone):%Y-%m-%d %H:%M:%S}" for m in moments]
    return "order_id,amount,currency,created_at\n" + "".join(f"A{n},1,EUR,{s}\n" for n, s in enumerate(stamps))


AROUND_A_FOLD = st.lists(
    st.datetimes(datetime(2025, 10, 25, 22), datetime(2025, 10, 26, 4), timezones=st.just(UTC)),  # noqa: DTZ001
    min_size=1,
    max_size=12,
).map(lambda found: [m.replace(microsecond=0) for m in found])


@QUICK
@given(AROUND_A_FOLD, st.booleans())
def test_a_local_time_around_a_fold_is_read_right_or_kept_with_the_right_reading_beside(
    moments: list[datetime], in_order: bool
) -> None:
    written = sorted(moments) if in_order else moments
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payments.csv"
        path.write_text(_write_local(written, ZoneInfo("Europe/Berlin")))
        connection = store.open_for_loading(Path(":memory:"))
        load_files(connection, [path], Options(zone="Europe/Berlin"))
        rows = connection.execute(
            "SELECT created_at, other_at FROM payments "
            "LEFT JOIN clock_folds USING (source_id, line_no) ORDER BY line_no"
        ).fetchall()
        connection.close()
    assert len(rows) == len(written)
    if in_order:  # lines in no order may look like some, and be told apart wrongly, if rarely
        for (read, other), moment in zip(rows, written, strict=True):
            assert moment.replace(tzinfo=None) in (read, other)
    for (read, other), moment in zip(rows, written, strict=True):
        assert abs((moment.replace(tzinfo=None) - read).total_seconds()) in (0, 3600)
        assert other is None or abs((read - other).total_seconds()) == 3600
