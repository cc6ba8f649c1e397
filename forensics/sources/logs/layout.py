"""Lines of the common-log family: [virtual host] address [ident user] [time] "request" status bytes ... and whatever an
operator appended. nginx, Apache, gunicorn, Tomcat, aiohttp, morgan, LiteSpeed and Kong write it.

The layout is what most lines of the sample share, word for word; the roles of what stands after the user agent come
from log_guess.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from forensics.sources.logs import fields as log_fields
from forensics.sources.logs import guess as log_guess
from forensics.sources.logs import items as log_items
from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.fields import Field
from forensics.sources.logs.items import Item
from forensics.sources.logs.strings import stamp_notes

_TOKEN = re.compile(
    r'(?P<label>[A-Za-z_][\w-]*(?:: ?|=))?(?:\[(?P<bracketed>[^\]]*)\]|"(?P<quoted>(?:[^"\\]|\\.)*)")(?= |$)'
    r"|(?P<bare>[^\s\"\[]\S*(?:(?<=,) \S+| : \S+)*)"
)
_STAMPS = (
    (re.compile(r"^\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$"), "clf"),
    (re.compile(r"^\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d\.\d+ [+-]\d{4}$"), "%d/%b/%Y:%H:%M:%S.%f %z"),
    (re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?[+-]\d\d:?\d\d)$"), "iso"),
    (re.compile(r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?$"), "iso_local"),
)
"""How a time in brackets can look, and its unit."""
_STATUS = re.compile(r"^(?:\d{3}|-)$")
_BYTES = re.compile(r"^(?:\d+|-)$")
_ADDRESS = re.compile(r"^(?:(?:\d{1,3}\.){3}\d{1,3}|[0-9a-fA-F]*:[0-9a-fA-F:.]+)(?:, .*)?$")
_METHOD = re.compile(r"^([A-Z]+) ")


@dataclass(frozen=True, slots=True)
class _Word:
    kind: str
    """bare, quoted, bracketed"""
    text: str
    label: str = ""


_Shape = tuple[tuple[str, str], ...]


def words(line: str) -> list[_Word]:
    """A line cut into words, quoted and bracketed parts; a list of several tries is one word."""
    found = []
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup if match.lastgroup != "label" else "quoted"
        for name in ("bracketed", "quoted", "bare"):
            if match[name] is not None:
                kind = name
        found.append(_Word(kind or "bare", match[kind or "bare"] or "", match["label"] or ""))
    return found


def common_log(lines: Sequence[str]) -> LogFormat | None:
    """The layout that most lines of this family share, as a format; None when none is of it."""
    split = [(w, at) for line in lines if (w := words(line)) and (at := _anchor(w)) is not None]
    if not split:
        return None
    shapes = Counter(_shape(w) for w, _ in split)
    shape = max(shapes, key=lambda s: (shapes[s], len(s)))
    same = [(w, at) for w, at in split if _shape(w) == shape]
    at = same[0][1]
    return _format([w for w, a in same if a == at], at, lines)


def _shape(found: Sequence[_Word]) -> _Shape:
    return tuple((w.kind, w.label) for w in found)


def _anchor(found: Sequence[_Word]) -> int | None:
    """Index of the bracketed time when a quoted request, a status and a size follow; None otherwise."""
    for i, word in enumerate(found[:8]):
        if word.kind == "bracketed" and _stamp_unit(word.text):
            rest = [w for w in found[i + 1 :] if not w.text.startswith("(")]
            request = next((j for j, w in enumerate(found[i + 1 :]) if w.kind == "quoted"), None)
            if request is None or request > 3 or len(rest) < 3:
                return None
            after = found[i + 2 + request :]
            fits = len(after) >= 2 and _STATUS.match(after[0].text) and _BYTES.match(after[1].text)
            return i if fits else None
    return None


def _stamp_unit(text: str) -> str:
    return next((unit for test, unit in _STAMPS if test.match(text)), "")


def _format(rows: Sequence[Sequence[_Word]], at: int, lines: Sequence[str]) -> LogFormat:
    request = next(j for j in range(at + 1, len(rows[0])) if rows[0][j].kind == "quoted")
    head = _head(rows, at)
    extras, why, agent = _extras(rows, request + 3, request)
    fields = log_fields.settled(
        (
            *head,
            Field("time", "[time]", _stamp_unit(rows[0][at].text)),
            *(Field("other", f"field {k + 1} after the time") for k in range(request - at - 1)),
            Field("request", "request"),
            Field("status", "status"),
            Field("bytes", "bytes"),
            *extras,
        )
    )
    escapes = any('\\"' in line for line in lines)
    product, format_id, time_is = _product(fields, head, request + 3 + agent, len(rows[0]), escapes, lines)
    items = _items(rows[0], fields)
    optional = _optional_from(items, agent, len(extras))
    segments = () if escapes else log_items.segments(items)
    return LogFormat(
        id=format_id,
        product=product,
        reader="quotes" if segments else "regex",
        fields=fields,
        pattern=log_items.pattern(items, escapes=True, optional_from=optional, loose_end=len(extras) == agent),
        time_is=time_is,
        notes=(*why, *stamp_notes(fields, time_is)),
        segments=segments,
    )


def _head(rows: Sequence[Sequence[_Word]], at: int) -> tuple[Field, ...]:
    """What stands before the time: [virtual host] client [ident user]."""

    def addresses(i: int) -> float:
        return sum(1 for row in rows if _ADDRESS.match(row[i].text)) / len(rows)

    client = next((i for i in range(at) if addresses(i) > 0.5), None)
    if client is None:
        client = 1 if at >= 4 else 0
    fields = [Field("other", f"field {i + 1}") for i in range(at)]
    if at:
        fields[client] = Field("client", "address")
    if at - client >= 3:
        fields[at - 1] = Field("other", "user", "user")
    return tuple(fields)


def _extras(
    rows: Sequence[Sequence[_Word]], start: int, request: int
) -> tuple[tuple[Field, ...], tuple[str, ...], int]:
    """Fields after the size; why; how many of them are the product's own (referer and user agent)."""
    end = len(rows[0])
    methods = tuple((m[1] if (m := _METHOD.match(row[request].text)) else "") for row in rows)
    statuses = tuple(row[request + 1].text for row in rows)
    own = 2 if end - start >= 2 and _referer(rows, start) else 0
    columns = [
        log_guess.Column(
            where=f"field {i - start - own + 1} after the {'user agent' if own else 'size'}",
            values=tuple(row[i].text for row in rows),
            methods=methods,
            statuses=statuses,
            bare=rows[0][i].kind == "bare",
            label=rows[0][i].label.strip(" :="),
        )
        for i in range(start + own, end)
    ]
    guessed, why = log_guess.guess(columns)
    named = (Field("other", "referer"), Field("user_agent", "user agent"))[:own]
    return (*named, *guessed), why, own


