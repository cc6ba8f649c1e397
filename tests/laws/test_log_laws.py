"""Laws of the log readers: a line written is read back, whichever way it is read, and no text makes a reader raise."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import schema
from forensics.errors import UsageError
from forensics.sources import logs
from forensics.sources.format_file import read_format_file
from forensics.sources.logs import catalogue as log_catalogue
from forensics.sources.logs import sql
from forensics.sources.logs.catalogue import LogFormat

COLUMNS = [c.name for c in schema.REQUESTS.columns if c.name not in ("source_id", "hop")]
QUICK = settings(max_examples=40, deadline=None)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

TOKEN = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_", min_size=1, max_size=12)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20)
REQUEST = st.fixed_dictionaries(
    {
        "client": st.sampled_from(["198.51.100.7", "2001:db8::9"]),
        "at": st.datetimes(datetime(2020, 1, 1), datetime(2029, 12, 31)),  # noqa: DTZ001
        "offset": st.integers(-12 * 4, 14 * 4).map(lambda quarters: timedelta(minutes=15 * quarters)),
        "method": st.sampled_from(["GET", "POST", "PUT", "PATCH", "PURGE"]),
        "path": st.lists(TOKEN, max_size=4).map(lambda parts: "/" + "/".join(parts)),
        "status": st.integers(100, 599),
        "bytes": st.integers(0, 10**9),
        "agent": TEXT,
        "took_ms": st.integers(0, 60_000),
        "attempt": st.none() | st.integers(1, 9),
        "key": st.none() | st.uuids().map(str),
    }
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def nginx_escape(text: str) -> str:
    r"""Control bytes, the quote, the backslash and everything beyond ASCII as \xHH, upper case."""
    return "".join(
        chr(b) if 0x20 <= b < 0x7F and chr(b) not in '"\\' else f"\\x{b:02X}" for b in text.encode()
    )  # fmt: skip


def clf(at: datetime, offset: timedelta) -> str:
    sign, minutes = ("-", -offset) if offset < timedelta() else ("+", offset)
    hours, rest = divmod(int(minutes.total_seconds()) // 60, 60)
    return f"{at:%d}/{MONTHS[at.month - 1]}/{at:%Y:%H:%M:%S} {sign}{hours:02d}{rest:02d}"


def nginx_line(r: dict[str, Any]) -> str:
    attempt = "-" if r["attempt"] is None else r["attempt"]
    request = f"{r['method']} {r['path']} HTTP/1.1"
    return (
        f'{r["client"]} - - [{clf(r["at"], r["offset"])}] "{request}" {r["status"]} {r["bytes"]} '
        f'"-" "{nginx_escape(r["agent"]) or "-"}" {r["took_ms"] / 1000:.3f} "{attempt}" "{r["key"] or "-"}"'
    )


NGINX = logs.from_log_format(
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" '
    '$request_time "$http_x_retry_attempt" "$http_idempotency_key"'
)


def read(
    connection: duckdb.DuckDBPyConnection, log_format: LogFormat, text: str
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes(text.encode())
        found = connection.execute(*logs.requests_sql(log_format, str(path), "Asia/Seoul")).fetchall()
        left = connection.execute(*logs.rejects_sql(log_format, str(path))).fetchall()
    return [dict(zip(COLUMNS, row, strict=True)) for row in found], left


def expected_start(r: dict[str, Any]) -> datetime:
    stamp: datetime = r["at"].replace(microsecond=0, tzinfo=timezone(r["offset"])).astimezone(UTC).replace(tzinfo=None)
    return stamp - timedelta(milliseconds=r["took_ms"])


@QUICK
@given(REQUEST)
def test_an_nginx_line_is_read_back(connection: duckdb.DuckDBPyConnection, r: dict[str, Any]) -> None:
    [row], left = read(connection, NGINX, nginx_line(r))
    assert left == []
    assert row["started_at"] == expected_start(r)
    assert row["duration_us"] == r["took_ms"] * 1000
    assert [row[c] for c in ("method", "path", "status", "bytes", "client", "attempt", "idempotency_key")] == [
        r[c] for c in ("method", "path", "status", "bytes", "client", "attempt", "key")
    ]
    assert row["user_agent"] == (r["agent"] if r["agent"] not in ("", "-") else None)


@QUICK
@given(REQUEST)
def test_a_json_line_is_read_back(connection: duckdb.DuckDBPyConnection, r: dict[str, Any]) -> None:
    line = json.dumps(
        {
            "time": r["at"].replace(microsecond=0, tzinfo=timezone(r["offset"])).isoformat(),
            "request": f"{r['method']} {r['path']} HTTP/1.1",
            "status": r["status"],
            "request_time": r["took_ms"] / 1000,
            "user_agent": r["agent"],
            "attempt": "" if r["attempt"] is None else str(r["attempt"]),
            "idempotency_key": r["key"] or "",
        },
        ensure_ascii=False,
    )
    template = (
        '{"time":"$time_iso8601","request":"$request","status":$status,"request_time":$request_time,'
        '"user_agent":"$http_user_agent","attempt":"$http_x_retry_attempt","idempotency_key":"$http_idempotency_key"}'
    )
    [row], left = read(connection, logs.from_log_format(template), line)
    assert left == []
    assert row["started_at"] == expected_start(r)
    assert [row[c] for c in ("method", "path", "status", "attempt", "idempotency_key")] == [
        r[c] for c in ("method", "path", "status", "attempt", "key")
    ]
    assert row["user_agent"] == (r["agent"] if r["agent"] not in ("", "-") else None)


FORMAT_FILE = """[[text]]
id = "a"
product = "a"
pattern = '^(?P<time>[0-9T:Z-]+) (?P<request>.*)$'
units = { time = "iso" }
time_is = "end"
[[json]]
id = "b"
product = "b"
needs = ["m"]
time_is = "start"
fields = [{ role = "time", path = "t", unit = "iso" }, { role = "request", path = "m", counts_from = 0 }]
[[wrapper]]
id = "w"
line = "x"
time = "y"
time_unit = "epoch"
[[sample]]
format = "a"
line = "2027-01-02T01:15:30Z POST /pay HTTP/1.1"
expect = { status = 201 }
"""
PIECES = st.sampled_from(
    ["[", "]", "[[", "{", "}", '"', "'", "=", "\n", "7", "[7]", "{a=1}", "(", "\\1", "(?=", "id", "x"]
)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(FORMAT_FILE)), st.integers(0, 12), PIECES), min_size=1, max_size=3))
def test_a_damaged_file_of_formats_is_wrong_use_or_can_be_used(edits: list[tuple[int, int, str]]) -> None:
    text = FORMAT_FILE.replace("status = 201", 'method = "POST"')
    for at, width, piece in edits:
        text = text[:at] + piece + text[at + width :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "formats.toml"
        path.write_text(text, encoding="utf-8")
        try:
            catalogue = read_format_file(path)
        except UsageError as exc:
            said = exc.message
        else:
            said = f"{path}: {len(catalogue.text)} + {len(catalogue.json)} formats"
    assert str(path) in said


def damaged(line: str) -> st.SearchStrategy[str]:
    """The line whole, cut, with a piece doubled, or with something put in."""
    place = st.integers(0, len(line))
    return st.one_of(
        st.just(line),
        place.map(lambda i: line[:i]),
        place.map(lambda i: line[:i] + line),
        st.tuples(place, st.sampled_from(['"', " ", "\\", '\\"', "-", "[", "]", "\x00", ", 502", "é"])).map(
            lambda t: line[: t[0]] + t[1] + line[t[0] :]
        ),
    )


WHOLE = '198.51.100.7 - - [02/Jan/2027:10:15:30 +0900] "GET / HTTP/1.1" 200 5 "-" "a" 0.250 "1" "k-000001"'
RECOGNISED = logs.recognise([WHOLE])


@pytest.mark.parametrize("described", [True, False])
def test_a_whole_nginx_line_is_cut_at_its_quotes(connection: duckdb.DuckDBPyConnection, described: bool) -> None:
    assert RECOGNISED is not None
    log_format = NGINX if described else RECOGNISED.format
    without_pattern = replace(log_format, pattern="no line has this" + "()" * len(log_format.fields))
    assert len(read(connection, without_pattern, WHOLE)[0]) == 1


@QUICK
@given(st.booleans(), st.lists(REQUEST.map(nginx_line).flatmap(damaged), max_size=12))
def test_cutting_at_quotes_reads_what_the_pattern_reads(
    connection: duckdb.DuckDBPyConnection, described: bool, lines: list[str]
) -> None:
    assert RECOGNISED is not None
    log_format = NGINX if described else RECOGNISED.format
    text = "\n".join(lines)
    assert log_format.reader == "quotes"
    assert read(connection, log_format, text) == read(connection, replace(log_format, reader="regex"), text)


LINES = [s.line for s in log_catalogue.built_in().samples]
FORMATS = [NGINX, *(f.format for s in log_catalogue.built_in().samples if (f := logs.recognise(s.sample)) is not None)]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.lists(
        TEXT
        | st.sampled_from(LINES).flatmap(damaged)
        | st.sampled_from(["", "\x00" * 9, "#Fields: date", '{"a":"\\u0000"}', "{" * 40, "[" * 40, '"' * 7]),
        max_size=10,
    ),
)
def test_no_text_makes_a_reader_raise_and_no_line_is_lost(
    connection: duckdb.DuckDBPyConnection, log_format: LogFormat, lines: list[str]
) -> None:
    found, left = read(connection, log_format, "\n".join(lines))
    numbers = sorted([*(row["line_no"] for row in found), *(number for number, _, _ in left)])
    assert numbers == [n for n, line in enumerate(lines, 1) if line.strip(" \t\x0b\x0c")]


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXT | st.sampled_from(LINES).flatmap(damaged), max_size=20))
def test_no_sample_makes_recognition_raise(lines: list[str]) -> None:
    found = logs.recognise(lines)
    assert found is None or 0.5 <= found.share <= 1


# Routes ---------------------------------------------------------------------------------------------------------

SEGMENT = st.text("abcdefgz0123456789-_.A", max_size=18) | st.sampled_from(["v1", "api", "pay-ments", "deadbeef", "12"])


def folded(segment: str) -> str:
    """Numbers, long hex, UUIDs, three digits in a row, and long tokens with a digit name one thing."""
    one_thing = (
        re.fullmatch(r"[0-9]+|[0-9a-fA-F]{8,}|.*[0-9]{3}.*", segment)
        or re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", segment)
        or (len(segment) >= 16 and any(c.isdigit() for c in segment))
    )
    return "{id}" if one_thing else segment


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(SEGMENT, max_size=5), min_size=1, max_size=40))
def test_a_route_is_the_path_with_each_segment_folded_by_itself(paths: list[list[str]]) -> None:
    written = ["".join(f"/{segment}" for segment in path) or "/" for path in paths]
    expected = ["".join(f"/{folded(segment)}" for segment in path) or "/" for path in paths]
    select = f"SELECT {sql.route('path')} FROM (SELECT unnest($paths) AS path)"
    assert [row[0] for row in duckdb.execute(select, {"paths": written}).fetchall()] == expected
