"""Every sample line of the catalogue is recognised and read as it says; and what must hold for all formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics import schema
from forensics.sources import logs
from forensics.sources.logs import catalogue as log_catalogue
from forensics.sources.logs.catalogue import LogFormat, Sample

COLUMNS = [c.name for c in schema.REQUESTS.columns if c.name not in ("source_id", "hop")]
Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a log and gives its path."""

    def written(text: str) -> Path:
        path = tmp_path / "access.log"
        path.write_bytes(text.encode())
        return path

    return written


def connect(zone: str = "Asia/Seoul") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"SET TimeZone = '{zone}'")
    connection.execute(schema.ddl(schema.REQUESTS))
    return connection


def rows(log_format: LogFormat, path: Path, zone: str = "UTC", session: str = "Asia/Seoul") -> list[dict[str, Any]]:
    select, values = logs.requests_sql(log_format, str(path), zone)
    with connect(session) as connection:
        found = connection.execute(select, values).fetchall()
    return [dict(zip(COLUMNS, row, strict=True)) for row in found]


def rejects(log_format: LogFormat, path: Path) -> list[tuple[int, str, str]]:
    select, values = logs.rejects_sql(log_format, str(path))
    with connect() as connection:
        return connection.execute(f"SELECT * FROM ({select}) ORDER BY line_no", values).fetchall()


def recognised(*lines: str) -> LogFormat:
    found = logs.recognise(lines)
    assert found is not None
    return found.format


@pytest.mark.parametrize("sample", log_catalogue.built_in().samples, ids=lambda s: s.format_id)
def test_a_sample_line_is_recognised_and_read_as_the_catalogue_says(sample: Sample, write: Write) -> None:
    log_format = replace(recognised(*sample.sample), latest=sample.latest)
    assert log_format.id == sample.format_id
    lines = sample.sample if sample.line in sample.sample else (sample.line,)
    path = write("".join(f"{line}\n" for line in lines))
    read = {row["line_no"]: row for row in rows(log_format, path)}[lines.index(sample.line) + 1]
    for column, value in sample.expect.items():
        got = read[column].isoformat(" ") if column in ("started_at", "deadline_at") else read[column]
        wanted = value + "0" * (26 - len(value)) if "." in str(value) and column.endswith("_at") else value
        assert (column, got) == (column, wanted)


def test_every_format_of_the_catalogue_has_a_sample() -> None:
    shown = {s.format_id for s in log_catalogue.built_in().samples}
    assert {f.id for f in log_catalogue.built_in().text} | {s.id for s in log_catalogue.built_in().json} <= shown


def test_the_columns_are_those_of_requests_in_order_and_type(write: Write) -> None:
    log_format = recognised(log_catalogue.built_in().samples[0].line)
    select, values = logs.requests_sql(log_format, str(write("x\n")), "UTC")
    with connect() as connection:
        described = connection.execute(f"DESCRIBE ({select})", values).fetchall()
    expected = [(c.name, c.type) for c in schema.REQUESTS.columns if c.name not in ("source_id", "hop")]
    assert [(name, kind) for name, kind, *_ in described] == expected


COMBINED = '198.51.100.{n} - - [02/Jan/2027:10:15:30 +0900] "{request}" 200 5 "-" "till/3.2"'


def test_line_numbers_count_blank_lines_and_rejects_say_what_was_seen(write: Write) -> None:
    good = COMBINED.format(n=1, request="GET /a HTTP/1.1")
    path = write(
        f"{good}\n\n"
        '198.51.100.2 - - [02/Jan/2027:10:15:30 +0900] "GET /cut\n'
        + COMBINED.format(n=3, request=r"\x16\x03\x01")
        + "\n   \n"
        + COMBINED.format(n=4, request="")
        + "\nno brackets at all\n"
        + good
    )
    log_format = recognised(good)
    assert [row["line_no"] for row in rows(log_format, path)] == [1, 8]
    assert [(number, reason) for number, reason, _ in rejects(log_format, path)] == [
        (3, "cut in the middle: no closing quote after the request"),
        (4, 'the request is not "METHOD path PROTOCOL" (TLS bytes on a plain port?)'),
        (6, "the request is empty: the caller sent none"),
        (7, "no time in brackets"),
    ]


