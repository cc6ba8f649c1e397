"""Access logs: which format a log is in, and the SQL that reads it into `requests` and `rejects`.

found = recognise(sample_lines)
select, values = requests_sql(found.format, path, zone)      every readable line, columns of `requests`
select, values = rejects_sql(found.format, path)             every other line that is not blank, and why
words = settle_attempts(connection, source_id)               once inserted: from which number callers count

Both cores work when `preserve_insertion_order` is off around the insertion; line numbers are right either way.
"""

from __future__ import annotations

from forensics.schema import REQUESTS
from forensics.sources.logs import readers as log_readers
from forensics.sources.logs import sql as log_sql
from forensics.sources.logs import stamps
from forensics.sources.logs.attempts import settle_attempts
from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.fields import Field
from forensics.sources.logs.nginx_conf import read_nginx_conf
from forensics.sources.logs.parameters import Parameters
from forensics.sources.logs.recognise import LogRecognition, recognise, recognise_among
from forensics.sources.logs.strings import from_log_format

__all__ = [
    "LogRecognition",
    "from_log_format",
    "read_nginx_conf",
    "recognise",
    "recognise_among",
    "rejects_sql",
    "requests_sql",
    "settle_attempts",
]


def requests_sql(log_format: LogFormat, path: str, zone: str) -> tuple[str, list[object]]:
    """A SELECT of the readable lines, with the columns of `requests` in order, without source_id and hop.

    Args:
        log_format: as recognised or described.
        path: the log: plain text, UTF-8, without a byte-order mark.
        zone: IANA name; used for stamps without an offset only.

    Returns:
        The text with ? marks, and the values to bind.
    """
    parameters = Parameters()
    columns = {**_columns(log_format, parameters), "line_no": "line_no"}
    names = [c.name for c in REQUESTS.columns if c.name not in ("source_id", "hop")]
    types = {c.name: c.type for c in REQUESTS.columns}
    chosen = ", ".join(f"CAST({columns.get(n, 'NULL')} AS {types[n]}) AS {n}" for n in names)
    return parameters.finish(
        f"{_parsed(log_format, path, zone, parameters)} SELECT {chosen} FROM parsed WHERE readable"
    )


def rejects_sql(log_format: LogFormat, path: str) -> tuple[str, list[object]]:
    """A SELECT line_no, reason, text of the lines that are neither blank nor in `requests_sql`.

    Args:
        log_format: as given to `requests_sql`.
        path: likewise.

    Returns:
        The text with ? marks, and the values to bind.
    """
    parameters = Parameters()
    # Whether a stamp can be read does not depend on the zone.
    parsed = _parsed(log_format, path, "UTC", parameters)
    return parameters.finish(
        f"{parsed} SELECT line_no, {_reason(log_format)} AS reason, left(line, 500) AS text "
        "FROM parsed WHERE NOT readable"
    )


def _parsed(log_format: LogFormat, path: str, zone: str, parameters: Parameters) -> str:
    """WITH clauses ending in `parsed`: raw fields and stamp_us, took_us, method, target, path, started_at, readable."""
    took = log_sql.duration_us(log_format)
    started = "stamp_us - coalesce(took_us, 0)" if log_format.time_is == "end" else "stamp_us"
    kept = ", ".join(
        f"f{i}" for i, f in enumerate(log_format.fields) if f.role not in ("other", "time", "date", "clock", "duration")
    )
    comma = ", " if kept else ""
    stamp, method, target = (
        stamps.time_us(log_format, zone, parameters),
        log_sql.method(log_format),
        log_sql.target(log_format),
    )
    raw = log_readers.raw(log_format, path, parameters)
    cut = f"SELECT *, {log_sql.request_words(log_format)} AS words FROM raw"
    stamped = (
        f"SELECT line_no, line{comma}{kept}, {stamp} AS stamp_us, {took} AS took_us, {method} AS method, "
        f"{target} AS target FROM cut"
    )
    placed = f"SELECT *, {started} AS started_us, {log_sql.path('target')} AS path FROM stamped"
    flag = "coalesce(stamp_us IS NOT NULL AND method IS NOT NULL AND path IS NOT NULL, false)"
    parsed = f"SELECT *, {flag} AS readable FROM placed"
    return f"{raw}, cut AS ({cut}), stamped AS ({stamped}), placed AS ({placed}), parsed AS ({parsed})"


def _columns(log_format: LogFormat, parameters: Parameters) -> dict[str, str]:
    """The expression of each column of `requests` over `parsed`."""
    columns = {
        "started_at": "make_timestamp(started_us)",
        "duration_us": "took_us",
        "method": "method",
        "path": "path",
        "route": log_sql.route("path"),
        "status": log_sql.status(log_format),
        "upstream_statuses": log_sql.upstream_statuses(log_format),
        "client": _client(log_format),
        "order_id": log_sql.order_id("target"),
    }
    for role, write in (("user_agent", log_sql.unescaped), ("idempotency_key", str), ("request_id", str)):
        found = log_format.field(role)
        if found is not None:
            columns[role] = write(log_sql.filled(_value(*found, parameters)))
    for role, column, write_number in (("bytes", "bytes", log_sql.whole), ("trace_id", "trace_id", log_sql.trace_id)):
        found = log_format.field(role)
        if found is not None:
            columns[column] = write_number(_value(*found, parameters))
    own = log_format.field("order_id")
    if own is not None:
        columns["order_id"] = f"coalesce({log_sql.filled(f'f{own[0]}')}, {columns['order_id']})"
    deadline, retry = log_format.field("deadline"), log_format.field("retry_after")
    if deadline is not None:
        moment = log_sql.deadline_us(f"f{deadline[0]}", deadline[1], "started_us")
        columns["deadline_at"] = f"make_timestamp({moment})"
    if retry is not None:
        columns["retry_after_s"] = log_sql.retry_after_s(f"f{retry[0]}", retry[1], "stamp_us")
    columns.update(_attempt(log_format, parameters))
    return _with_undecided(log_format, columns, parameters)


