"""SQL that turns the raw text of fields into the columns of `requests`: one expression a column, built from roles.

Every expression takes any text whatever and gives NULL where it means nothing; none can raise.
"""

from __future__ import annotations

from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.fields import Field
from forensics.sources.logs.stamps import epoch_us

_DAY_US = 86_400_000_000

REQUEST_LINE = r"^([A-Za-z][A-Za-z0-9_-]*) +(?:(\S.*?) +HTTP/[0-9][0-9.]*|((?:/|\*|[A-Za-z]+://)\S*))$"
"""METHOD target PROTOCOL; without a protocol only for what is a path beyond doubt."""
_METHOD = "^[A-Za-z][A-Za-z0-9_-]*$"
_ID_SEGMENT = (
    r"[0-9]+|[0-9a-fA-F]{8,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|.*[0-9]{3}.*"
)
"""A segment of a path that names one thing: numbers, hex, UUIDs, tokens with three digits in a row. `v1`, `oauth2` and
`3ds` are none."""

_PLAIN_PATH = "(?:/(?:[a-z_-]*[g-z_-][a-z_-]*|[a-z]{0,6}[g-z][0-9]))+"
"""Segments that name no one thing: words with a letter that is no hex digit, and such as v1."""


def filled(x: str) -> str:
    """The text, or NULL where it is blank."""
    return f"CASE WHEN {x} NOT IN ('', '-') THEN {x} END"


def whole(x: str) -> str:
    """A whole number that may be huge, or NULL."""
    return f"TRY_CAST({x} AS BIGINT)"


def _micros(x: str, per_unit: str) -> str:
    return f"TRY_CAST(round(TRY_CAST({x} AS DOUBLE) * {per_unit}) AS BIGINT)"


_PER_UNIT = {"s": "1000000", "ms": "1000", "us": "1", "ns": "0.001"}
_SUFFIXES = (("ns", "0.001"), ("micros", "1"), ("msecs", "1000"), ("ms", "1000"), ("us", "1"), ("µs", "1"))


def duration_us(log_format: LogFormat) -> str:
    """Microseconds of a request, the sum of its parts; NULL when not said, negative or longer than a month."""
    parts = [_duration(f"f{i}", f) for i, f in enumerate(log_format.fields) if f.role == "duration"]
    if not parts:
        return "CAST(NULL AS BIGINT)"
    bounded = [f"CASE WHEN {p} BETWEEN 0 AND {31 * _DAY_US} THEN {p} END" for p in parts]
    return " + ".join(bounded)


def _duration(x: str, field: Field) -> str:
    if field.unit != "text":
        return _micros(x, _PER_UNIT.get(field.unit, "1000000"))
    number = f"regexp_extract({x}, '^[0-9]+(?:[.][0-9]+)?')"
    cases = " ".join(f"WHEN ends_with({x}, '{s}') THEN {_micros(number, u)}" for s, u in _SUFFIXES)
    return f"CASE {cases} ELSE {_micros(number, '1000000')} END"


def request_words(log_format: LogFormat) -> str:
    """The request line cut at its spaces; NULL for formats that have method and target apart."""
    found = log_format.field("request")
    return f"string_split(f{found[0]}, ' ')" if found is not None else "NULL"


_PLAIN = (
    "len(words) = 3 AND words[1] IN ('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS') AND words[2] <> '' "
    "AND words[3] IN ('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/2', 'HTTP/3.0', 'HTTP/3')"
)
"""Nearly all requests, and cheap to see; whatever else goes through REQUEST_LINE, which reads these the same."""


def method(log_format: LogFormat) -> str:
    """The method, or NULL when the request is none. Over `words`."""
    found = log_format.field("request")
    if found is not None:
        slow = f"regexp_extract(f{found[0]}, '{REQUEST_LINE}', 1)"
        return f"CASE WHEN {_PLAIN} THEN words[1] ELSE nullif({slow}, '') END"
    found = log_format.field("method")
    return f"CASE WHEN regexp_matches(f{found[0]}, '{_METHOD}') THEN f{found[0]} END" if found else "NULL"


