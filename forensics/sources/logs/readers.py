"""From a file to the raw text of each field: the readers, one common table expression each.

A file is read as whole lines. `row_number()` over them is the physical line: blank lines come as NULL and count. The
numbered lines are materialised, so that what follows runs on all cores when the order of insertion is not kept.
"""

from __future__ import annotations

import re

from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.named import BROKEN_JSON
from forensics.sources.logs.parameters import Parameters

COLOUR = r"\x1b\[[0-9;]*[A-Za-z]"
"""What a terminal is told about colours."""
_MAX_LINE = 16_000_000  # bytes; longer lines are no log lines, and the engine says so


def raw(log_format: LogFormat, file: str, parameters: Parameters) -> str:
    """WITH clauses ending in `raw(line_no, line, f0, f1, ...)`: one row a non-blank line, fields as text.

    Fields are NULL or '' where the line does not follow the format.
    """
    lines = (
        f"SELECT row_number() OVER () AS line_no, line FROM read_csv({parameters.bind(file)}, "
        "columns = {'line': 'VARCHAR'}, delim = chr(31) || chr(1) || chr(30) || chr(2), quote = '', escape = '', "
        f"header = false, auto_detect = false, strict_mode = false, max_line_size = {_MAX_LINE})"
    )
    stamp = f"{_stamp(log_format, parameters)} AS stamp, " if _dated_outside(log_format) else ""
    bodies = (
        f"SELECT line_no, line, {stamp}{_body(log_format, parameters)} AS body FROM lines "
        "WHERE line IS NOT NULL AND (line > '!' OR NOT regexp_full_match(line, '\\s*'))"
    )
    fields = {"json": _json, "labels": _labels, "quotes": _quotes, "columns": _columns}.get(log_format.reader, _regex)(
        log_format, parameters
    )
    return f"WITH lines AS MATERIALIZED ({lines}), bodies AS ({bodies}), raw AS ({fields})"


def _body(log_format: LogFormat, parameters: Parameters) -> str:
    """The line without what a collector wrote before it, and without the NULs a rotation leaves."""
    wrapper = log_format.wrapper
    if wrapper is not None and wrapper.line:
        inner = f"coalesce(rtrim({_key('line', wrapper.line, parameters)}, chr(10) || chr(13)), line)"
        return _plain(inner, log_format, parameters)
    bare = _plain("CASE WHEN starts_with(line, chr(0)) THEN ltrim(line, chr(0)) ELSE line END", log_format, parameters)
    return f"regexp_replace({bare}, {parameters.bind(wrapper.pattern)}, '')" if wrapper is not None else bare


def _stamp(log_format: LogFormat, parameters: Parameters) -> str:
    """The stamp that a collector put beside the line, as text."""
    wrapper = log_format.wrapper
    if wrapper is None or wrapper.time is None:
        return "CAST(NULL AS VARCHAR)"
    if wrapper.line:
        return _key("line", wrapper.time.path, parameters)
    return f"regexp_extract({_plain('line', log_format, parameters)}, {parameters.bind(wrapper.pattern)}, 1)"


def _plain(text: str, log_format: LogFormat, parameters: Parameters) -> str:
    return f"regexp_replace({text}, {parameters.bind(COLOUR)}, '', 'g')" if log_format.coloured else text


def _key(text: str, key: str, parameters: Parameters) -> str:
    path = parameters.bind(f'$."{key}"')
    return f"CASE WHEN json_valid({text}) THEN json_extract_string({text}, {path}) END"


def _carried(log_format: LogFormat) -> str:
    """The columns that every reader hands on beside the fields."""
    return "line_no, line, stamp" if _dated_outside(log_format) else "line_no, line"


def _dated_outside(log_format: LogFormat) -> bool:
    return log_format.wrapper is not None and log_format.stamp is log_format.wrapper.time


def _names(log_format: LogFormat) -> str:
    return "[" + ", ".join(f"'f{i}'" for i in range(len(log_format.fields))) + "]"


def _regex(log_format: LogFormat, parameters: Parameters) -> str:
    carried = _carried(log_format)
    columns = ", ".join(f"s.f{i} AS f{i}" for i in range(len(log_format.fields)))
    return (
        f"SELECT {carried}, {columns} FROM (SELECT {carried}, "
        f"regexp_extract(body, {parameters.bind(log_format.pattern)}, {_names(log_format)}) AS s FROM bodies)"
    )


def _json(log_format: LogFormat, parameters: Parameters) -> str:
    mended = "body"
    for pattern, by in BROKEN_JSON:
        mended = f"regexp_replace({mended}, {parameters.bind(pattern)}, {parameters.bind(by)}, 'g')"
    carried = _carried(log_format)
    paths = [f.path for f in log_format.fields]
    columns = ", ".join(f"v[{i + 1}] AS f{i}" for i in range(len(paths)))
    return (
        f"SELECT {carried}, {columns} FROM (SELECT {carried}, "
        f"CASE WHEN json_valid(body) THEN json_extract_string(body, {parameters.bind(paths)}) "
        f"WHEN json_valid({mended}) THEN json_extract_string({mended}, {parameters.bind(paths)}) END AS v "
        "FROM bodies)"
    )


