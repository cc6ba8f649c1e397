"""Local times that clocks showed twice or never: told apart where the lines can, else kept with both readings."""

from __future__ import annotations

from tests.unit.sources.conftest import Desk

BERLIN = "Europe/Berlin"  # on 2025-10-26 clocks went from 03:00 summer time (+2) back to 02:00 (+1)


LATER = ("03:00", "03:01", "03:02", "03:03", "03:04", "03:05")


def _load(desk: Desk, *times: str) -> list[str]:
    rows = "".join(f"A{n},1.00,EUR,{time}\n" for n, time in enumerate(times))
    source = desk.source(f"order_id,amount,currency,created_at\n{rows}", zone=BERLIN)
    return [note for note in source.notes if "lie" in note]


def _utc(desk: Desk) -> list[str]:
    rows = desk.rows("SELECT strftime(created_at, '%d %H:%M') FROM payments ORDER BY line_no")
    return [text for (text,) in rows]


def _marked(desk: Desk) -> list[tuple[object, ...]]:
    columns = "line_no, strftime(read_at, '%H:%M'), strftime(other_at, '%H:%M'), shown"
    return desk.rows(f"SELECT {columns} FROM clock_folds ORDER BY line_no")


def test_a_row_in_the_hour_that_occurs_twice_is_kept_with_the_other_reading(desk: Desk) -> None:
    _load(desk, "2025-10-26 01:00", "2025-10-26 02:30", "2025-10-26 03:30")
    assert _utc(desk) == ["25 23:00", "26 01:30", "26 02:30"]
    assert _marked(desk) == [(3, "01:30", "00:30", "twice")]


def test_a_row_in_the_hour_that_no_clock_showed_is_kept_with_the_other_reading(desk: Desk) -> None:
    _load(desk, "2026-03-29 01:00", "2026-03-29 02:30", "2026-03-29 03:30")
    assert _utc(desk) == ["29 00:00", "29 01:30", "29 01:30"]
    assert _marked(desk) == [(3, "01:30", "00:30", "never")]


def test_lines_in_order_of_time_that_step_back_once_tell_the_two_hours_apart(desk: Desk) -> None:
    told = _load(
        desk,
        "2025-10-26 01:50",
        "2025-10-26 02:10",
        "2025-10-26 02:50",
        "2025-10-26 02:05",
        *(f"2025-10-26 {t}" for t in LATER),
    )
    assert _utc(desk) == [
        "25 23:50",
        "26 00:10",
        "26 00:50",
        "26 01:05",
        "26 02:00",
        "26 02:01",
        "26 02:02",
        "26 02:03",
        "26 02:04",
        "26 02:05",
    ]
    assert _marked(desk) == []
    [note] = told
    assert note.startswith("3 rows lie in the hour that occurs twice (2025-10-26 02:00 Europe/Berlin): told apart")
    assert note.endswith("time steps back once, at line 5")


def test_lines_that_step_back_elsewhere_too_are_in_no_order_and_tell_nothing(desk: Desk) -> None:
    _load(desk, *(f"2025-10-26 {t}" for t in ("05:00", "02:50", "02:05", *LATER)))
    assert _utc(desk)[:3] == ["26 04:00", "26 01:50", "26 01:05"]
    assert [line for line, *_ in _marked(desk)] == [3, 4]


def test_a_few_lines_may_step_back_once_by_chance_and_tell_nothing(desk: Desk) -> None:
    _load(desk, "2025-10-26 02:50", "2025-10-26 02:05")
    assert [line for line, *_ in _marked(desk)] == [2, 3]


def test_a_cell_with_its_own_offset_means_one_moment(desk: Desk) -> None:
    _load(desk, "2025-10-26 02:30:00+02:00", "2025-10-26 02:40:00")
    assert _marked(desk) == [(3, "01:40", "00:40", "twice")]


def test_first_and_last_time_of_a_source_are_those_after_the_hours_were_told_apart(desk: Desk) -> None:
    _load(desk, *(f"2025-10-26 {t}" for t in ("02:50", "02:05", *LATER)))
    assert desk.rows("SELECT strftime(first_at, '%H:%M'), strftime(last_at, '%H:%M') FROM sources") == [
        ("00:50", "02:05")
    ]


def test_a_log_that_steps_back_once_is_told_apart_too(desk: Desk) -> None:
    line = 'x:1 [26/Oct/2025:{}.000] a b/c 0/0/1/181/184 201 412 - - ---- 1/1/3/1/0 0/0 "POST /pay HTTP/1.1"\n'
    desk.source(
        "".join(line.format(t) for t in ("02:10:00", "02:50:00", "02:05:00", *(f"{t}:00" for t in LATER))),
        "access.log",
        zone=BERLIN,
    )
    starts = desk.rows("SELECT strftime(started_at, '%H:%M') FROM requests ORDER BY line_no")
    assert starts[:4] == [("00:10",), ("00:50",), ("01:05",), ("02:00",)]
    assert _marked(desk) == []
