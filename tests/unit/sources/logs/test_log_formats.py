"""Format strings of nginx and Apache become formats; malformed ones are wrong use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics import schema
from forensics.errors import UsageError
from forensics.sources import logs

COLUMNS = [c.name for c in schema.REQUESTS.columns if c.name not in ("source_id", "hop")]


def read(text: str, line: str, tmp_path: Path) -> dict[str, Any]:
    path = tmp_path / "custom.log"
    path.write_text(line + "\n", encoding="utf-8")
    select, values = logs.requests_sql(logs.from_log_format(text), str(path), "UTC")
    with duckdb.connect() as connection:
        [row] = connection.execute(select, values).fetchall()
    return dict(zip(COLUMNS, row, strict=True))


def test_an_nginx_string_names_its_fields(tmp_path: Path) -> None:
    row = read(
        '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" '
        '"$http_user_agent" $request_time "$http_x_stainless_retry_count" $upstream_status "$http_idempotency_key" '
        '"$http_x_request_id" "$http_traceparent" $sent_http_retry_after',
        '198.51.100.7 - - [02/Jan/2027:10:15:30 +0900] "POST /v1/payments HTTP/1.1" 503 0 "-" "till/3.2" 0.250 "1" '
        '502, 503 "k-1" "r-1" "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" 2',
        tmp_path,
    )
    assert row["started_at"].isoformat() == "2027-01-02T01:15:29.750000"
    assert (row["attempt"], row["attempt_source"]) == (2, "$http_x_stainless_retry_count")
    assert (row["upstream_statuses"], row["idempotency_key"], row["request_id"]) == ("502, 503", "k-1", "r-1")
    assert (row["trace_id"], row["retry_after_s"]) == ("4bf92f3577b34da6a3ce929d0e0e4736", 2.0)


def test_an_nginx_directive_may_be_given_whole(tmp_path: Path) -> None:
    text = """log_format main '$remote_addr [$time_iso8601] '
                     '"$request_method $uri" $status';"""
    row = read(text, '198.51.100.7 [2027-01-02T10:15:30+09:00] "POST /v1/payments" 201', tmp_path)
    assert (row["method"], row["path"], row["status"]) == ("POST", "/v1/payments", 201)
    assert row["started_at"].isoformat() == "2027-01-02T01:15:30"


def test_an_nginx_json_template_is_read_by_its_keys(tmp_path: Path) -> None:
    row = read(
        '{"t":"$msec","r":{"m":"$request_method","u":"$request_uri"},"s":$status,"d":$request_time,'
        '"try":"$http_x_retry_attempt"}',
        '{"t":"1798852530.500","r":{"m":"POST","u":"/v1/orders/A-7"},"s":201,"d":0.500,"try":"1"}',
        tmp_path,
    )
    assert row["started_at"].isoformat() == "2027-01-02T01:15:30"
    assert (row["order_id"], row["attempt"], row["attempt_source"]) == ("A-7", 1, "$http_x_retry_attempt")


def test_an_apache_string_names_its_fields(tmp_path: Path) -> None:
    row = read(
        r'LogFormat "%h %l %u %t \"%r\" %>s %b \"%{User-Agent}i\" %D %{X-Request-ID}i \"%{Idempotency-Key}i\"" pay',
        r'203.0.113.4 - - [02/Jan/2027:10:15:30 +0900] "POST /v1/payments HTTP/1.1" 200 120 "a \"b\"" 45250 r-1 "k-1"',
        tmp_path,
    )
    assert row["started_at"].isoformat() == "2027-01-02T01:15:30"
    assert (row["duration_us"], row["user_agent"], row["request_id"]) == (45250, 'a "b"', "r-1")
    assert row["idempotency_key"] == "k-1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no $variable and no %directive"),
        ("remote_addr status", "no $variable and no %directive"),
        ('$remote_addr "$request" $status', "no field of it is a time"),
        ("$remote_addr [$time_local] $status", "no field of it is the request"),
        ('$remote_addr$time_local "$request"', "nothing stands between $remote_addr and $time_local"),
        ('{"t":"$time_iso8601","r":"$request"', "not a JSON object"),
    ],
)
def test_a_malformed_string_is_wrong_use_and_says_why(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        logs.from_log_format(text)
    assert said in caught.value.message
    assert caught.value.hint


def test_stamps_that_are_ends_without_a_duration_are_said_to_be_so() -> None:
    [note] = logs.from_log_format('$remote_addr [$time_local] "$request"').notes
    assert "started_at is that end" in note