def _labels(log_format: LogFormat, parameters: Parameters) -> str:
    columns = ", ".join(
        f"trim(regexp_extract(body, {parameters.bind(log_format.pattern.replace('@label@', re.escape(f.path)))}, 1), "
        f"'\"') AS f{i}"
        for i, f in enumerate(log_format.fields)
    )
    return f"SELECT {_carried(log_format)}, {columns} FROM bodies"


def _columns(log_format: LogFormat, parameters: Parameters) -> str:
    """Cells by the names of the last #Fields line above; a row with fewer cells than names is torn."""
    places = [f"list_position(names, {parameters.bind(f.path)})" for f in log_format.fields]
    texts = ", ".join(
        f"CASE WHEN len(cells) >= len(names) THEN trim(cells[{place}], '\"') END AS f{i}"
        for i, place in enumerate(places)
    )
    cells = f"regexp_extract_all(body, {parameters.bind(log_format.pattern)})"
    heading = "CASE WHEN starts_with(line, '#Fields:') THEN substr(line, 9) END"
    return (
        f"SELECT line_no, line, {texts} FROM (SELECT line_no, line, "
        f"CASE WHEN NOT starts_with(line, '#') THEN {cells} END AS cells, "
        f"regexp_extract_all(last_value({heading} IGNORE NULLS) OVER (ORDER BY line_no), '\\S+') AS names FROM bodies)"
    )


def _quotes(log_format: LogFormat, parameters: Parameters) -> str:
    """Cut at the quotes where a line has as many as the format; the pattern for all other lines.

    nginx writes a quote inside a field as \\x22, so nearly every line can be cut. Words outside the quotes are cut at
    single spaces. What a cut line must look like is checked, so that both ways give the same fields.
    """
    outside = {n: s for n, s in enumerate(log_format.segments) if n % 2 == 0}
    cuts = "".join(f", string_split(p[{n + 1}], ' ') AS w{n}" for n, s in outside.items() if s)
    checks = [f"len(p) = {len(log_format.segments)}", "NOT contains(body, '\\\"')"]
    texts: dict[int, str] = {}
    for n, segment in enumerate(log_format.segments):
        if n % 2:
            texts[segment[0]] = f"p[{n + 1}]"
        else:
            _outside(log_format, n, segment, texts, checks)
    columns = ", ".join(f"CASE WHEN q THEN {texts[i]} ELSE s.f{i} END AS f{i}" for i in range(len(log_format.fields)))
    slow = f"regexp_extract(body, {parameters.bind(log_format.pattern)}, {_names(log_format)})"
    return (
        f"SELECT {_carried(log_format)}, {columns} FROM (SELECT *, CASE WHEN NOT q THEN {slow} END AS s FROM ("
        f"SELECT *, coalesce({' AND '.join(checks)}, false) AS q FROM (SELECT *{cuts} FROM ("
        "SELECT *, string_split(body, '\"') AS p FROM bodies))))"
    )


def _outside(log_format: LogFormat, n: int, segment: tuple[int, ...], texts: dict[int, str], checks: list[str]) -> None:
    """Adds the texts and checks of one piece outside the quotes: a blank at either side, words between."""
    first, last = n == 0, n == len(log_format.segments) - 1
    if not segment:
        checks.append(f"p[{n + 1}] = {_literal_between(first, last)}")
        return
    at = 1 if first else 2  # a piece that does not begin the line begins with a space, so with an empty word
    for index in segment:
        if index < 0:
            checks.append(f"w{n}[{at}] = '-'")
            at += 1
            continue
        field = log_format.fields[index]
        if field.unit == "clf":
            texts[index] = f"w{n}[{at}] || ' ' || w{n}[{at + 1}]"
            checks.append(
                f"starts_with(w{n}[{at}], '[') AND NOT contains(w{n}[{at}], ']') "
                f"AND strpos(w{n}[{at + 1}], ']') = length(w{n}[{at + 1}])"
            )
            at += 2
            continue
        texts[index] = f"w{n}[{at}]"
        if field.unit != "user":
            checks.append(f"w{n}[{at}] <> ''")
        at += 1
    if not last:
        checks.append(f"w{n}[{at}] = ''")
        at += 1
    if not first:
        checks.append(f"w{n}[1] = ''")
    checks.append(f"len(w{n}) = {at - 1}")


def _literal_between(first: bool, last: bool) -> str:
    return "''" if first or last else "' '"
