"""What a named field of an access log means: headers, variables, JSON keys and column names, by name alone.

A name is folded (lower case, "_" read as "-") before it is compared. Names that are the same header seen by different
products, `$http_x_retry_attempt`, `request_X-Retry-Attempt`, `request.headers.x-retry-attempt`, come out as one.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

ROLES = (
    "time", "date", "clock", "duration", "request", "method", "target", "query", "status", "bytes", "client",
    "forwarded_for", "user_agent", "upstream_status", "upstream_retries", "attempt", "idempotency_key", "request_id",
    "trace_id", "deadline", "retry_after", "order_id", "flags", "undecided", "other",
)  # fmt: skip
"""Everything a field can be. `time` is a whole stamp, `date` and `clock` two halves of one. `undecided` was blank all
through the sample: its values are dealt with one by one. `other` is read past."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a log line and its meaning."""

    role: str
    """One of ROLES."""
    name: str
    """As the source calls it, or where it stands: "field 2 after the user agent"."""
    unit: str = ""
    """time: clf, clf_local, iso, epoch, http; duration: s, ms, us, ns, text ("184ms"); deadline: epoch, ms, s, grpc;
    retry_after: s, ms."""
    path: str = ""
    """Where a reader by name finds it: a JSON path, or a label."""
    regex: str = ""
    """Group 1 of its first match is the value; empty: the whole field."""
    base: int | None = None
    """attempt: the number a first try carries; None: learned from the whole column after loading."""


@dataclass(frozen=True, slots=True)
class _Header:
    name: str
    carries: str
    unit: str
    regex: str
    base: int | None


@cache
def _headers() -> dict[str, _Header]:
    """Known headers by folded name, from data/attempt_headers.toml."""
    text = files("forensics.sources").joinpath("data/attempt_headers.toml").read_text(encoding="utf-8")
    records: list[dict[str, Any]] = tomllib.loads(text)["header"]
    return {
        fold(r["name"]): _Header(
            r["name"], r["carries"], r.get("unit", ""), r.get("regex", ""), r.get("counts_from")
        )
        for r in records
    }  # fmt: skip


def fold(name: str) -> str:
    """A name for comparison: `X_Retry-Attempt` and `x-retry-attempt` are one."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)  # requestTime, IdempotencyKey
    return re.sub(r"[-_\s]+", "-", spaced.strip().casefold()).strip("-")


_WRAPPING = re.compile(
    r"^(?:\$|sent-http-|upstream-http-|http-|request-headers?-|req-headers?-|response-headers?-|resp-headers?-"
    r"|headers?-|request-|req-|downstream-|origin-|cs-|sc-|metadata-)"
)
_TRY = re.compile(
    r"(?:^|-)(?:attempts?|retr(?:y|ies)|tries|try)(?:-(?:count|no|num|number|attempts?|index|n))?$"
)  # fmt: skip
_NOT_TRY = re.compile(r"(?:^|-)(?:max|is|should|can|allow|timeout|upstream|enabled|original|no)-")
_KEY = re.compile(r"idempot|(?:^|-)idem(?:-?key)?$|dedup(?:lication)?-?(?:id|key|token)?$")
_REQUEST_ID = re.compile(r"(?:^|-)(?:req(?:uest)?-?id|rid|correlation-?id|unique-?id|invocation-?id)$")
_TRACE = re.compile(r"(?:^|-)(?:traceparent|trace-?id|trace)$")
_ORDER = re.compile(r"^(?:x-)?order-?(?:id|no|number|ref|key)$|^order$")


def _coats(name: str) -> tuple[str, ...]:
    """The name folded, then without what products put before a header's name, one coat after the other."""
    plain = re.sub(r"[-_\s]+", "-", name.strip().casefold()).strip("-")  # PayPal is one word
    forms = [plain, fold(name)]
    for _ in range(3):
        forms.append(_WRAPPING.sub("", forms[-1], count=1))
    return tuple(forms)


def header(name: str) -> Field | None:
    """The meaning of a header (or a field named after one); None when it says nothing about tries."""
    for form in _coats(name):
        known = _headers().get(form)
        if known is not None:
            return Field(known.carries, name, known.unit, regex=known.regex, base=known.base)
    return _by_likeness(name, fold(name))


def _by_likeness(name: str, folded: str) -> Field | None:
    """Home-made names: `retry_no`, `attempt`, `idem_key`, `payment-deadline-ms`."""
    if "replay" in folded or "max" in folded.split("-"):
        return None
    if "deadline" in folded:
        return Field("deadline", name, "s" if folded.endswith(("-s", "-sec", "-seconds")) else "epoch")
    if re.search(r"retry-after", folded):
        return Field("retry_after", name, "ms" if folded.endswith("ms") else "s")
    for pattern, role in ((_KEY, "idempotency_key"), (_TRACE, "trace_id"), (_REQUEST_ID, "request_id")):
        if pattern.search(folded):
            return Field(role, name)
    if _TRY.search(folded) and not _NOT_TRY.search(folded):
        return Field("attempt", name)
    return Field("order_id", name) if _ORDER.search(folded) else None


_PREFERRED_IDS = ("amz-sdk-invocation-id", "x-ms-client-request-id", "x-request-id", "x-correlation-id")


def settled(fields: tuple[Field, ...]) -> tuple[Field, ...]:
    """The same fields with one owner a role: of several request ids the one the caller sends stays one.

    `duration`, `client`, `status` and the like keep their first field too; `undecided` may repeat.
    """
    owners: dict[str, int] = {}
    for index, field in enumerate(fields):
        held = owners.get(field.role)
        if held is None or rank(field) < rank(fields[held]):
            owners[field.role] = index
    return tuple(
        field if field.role in ("other", "undecided") or owners[field.role] == index else replace(field, role="other")
        for index, field in enumerate(fields)
    )


def rank(field: Field) -> int:
    """Lower is more telling, among fields of one role."""
    forms = _coats(field.name)
    if field.role == "request_id":
        return next((i for i, known in enumerate(_PREFERRED_IDS) if known in forms), len(_PREFERRED_IDS))
    if field.role == "trace_id":
        return 0 if "traceparent" in forms else 1
    if field.role == "attempt":
        return 0 if field.base is not None else 1
    if field.role == "deadline":  # of the whole call before that of one try
        return int("per-try" in forms[0])
    return 0
