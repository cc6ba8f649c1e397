"""A date in one column and the time of day in another, as many exports have them, joined into one column."""

from __future__ import annotations

import re
from dataclasses import replace

import duckdb

from forensics.sources.staged import Staged, StagedColumn, add_column, normal

_DATES = frozenset(
    (
        *("date", "datum", "transactiondate", "bookingdate", "buchungsdatum", "buchungstag"),
        *("날짜", "일자", "거래일자", "승인일자", "결제일자", "日付", "取引日", "決済日", "処理日"),
    )
)
_CLOCKS = frozenset(
    (
        *("time", "timeofday", "transactiontime", "bookingtime", "uhrzeit", "zeit", "buchungszeit"),
        *("시간", "시각", "거래시간", "거래시각", "승인시간", "승인시각", "결제시간"),
        *("時刻", "時間", "取引時刻", "決済時刻", "処理時刻"),
    )
)
_CLOCK = r"((오전|오후|午前|午後) ?)?\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[AaPp][Mm])?"


def join_clock(connection: duckdb.DuckDBPyConnection, staged: Staged) -> Staged:
    """The staged table with one more column where a date and a time of day stand apart; else as it is."""
    date, clock = (_named(staged, names) for names in (_DATES, _CLOCKS))
    if date is None or clock is None:
        return staged
    cells = connection.execute(
        f"SELECT trim(CAST({date.name} AS VARCHAR)), trim(CAST({clock.name} AS VARCHAR)) FROM staged "
        f"WHERE {clock.name} IS NOT NULL ORDER BY line_no LIMIT 200"
    ).fetchall()
    apart = sum(bool(re.fullmatch(_CLOCK, time or "")) and ":" not in (day or "") for day, time in cells)
    if not cells or apart < 0.9 * len(cells):
        return staged
    name = f"c{len(staged.columns)}"
    joined = f"trim(CAST({date.name} AS VARCHAR)) || ' ' || trim(CAST({clock.name} AS VARCHAR))"
    add_column(connection, name, "VARCHAR", joined)
    heading = f"{date.heading} + {clock.heading}"
    return replace(staged, columns=(*staged.columns, StagedColumn(heading, name, "VARCHAR", (date.name, clock.name))))


def _named(staged: Staged, names: frozenset[str]) -> StagedColumn | None:
    return next((c for c in staged.columns if normal(c.heading) in names), None)