@pytest.mark.parametrize("kept", [True, False])
def test_line_numbers_are_right_whether_or_not_the_order_of_insertion_is_kept(kept: bool, write: Write) -> None:
    start = '198.51.100.1 - - [02/Jan/2027:10:15:30 +0900] "GET /a HTTP/1.1" 200'
    path = write("".join(f'{start} {n} "-" "till/3.2"\n' for n in range(1, 200_001)))  # the size is the line's number
    select, values = logs.requests_sql(recognised(f'{start} 5 "-" "till/3.2"'), str(path), "UTC")
    with duckdb.connect() as connection:
        connection.execute(f"SET preserve_insertion_order = {kept}")
        connection.execute(f"CREATE TABLE read AS {select}", values)
        counts = connection.execute("SELECT count(*), count(*) FILTER (line_no <> bytes) FROM read").fetchone()
    assert counts == (200_000, 0)


def test_a_rejected_line_is_shown_up_to_500_characters(write: Write) -> None:
    good = COMBINED.format(n=1, request="GET /a HTTP/1.1")
    [(_, _, text)] = rejects(recognised(good), write("y" * 1_000_000 + "\n" + good + "\n"))
    assert text == "y" * 500


@pytest.mark.parametrize("session", ["UTC", "Asia/Seoul", "America/St_Johns"])
def test_times_are_utc_whatever_the_session_zone(session: str, write: Write) -> None:
    line = COMBINED.format(n=1, request="GET /a HTTP/1.1")
    [row] = rows(recognised(line), write(line), session=session)
    assert row["started_at"].isoformat() == "2027-01-02T01:15:30"
    assert row["started_at"].tzinfo is None


@pytest.mark.parametrize(
    ("zone", "started"),
    [("Asia/Seoul", "2027-01-01T16:15:30.606000"), ("Europe/Berlin", "2027-01-02T00:15:30.606000")],
)
def test_a_stamp_without_an_offset_is_read_in_the_zone_given(zone: str, started: str, write: Write) -> None:
    line = (
        "203.0.113.4:51122 [02/Jan/2027:01:15:30.606] in pay/app 0/0/1/181/184 201 412 - - ---- 1/1/0/0/0 0/0 "
        '"POST /v1/payments HTTP/1.1"'
    )
    log_format = recognised(line)
    assert not log_format.has_offset
    [row] = rows(log_format, write(line), zone)
    assert row["started_at"].isoformat() == started


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/payments", "/v1/payments"),
        ("/v1/items/3394", "/v1/items/{id}"),
        ("/v1/orders/ORD-20261130-00001/payments", "/v1/orders/{id}/payments"),
        ("/v1/orders/17/lines/4", "/v1/orders/{id}/lines/{id}"),
        ("/u/3fa85f64-5717-4562-b3fc-2c963f66afa6", "/u/{id}"),
        ("/t/deadbeefcafe", "/t/{id}"),
        ("/oauth2/token", "/oauth2/token"),
        ("/3ds/check", "/3ds/check"),
        ("/pi/pi_Ab1CdEfGhIjKlMnOpQ", "/pi/{id}"),
    ],
)
def test_a_route_folds_what_names_one_thing(path: str, route: str, write: Write) -> None:
    line = COMBINED.format(n=1, request=f"GET {path}?q=1 HTTP/1.1")
    [row] = rows(recognised(line), write(line))
    assert (row["path"], row["route"]) == (path, route)


def test_lines_written_before_an_operator_appended_fields_are_still_read(write: Write) -> None:
    old = COMBINED.format(n=1, request="POST /v1/payments HTTP/1.1")
    new = [f'{old} 0.{n}00 "{n}"' for n in (1, 2)]
    log_format = recognised(*new, *new)
    assert [row["duration_us"] for row in rows(log_format, write("\n".join([old, *new])))] == [None, 100_000, 200_000]


@pytest.mark.parametrize(
    ("stamp", "started"),
    [
        ("2027-01-02T10:15:30+09:00", "2027-01-02T01:15:30"),
        ("02/Jan/2027:10:15:30.250 +0900", "2027-01-02T01:15:30.250000"),
        ("2027-01-02 10:15:30,250", "2027-01-02T10:15:30.250000"),
    ],
)
def test_a_time_in_brackets_may_be_iso_or_finer(stamp: str, started: str, write: Write) -> None:
    line = COMBINED.format(n=1, request="GET /a HTTP/1.1").replace("02/Jan/2027:10:15:30 +0900", stamp)
    [row] = rows(recognised(line), write(line))
    assert row["started_at"].isoformat() == started


