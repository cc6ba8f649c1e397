"""Lines behind what a collector wrote: whose time is used, which year it is of, and what is said when there is none."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from forensics import store
from forensics.sources.load import Loaded, load_files
from forensics.sources.options import Options

UVICORN = 'INFO:     203.0.113.4:51122 - "POST /pay HTTP/1.1" 201 Created'
COMBINED = '203.0.113.4 - - [02/Jan/2027:10:15:30 +0900] "POST /pay HTTP/1.1" 201 5 "-" "till/3.2"'
PAYMENTS = "order_id,amount,currency,status,created_at\nA-1,10,USD,captured,{}\n"


def _load(paths: list[Path], columns: str = "CAST(started_at AS VARCHAR)") -> tuple[Loaded, list[tuple[Any, ...]]]:
    connection = store.open_for_loading(Path(":memory:"))
    loaded = load_files(connection, paths, Options())
    rows = connection.execute(f"SELECT {columns} FROM requests ORDER BY line_no").fetchall()
    connection.close()
    return loaded, rows


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "access.log"


def test_the_stamp_of_a_collector_dates_lines_that_have_none_and_that_is_said(log: Path) -> None:
    log.write_text(f"2027-01-02T01:15:30.5Z {UVICORN}\n2027-01-02T01:15:31.5Z {UVICORN}\n")
    loaded, rows = _load([log])
    assert rows == [("2027-01-02 01:15:30.5",), ("2027-01-02 01:15:31.5",)]
    notes = loaded.sources[0].notes
    assert "docker timestamps prefix taken off each line: its stamp is the time, for the line has none" in notes
    assert "a line is dated with the end of its request and carries no duration: started_at is that end" in notes


def test_a_line_with_a_time_of_its_own_keeps_it(log: Path) -> None:
    log.write_text(f"2027-01-05T00:00:00.5Z stdout F {COMBINED}\n")
    assert _load([log])[1] == [("2027-01-02 01:15:30",)]


def test_lines_that_nothing_dates_are_refused_with_what_to_add(log: Path) -> None:
    log.write_text(f"{UVICORN}\n" * 3)
    loaded, _ = _load([log])
    [refused] = loaded.refused
    assert refused.message == (
        f"{log}: its lines are those of Uvicorn, default, which carry no time, and nothing that stands before them does"
    )
    assert "docker logs -t" in (refused.hint or "")


SYSLOG = "Dec 31 23:59:59 pay1 app[7]: {0}\nJan  1 00:00:01 pay1 app[7]: {0}\nFeb 29 12:00:00 pay1 app[7]: {0}\n"


def test_stamps_without_a_year_are_of_the_last_year_before_the_date_of_the_file(log: Path) -> None:
    log.write_text(SYSLOG.format(UVICORN))
    written = datetime(2028, 3, 1, tzinfo=UTC).timestamp()
    os.utime(log, (written, written))
    loaded, rows = _load([log])
    assert rows == [("2027-12-31 23:59:59",), ("2028-01-01 00:00:01",), ("2028-02-29 12:00:00",)]
    assert any("before the date of the file itself, 2028-03-01" in n for n in loaded.sources[0].notes)


def test_other_evidence_tells_the_year_before_the_date_of_the_file_does(log: Path, tmp_path: Path) -> None:
    log.write_text(SYSLOG.format(UVICORN).splitlines()[1] + "\n")
    payments = tmp_path / "payments.csv"
    payments.write_text(PAYMENTS.format("2026-01-01T00:00:05Z"))
    loaded, rows = _load([log, payments])
    assert rows == [("2026-01-01 00:00:01",)]
    assert any("nearest to the other evidence" in n for n in loaded.sources[1].notes)


def test_a_day_that_no_year_has_is_rejected(log: Path) -> None:
    log.write_text(f"Jan  1 00:00:01 pay1 app[7]: {UVICORN}\nFeb 30 00:00:01 pay1 app[7]: {UVICORN}\n")
    [source] = _load([log])[0].sources
    assert (source.rows_loaded, source.rows_rejected) == (1, 1)


def test_requests_between_an_applications_other_lines_are_read_and_the_others_rejected(log: Path) -> None:
    noise = "starting the payment engine\n" * 3
    log.write_text(f"{noise}{COMBINED}\n{noise}{COMBINED}\n")
    [source] = _load([log])[0].sources
    assert (source.format, source.rows_loaded, source.rows_rejected) == ("nginx_combined", 2, 6)


def test_a_format_given_as_a_string_is_read_behind_a_prefix_too(log: Path) -> None:
    log.write_text('2027-01-02T03:00:00Z stdout F 2027-01-02T01:15:30+00:00 "POST /pay HTTP/1.1" 201\n')
    connection = store.open_for_loading(Path(":memory:"))
    load_files(connection, [log], Options(log_format='$time_iso8601 "$request" $status'))
    assert connection.execute("SELECT CAST(started_at AS VARCHAR), path FROM requests").fetchall() == [
        ("2027-01-02 01:15:30", "/pay")
    ]