def _referer(rows: Sequence[Sequence[_Word]], start: int) -> bool:
    """The next two are quoted, and the first is blank or an address of the web."""
    if any(rows[0][start + k].kind != "quoted" or rows[0][start + k].label for k in (0, 1)):
        return False
    texts = [row[start].text for row in rows]
    like = sum(1 for t in texts if t in ("", "-") or "://" in t or t.startswith("/"))
    blank_agent = all(row[start + 1].text.isdigit() for row in rows)
    return like >= 0.7 * len(texts) and not blank_agent


def _product(
    fields: Sequence[Field], head: Sequence[Field], base: int, width: int, escapes: bool, lines: Sequence[str]
) -> tuple[str, str, str]:
    """Who wrote it: product in words, id, and which moment it stamps."""
    duration = next((f for f in fields if f.role == "duration"), None)
    agent = any(f.role == "user_agent" for f in fields)
    plus = "_plus" if width > base else ""
    name = "combined" if agent else "common"
    if len(head) == 1:
        return "aiohttp access log", f"aiohttp{plus}", "start"
    if sum(1 for f in head if f.unit != "user") > 2:
        return "Apache httpd, with virtual host", f"apache_vhost_{name}{plus}", "start"
    if any("kong_request_id" in f.name for f in fields):
        return "Kong proxy log", "kong_access", "end"
    if (
        (duration and duration.unit == "us")
        or escapes
        or any(re.search(r"\\x(?:[a-f][0-9a-f]|[0-9][a-f])", s) for s in lines)
    ):
        return "Apache httpd", f"apache_{name}{plus}", "start"
    if not agent and not duration:
        return "common log (Apache httpd, Tomcat and others)", f"apache_{name}{plus}", "start"
    if duration and duration.unit == "ms":
        return "common log with milliseconds (Tomcat, morgan)", f"{name}{plus}", "end"
    return "nginx", f"nginx_{name}{plus}", "end"


def _items(row: Sequence[_Word], fields: Sequence[Field]) -> list[Item]:
    """The line as literals and fields: single spaces, quotes, brackets and labels as they stand."""
    items: list[Item] = []
    pending = ""
    for i, (word, field) in enumerate(zip(row, fields, strict=True)):
        opening = {"quoted": '"', "bracketed": "["}.get(word.kind, "")
        closing = {"quoted": '"', "bracketed": "]"}.get(word.kind, "")
        pending += (" " if i else "") + word.label + opening
        if pending:
            items.append(Item(pending))
        items.append(Item("user" if field.unit == "user" else word.kind, field))
        pending = closing
    if pending:
        items.append(Item(pending))
    return items


def _optional_from(items: list[Item], own: int, extras: int) -> int | None:
    """Index of the first item after the user agent's closing quote; None when nothing was appended or nothing is own.

    Lines written before the operator appended fields, or by another server block, end there.
    """
    if not own or extras == own:
        return None
    seen = 0
    for index, item in enumerate(items):
        if item.field is not None and item.field.role == "user_agent":
            seen = index + 1
            break
    literal = items[seen].text
    items[seen : seen + 1] = [Item('"'), Item(literal[1:])]
    return seen + 1