def target(log_format: LogFormat) -> str:
    """What was asked for, with its query string; NULL when the request is none. Over `words`."""
    found = log_format.field("request")
    if found is not None:
        x = f"f{found[0]}"
        slow = f"regexp_extract({x}, '{REQUEST_LINE}', 2) || regexp_extract({x}, '{REQUEST_LINE}', 3)"
        return f"CASE WHEN {_PLAIN} THEN words[2] ELSE nullif({slow}, '') END"
    found = log_format.field("target")
    if found is None:
        return "NULL"
    base = filled(f"f{found[0]}")
    query = log_format.field("query")
    if query is None:
        return base
    asked = f"ltrim(f{query[0]}, '?')"
    return f"{base} || CASE WHEN coalesce({asked}, '') NOT IN ('', '-') THEN '?' || {asked} ELSE '' END"


def path(x: str) -> str:
    """A target without scheme, host and query; / when nothing is left. Most targets are nothing but a path."""
    is_path = f"starts_with({x}, '/') AND NOT contains({x}, '?') AND NOT contains({x}, '\\')"
    absolute = "^[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*"
    bare = f"CASE WHEN starts_with({x}, '/') THEN {x} ELSE regexp_replace({x}, '{absolute}', '') END"
    cut = f"split_part({bare}, '?', 1)"
    rest = unescaped(f"coalesce(nullif({cut}, ''), '/')")
    return f"CASE WHEN {is_path} THEN {x} ELSE {rest} END"


def without_port(x: str) -> str:
    """An address alone: `203.0.113.7:51122` and `[2001:db8::17]:443` lose the port."""
    return rf"regexp_replace(regexp_replace({x}, '^((?:\d+\.){{3}}\d+):\d+$', '\1'), '^\[([^\]]*)\](?::\d+)?$', '\1')"


def unescaped(x: str) -> str:
    r"""nginx's and Apache's \xHH turned back into text, where all of it is UTF-8; else as it stands."""
    return (
        rf"CASE WHEN contains({x}, '\x') THEN coalesce(TRY(decode(TRY_CAST({x} AS BLOB))), {x}) "
        rf"""WHEN contains({x}, '\"') THEN replace({x}, '\"', '"') ELSE {x} END"""
    )


def route(x: str) -> str:
    """A path with the segments that name one thing folded to {id}.

    Most paths are plain words, or end in one number; to see that costs a third of taking them apart.
    """
    numbered = f"{x}[-1] BETWEEN '0' AND '9' AND regexp_full_match({x}, '{_PLAIN_PATH}/[0-9]+')"
    return (
        f"CASE WHEN {numbered} THEN regexp_replace({x}, '[0-9]+$', '{{id}}') "
        f"WHEN regexp_full_match({x}, '{_PLAIN_PATH}') THEN {x} ELSE {_folded(x)} END"
    )


def _folded(x: str) -> str:
    return (
        f"array_to_string(list_transform(string_split({x}, '/'), "
        f"lambda s: CASE WHEN regexp_full_match(s, '{_ID_SEGMENT}') "
        "OR (length(s) >= 16 AND regexp_matches(s, '[0-9]')) THEN '{id}' ELSE s END), '/')"
    )


def order_id(x: str) -> str:
    """The order a target names: the segment after orders/, or a parameter order, order_id, orderNo ...; or NULL."""
    after = r"/[Oo]rders?/([^/?#]*[0-9][^/?#]*)"
    asked = r"(?i)[?&]order(?:[_-]?(?:id|no|number|key))?=([^&#]+)"
    return (
        f"CASE WHEN contains({x}, 'rder') THEN coalesce(nullif(regexp_extract({x}, '{after}', 1), ''), "
        f"CASE WHEN contains({x}, '?') THEN nullif(regexp_extract({x}, '{asked}', 1), '') END) END"
    )