def test_a_list_of_upstream_tries_is_one_field(write: Write) -> None:
    start = '198.51.100.1 - - [02/Jan/2027:10:15:30 +0900] "POST /v1/payments HTTP/1.1" '
    lines = [f'{start}201 5 "-" "till/3.2" 0.300 201 0.299', f'{start}201 5 "-" "till/3.2" 0.300 502, 201 0.100, 0.199']
    read = rows(recognised(*lines), write("\n".join(lines)))
    assert [row["upstream_statuses"] for row in read] == ["201", "502, 201"]


def test_a_field_blank_in_the_sample_is_dealt_with_value_by_value(write: Write) -> None:
    start = '198.51.100.1 - - [02/Jan/2027:10:15:30 +0900] "POST /v1/payments HTTP/1.1" 201 5 "-" "till/3.2"'
    log_format = recognised(f'{start} 0.300 "-" "-"')
    path = write(f'{start} 0.300 "2" "-"\n{start} 0.300 "-" "k-000001"\n')
    read = rows(log_format, path)
    assert [(row["attempt"], row["idempotency_key"]) for row in read] == [(2, None), (None, "k-000001")]
    assert read[0]["attempt_source"] == "field 2 after the user agent"


def test_columns_of_a_w3c_log_follow_the_last_heading(write: Write) -> None:
    lines = [
        "#Fields: date time cs-method cs-uri-stem sc-status time-taken",
        "2027-01-02 01:15:30 POST /v1/payments 201 40",
        "#Fields: date time c-ip cs-method cs-uri-stem sc-status",
        "2027-01-02 01:15:31 203.0.113.4 POST /v1/payments 503",
        "2027-01-02 01:15:31 203.0.113.4",
    ]
    path = write("\n".join(lines))
    log_format = recognised(*lines)
    read = [(r["line_no"], r["status"], r["duration_us"], r["client"]) for r in rows(log_format, path)]
    assert read == [(2, 201, 40_000, None), (4, 503, None, "203.0.113.4")]
    assert [number for number, _, _ in rejects(log_format, path)] == [1, 3, 5]


@pytest.mark.parametrize(
    ("stamp", "value", "seconds"),
    [
        ("02/Jan/2027:01:15:30 +0000", "120", 120.0),
        ("02/Jan/2027:01:15:30 +0000", "Sat, 02 Jan 2027 01:16:00 GMT", 30.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(stamp: str, value: str, seconds: float, write: Write) -> None:
    line = f'{{"time":"{stamp}","request":"POST /v1/payments HTTP/1.1","status":503,"retry_after":"{value}"}}'
    [row] = rows(recognised(line), write(line))
    assert row["retry_after_s"] == seconds


@pytest.mark.parametrize(
    ("field", "value", "deadline"),
    [
        ("x_request_deadline", "2027-01-02T01:15:40Z", "2027-01-02T01:15:40"),
        ("deadline_ms", "1798852540250", "2027-01-02T01:15:40.250000"),
        ("http_grpc_timeout", "1500m", "2027-01-02T01:15:31.500000"),
        ("x_envoy_expected_rq_timeout_ms", "2500", "2027-01-02T01:15:32.500000"),
    ],
)
def test_a_deadline_is_an_instant_or_a_wait(field: str, value: str, deadline: str, write: Write) -> None:
    line = f'{{"time":"2027-01-02T01:15:30Z","request":"POST /p HTTP/1.1","status":200,"{field}":"{value}"}}'
    [row] = rows(recognised(line), write(line))
    assert row["deadline_at"].isoformat() == deadline


@pytest.mark.parametrize(
    "lines",
    [
        ('{"payment_id":"1","order_id":"A","method":"card","status":"captured","created_at":"2027-01-02T01:15:30Z"}',),
        ("payment_id,order_id,amount,created_at", "1,A,10.00,2027-01-02T01:15:30Z"),
        ("Traceback (most recent call last):", '  File "app.py", line 3, in pay', "TimeoutError: upstream"),
        ("",),
        (),
    ],
)
def test_what_is_no_access_log_is_not_taken_for_one(lines: tuple[str, ...]) -> None:
    assert logs.recognise(lines) is None


def test_a_log_is_recognised_behind_a_torn_line_and_garbage() -> None:
    good = COMBINED.format(n=1, request="GET /a HTTP/1.1")
    found = logs.recognise(['/a HTTP/1.1" 200 5 "-" "x"', "\x00\x00garbage", *[good] * 8])
    assert found is not None
    assert (found.format.id, found.share) == ("nginx_combined", 0.8)