def _value(index: int, field: Field, parameters: Parameters) -> str:
    """The field's text, or the part of it that its header's pattern picks."""
    if not field.regex:
        return f"f{index}"
    return f"regexp_extract(f{index}, {parameters.bind(field.regex)}, 1)"


def _client(log_format: LogFormat) -> str:
    """The first address a proxy forwarded, else the peer's, without a port."""
    parts = []
    forwarded, peer = log_format.field("forwarded_for"), log_format.field("client")
    if forwarded is not None:
        parts.append(log_sql.filled(f"trim(split_part(f{forwarded[0]}, ',', 1))"))
    if peer is not None:
        x = f"f{peer[0]}"
        parts.append(log_sql.filled(f"CASE WHEN contains({x}, ',') THEN trim(split_part({x}, ',', 1)) ELSE {x} END"))
    if not parts:
        return "NULL"
    address = f"coalesce({', '.join(parts)})" if len(parts) > 1 else parts[0]
    return log_sql.without_port(address) if log_format.reader == "json" else address


def _attempt(log_format: LogFormat, parameters: Parameters) -> dict[str, str]:
    """attempt and attempt_source. A header with a known base gives attempts from 1, any other the number as sent."""
    found = log_format.field("attempt")
    if found is None:
        return {}
    index, field = found
    number = f"TRY_CAST({_value(index, field, parameters)} AS INTEGER)"
    first = field.base if field.base is not None else 0
    added = 1 - field.base if field.base is not None else 0
    attempt = f"CASE WHEN {number} BETWEEN {first} AND 1000 THEN {number} + {added} END"
    return {
        "attempt": attempt,
        "attempt_source": f"CASE WHEN {attempt} IS NOT NULL THEN {parameters.bind(field.name)} END",
    }


def _with_undecided(log_format: LogFormat, columns: dict[str, str], parameters: Parameters) -> dict[str, str]:
    """Fields that were blank all through the sample: each value goes to the open column whose syntax it has."""
    blanks = [(i, f) for i, f in enumerate(log_format.fields) if f.role == "undecided"]
    wanted = (
        ("attempt", "^[0-9]{1,2}$"),
        ("trace_id", "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$"),
        ("idempotency_key" if log_format.field("idempotency_key") is None else "request_id", "^[A-Za-z0-9_:.=-]{6,}$"),
    )
    for role, syntax in wanted:
        if not blanks or log_format.field(role) is not None:
            continue
        picks = [f"CASE WHEN regexp_matches(f{i}, '{syntax}') THEN f{i} END" for i, _ in blanks]
        text = f"coalesce({', '.join(picks)})"
        if role == "attempt":
            sources = [f"WHEN regexp_matches(f{i}, '{syntax}') THEN {parameters.bind(f.name)}" for i, f in blanks]
            columns["attempt"] = f"TRY_CAST({text} AS INTEGER)"
            columns["attempt_source"] = f"CASE {' '.join(sources)} END"
        else:
            columns[role] = log_sql.trace_id(text) if role == "trace_id" else text
    return columns


def _reason(log_format: LogFormat) -> str:
    """What was seen and what was expected, for a line of `parsed` that is not readable."""
    request = log_format.field("request")
    seen = [("starts_with(line, '#')", "a directive or comment of the file, no request")]
    if request is not None:
        x = f"f{request[0]}"
        seen += [
            (f"stamp_us IS NOT NULL AND {x} IN ('', '-')", "the request is empty: the caller sent none"),
            (
                "stamp_us IS NOT NULL AND method IS NULL",
                'the request is not "METHOD path PROTOCOL" (TLS bytes on a plain port?)',
            ),
        ]
    if log_format.reader == "json":
        seen += [
            ("NOT json_valid(line)", "not a JSON object"),
            ("stamp_us IS NULL", "the object has no time that can be read"),
        ]
        rest = "the object has no method and path, so it is no request"
    else:
        quotes = "length(line) - length(replace(line, '\"', ''))"
        seen += [
            (f"{quotes} = 1", "cut in the middle: no closing quote after the request"),
            (f"({quotes}) % 2 = 1", "cut in the middle: a quoted field is not closed"),
        ]
        if log_format.reader == "columns":
            seen.append(("line IS NOT NULL", "not as many cells as the #Fields line above has names"))
        if r"\[" in log_format.pattern and log_format.reader != "columns":
            seen.append(("NOT contains(line, '[')", "no time in brackets"))
        seen.append(("method IS NOT NULL AND stamp_us IS NULL", "the time is none that can be read"))
        rest = "the fields are not those of the format"
    cases = " ".join(f"WHEN {test} THEN '{words}'" for test, words in seen)
    return f"CASE {cases} ELSE '{rest}' END"
