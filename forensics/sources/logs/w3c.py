"""W3C extended logs (IIS, CloudFront, NetScaler ...): the columns are what the last #Fields line above a row says.

The line comes again after each restart, and the columns may change with it; so rows are read by column name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from forensics.sources.logs import fields as log_fields
from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.fields import Field
from forensics.sources.logs.strings import stamp_notes

_ROLES = {
    "date": "date", "time": "clock", "c-ip": "client", "cs-method": "method", "cs-uri-stem": "target",
    "cs-uri": "target", "cs-uri-query": "query", "sc-status": "status", "c-status": "status",
    "sc-bytes": "bytes", "cs(user-agent)": "user_agent", "time-taken": "duration",
    "x-edge-request-id": "request_id", "x-forwarded-for": "forwarded_for",
}  # fmt: skip
_CELL = r'"(?:[^"]|"")*"|[^\s"]\S*'
_TAB_CELL = r"[^\t]+"


def w3c_log(lines: Sequence[str]) -> LogFormat | None:
    """The format of a log with #Fields lines in its sample; None without, or when rows lack date, method or path."""
    tables: list[tuple[list[str], list[str]]] = []
    for line in lines:
        if line.startswith("#Fields:"):
            tables.append((line.removeprefix("#Fields:").split(), []))
        elif tables and not line.startswith("#"):
            tables[-1][1].append(line)
    rows = [row for _, own in tables for row in own]
    if not rows:
        return None
    cell = _TAB_CELL if 2 * sum(1 for row in rows if "\t" in row) > len(rows) else _CELL
    values: dict[str, list[str]] = {}
    for names, own in tables:
        for row in own:
            for name, value in zip(names, re.findall(cell, row), strict=False):
                values.setdefault(name, []).append(value)
    found = [f for name, seen in values.items() if (f := _field(name, seen, tuple(values))) is not None]
    fields = tuple(f for f in log_fields.settled(tuple(found)) if f.role != "other")
    if not {"date", "clock", "method", "target"} <= {f.role for f in fields}:
        return None
    return LogFormat(
        id="w3c",
        product="W3C extended log (IIS and others)",
        reader="columns",
        fields=fields,
        pattern=cell,
        time_is="end",
        notes=stamp_notes(fields, "end"),
        hangup="." if any(name.startswith("x-edge-") for name in values) else "",
    )


def _field(name: str, values: Sequence[str], names: Sequence[str]) -> Field | None:
    role = _ROLES.get(name.casefold())
    if role == "duration":
        # IIS writes milliseconds; CloudFront and NetScaler write seconds under the same name
        seconds = any("." in v for v in values) or any(n.startswith(("x-edge-", "sc-servicename")) for n in names)
        return Field("duration", name, "s" if seconds else "ms", path=name)
    if role is not None:
        return Field(role, name, path=name)
    named = log_fields.header(name)
    return Field(named.role, name, named.unit, name, named.regex, named.base) if named else None
