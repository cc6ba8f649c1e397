"""Every header of data/attempt_headers.toml comes out wherever a log can carry it, attempts counted from 1."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from forensics import store
from forensics.sources.load import load_files
from forensics.sources.logs.fields import header
from forensics.sources.options import Options

HEADERS: list[dict[str, Any]] = tomllib.loads(
    files("forensics.sources").joinpath("data/attempt_headers.toml").read_text(encoding="utf-8")
)["header"]
SHAPED = {
    "amz-sdk-request": "ttl=20270102T011535Z; attempt={}; max=3",
    "x-goog-api-client": "gccl-attempt-count/{} gl-go/1",
}
TRACES = {
    "b3": ("80f198ee56343ba864fe8b2a57d3eff7-e457b5a2e4d86bd1-1", "80f198ee56343ba864fe8b2a57d3eff7"),
    "x-amzn-trace-id": ("Root=1-67891233-abcdef012345678912345678", "1-67891233-abcdef012345678912345678"),
    "x-cloud-trace-context": ("4bf92f3577b34da6a3ce929d0e0e4736/7;o=1", "4bf92f3577b34da6a3ce929d0e0e4736"),
    "traceparent": ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "4bf92f3577b34da6a3ce929d0e0e4736"),
}


def _example(record: dict[str, Any]) -> tuple[str, str, Any]:
    """What the header holds on a second try at 01:15:30; the column that it goes to; what that column holds then."""
    name, carries, unit = record["name"], record["carries"], record.get("unit", "")
    if carries == "attempt":
        return SHAPED.get(name, "{}").format(record.get("counts_from", 1) + 1), "attempt", 2
    if carries == "trace_id":
        text, trace = TRACES.get(name, ("4bf92f3577b34da6", "4bf92f3577b34da6"))
        return text, "trace_id", trace
    if carries == "deadline":
        text = {"ms": "5000", "s": "5", "grpc": "5S"}[unit]
        return text, "CAST(deadline_at AS VARCHAR)", "2027-01-02 01:15:35"
    if carries == "retry_after":
        return {"ms": "5000", "s": "5"}[unit], "retry_after_s", 5.0
    return "ab12-cd34", carries, "ab12-cd34"


def _as_json(name: str, value: str) -> tuple[str, str]:
    line = {"started_at": "2027-01-02T01:15:30Z", "method": "POST", "path": "/pay", "status": 201, name: value}
    return json.dumps(line), ""


def _in_headers(name: str, value: str) -> tuple[str, str]:
    line = {"started_at": "2027-01-02T01:15:30Z", "method": "POST", "path": "/pay", "headers": {name: [value]}}
    return json.dumps(line), ""


def _as_logfmt(name: str, value: str) -> tuple[str, str]:
    return f'start_time=2027-01-02T01:15:30Z method=POST path=/pay status=201 {name}="{value}"', ""


def _as_ltsv(name: str, value: str) -> tuple[str, str]:
    return f"start_time:2027-01-02T01:15:30Z\tmethod:POST\tpath:/pay\tstatus:201\t{name}:{value}", ""


def _by_nginx(name: str, value: str) -> tuple[str, str]:
    variable = "$http_" + name.lower().replace("-", "_")
    line = f'[02/Jan/2027:01:15:30 +0000] "POST /pay HTTP/1.1" 201 "{value}"'
    return line, f'[$time_local] "$request" $status "{variable}"'


def _by_apache(name: str, value: str) -> tuple[str, str]:
    return f'[02/Jan/2027:01:15:30 +0000] "POST /pay HTTP/1.1" 201 "{value}"', f'%t "%r" %>s "%{{{name}}}i"'


def _as_w3c(name: str, value: str) -> tuple[str, str]:
    cell = f'"{value}"' if " " in value else value
    fields = f"#Fields: date time cs-method cs-uri-stem sc-status {name}"
    return f"{fields}\n2027-01-02 01:15:30 POST /pay 201 {cell}", ""


@pytest.mark.parametrize("carrier", [_as_json, _in_headers, _as_logfmt, _as_ltsv, _by_nginx, _by_apache, _as_w3c])
def test_every_header_comes_out_of_every_form_of_log(carrier: Any, tmp_path: Path) -> None:
    wrong = []
    for number, record in enumerate(r for r in HEADERS if "." not in r["name"] or carrier is not _by_nginx):
        value, column, wanted = _example(record)
        line, log_format = carrier(record["name"], value)
        path = tmp_path / f"{number}.log"
        path.write_text(line + "\n")
        connection = store.open_for_loading(Path(":memory:"))
        loaded = load_files(connection, [path], Options(kind="requests", log_format=log_format or None))
        rows = connection.execute(f"SELECT {column}, attempt_source IS NOT NULL FROM requests").fetchall()
        connection.close()
        if rows != [(wanted, record["carries"] == "attempt")]:
            wrong.append((record["name"], value, rows, loaded.refused))
    assert wrong == []


@pytest.mark.parametrize(
    "name",
    [
        *("X-Slack-No-Retry", "X-Slack-Retry-Reason", "square-retry-reason", "x-retry-attempted", "x-should-retry"),
        *("Stripe-Should-Retry", "x-envoy-max-retries", "x-envoy-is-timeout-retry", "Idempotent-Replayed"),
    ],
)
def test_what_only_speaks_of_retries_is_no_attempt_number(name: str) -> None:
    found = header(name)
    assert found is None or found.role != "attempt"


def test_the_deadline_of_the_call_goes_before_that_of_one_try(tmp_path: Path) -> None:
    per_try, whole = "x-envoy-upstream-rq-per-try-timeout-ms", "x-envoy-upstream-rq-timeout-ms"
    line = {"started_at": "2027-01-02T01:15:30Z", "method": "POST", "path": "/pay", per_try: "1000", whole: "3000"}
    path = tmp_path / "access.log"
    path.write_text(json.dumps(line) + "\n")
    connection = store.open_for_loading(Path(":memory:"))
    load_files(connection, [path], Options())
    rows = connection.execute("SELECT CAST(deadline_at AS VARCHAR) FROM requests").fetchall()
    connection.close()
    assert rows == [("2027-01-02 01:15:33",)]
