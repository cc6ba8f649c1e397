"""Logs of JSON and of labels whose keys no list has: parts of dotted names, and the words of a key, say what it is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from forensics import store
from forensics.sources.load import load_files
from forensics.sources.options import Options

STARTED = datetime(2026, 11, 30, 22, 29, 9, 908000, tzinfo=UTC)
"""92 ms before 22:29:10, the stamp of every line: a line is stamped with the end of its request."""
LINES: tuple[dict[str, Any], ...] = (
    {
        "@timestamp": "2026-11-30T22:29:10Z",
        "http.request.method": "POST",
        "url.path": "/v1/payments",
        "http.response.status_code": 503,
        "event.duration": 92_000_000,
        "client.ip": "203.0.113.5",
        "server.ip": "10.0.0.9",
        "user_agent.original": "shop/1",
    },
    {
        "eventTime": "2026-11-30T22:29:10Z",
        "httpVerb": "POST",
        "requestPath": "/v1/payments",
        "finalStatusCode": 503,
        "elapsedTimeMs": 92,
        "sourceIp": "203.0.113.5",
        "clientUserAgent": "shop/1",
    },
    {
        "loggedAt": "2026-11-30T22:29:10Z",
        "http": {"method": "POST", "endpoint": "/v1/payments", "resp": {"status": 503}},
        "processing_seconds": 0.092,
        "peer": {"address": "203.0.113.5"},
        "agent_string": "shop/1",
    },
)


@pytest.mark.parametrize("line", LINES, ids=("dotted", "camel", "nested"))
def test_keys_are_known_by_their_words(line: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "edge.jsonl"
    path.write_text((json.dumps(line) + "\n") * 5, encoding="utf-8")
    with store.open_for_loading(tmp_path / "case.duckdb") as connection:
        assert load_files(connection, [path], Options()).refused == ()
        row = connection.execute(
            "SELECT DISTINCT method, path, status, duration_us, client, user_agent, started_at FROM requests"
        ).fetchone()
    assert row is not None
    assert row[:-1] == ("POST", "/v1/payments", 503, 92_000, "203.0.113.5", "shop/1")
    assert row[-1].replace(tzinfo=UTC) == STARTED


def test_an_object_that_is_no_request_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    path.write_text('{"jobTime": "2026-11-30T22:29:10Z", "method": "ONCE", "status": 1}\n' * 5, encoding="utf-8")
    with store.open_for_loading(tmp_path / "case.duckdb") as connection:
        (refused,) = load_files(connection, [path], Options()).refused
    assert "no column could be recognised" in refused.message or "no heading is known" in refused.message