def trace_id(x: str) -> str:
    """The trace's id within traceparent, X-Amzn-Trace-Id, projects/p/traces/ID; any other text as it stands."""
    return (
        rf"CASE WHEN regexp_matches({x}, '^[0-9a-f][0-9a-f]-[0-9a-f]{{32}}-') THEN split_part({x}, '-', 2) "
        rf"WHEN contains({x}, 'Root=') THEN regexp_extract({x}, 'Root=([^;]*)', 1) "
        rf"WHEN contains({x}, '/traces/') THEN regexp_extract({x}, '/traces/(.*)$', 1) ELSE {filled(x)} END"
    )


def deadline_us(x: str, field: Field, started: str) -> str:
    """When the caller gives up, as microseconds since 1970: an instant as it stands, or a wait added to the start."""
    wait = f"TRY_CAST({x} AS DOUBLE)"
    if field.unit == "grpc":
        scale = {"H": 3.6e9, "M": 6e7, "S": 1e6, "m": 1e3, "u": 1.0, "n": 0.001}
        number = f"TRY_CAST(regexp_extract({x}, '^([0-9]{{1,8}})[HMSmun]$', 1) AS DOUBLE)"
        cases = " ".join(f"WHEN ends_with({x}, '{unit}') THEN {number} * {factor}" for unit, factor in scale.items())
        after_us = f"TRY_CAST(round(CASE {cases} END) AS BIGINT)"
        return f"CASE WHEN {after_us} BETWEEN 0 AND 100000000000000 THEN {started} + {after_us} END"
    per = "1000" if field.unit == "ms" or "ms" in field.name.casefold() else "1000000"
    after = f"CASE WHEN {wait} BETWEEN 0 AND 100000000 THEN {started} + CAST(round({wait} * {per}) AS BIGINT) END"
    if field.unit in ("ms", "s"):
        return after
    iso = rf"regexp_matches({x}, '^\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.]\d+)?(?:Z|[+-]\d\d:?\d\d)$')"
    return (
        f"CASE WHEN {wait} > 100000000 THEN {epoch_us(x)} "
        f"WHEN {iso} THEN epoch_us(TRY_CAST({x} AS TIMESTAMPTZ)) ELSE {after} END"
    )


def retry_after_s(x: str, field: Field, stamp: str) -> str:
    """Seconds to wait: a number, or an HTTP date less the stamp; NULL when it is neither."""
    number = f"TRY_CAST({x} AS DOUBLE)" + (" / 1000" if field.unit == "ms" else "")
    date = f"epoch_us(try_strptime({x}, '%a, %d %b %Y %H:%M:%S GMT'))"
    return (
        f"CASE WHEN {number} BETWEEN 0 AND 1e9 THEN {number} "
        f"WHEN {date} IS NOT NULL THEN greatest(0, ({date} - {stamp}) / 1000000) END"
    )


def status(log_format: LogFormat) -> str:
    """The status; 499 when there is none because the caller hung up first."""
    found = log_format.field("status")
    if found is None:
        return "CAST(NULL AS INTEGER)"
    number = f"TRY_CAST(f{found[0]} AS INTEGER)"
    flags = log_format.field("flags")
    gone = f"regexp_matches(f{flags[0]}, '{log_format.hangup}')" if flags else "true" if log_format.hangup else "false"
    return f"CASE WHEN {number} BETWEEN 100 AND 999 THEN {number} WHEN {number} IS NOT NULL AND {gone} THEN 499 END"


def upstream_statuses(log_format: LogFormat) -> str:
    """Statuses of the tries behind this hop; where a product only counts its retries, a - for each that failed."""
    found = log_format.field("upstream_status")
    if found is not None:
        return filled(f"f{found[0]}")
    found = log_format.field("upstream_retries")
    if found is None:
        return "CAST(NULL AS VARCHAR)"
    index, field = found
    if field.unit == "array":
        retries = f"(CASE WHEN json_valid(f{index}) THEN CAST(json_array_length(f{index}) AS INTEGER) END - 1)"
    else:
        retries = f"(TRY_CAST(f{index} AS INTEGER) - {1 if field.unit == 'tries' else 0})"
    last = f"coalesce(CAST({status(log_format)} AS VARCHAR), '-')"
    return f"CASE WHEN {retries} BETWEEN 0 AND 100 THEN repeat('-, ', {retries}) || {last} END"
