"""Formats described by the operator: nginx `log_format` and Apache `LogFormat` strings, as configuration holds them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

from forensics.errors import UsageError
from forensics.sources.logs import fields as log_fields
from forensics.sources.logs import items as log_items
from forensics.sources.logs.catalogue import LogFormat, variables
from forensics.sources.logs.fields import Field
from forensics.sources.logs.items import Item

__all__ = ["LogFormat", "from_log_format", "stamp_notes"]

_HINT = (
    "give the string of your configuration: '$remote_addr - $remote_user [$time_local] \"$request\" $status ...' "
    "(nginx) or '%h %l %u %t \"%r\" %>s %b %D' (Apache)"
)
_NGINX = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_APACHE = re.compile(r"%(?:[!\d,]*)([<>]?)(\{[^}]*\})?(\^?[A-Za-z]{1,2}|%)")


def from_log_format(text: str, *, escapes: bool = False) -> LogFormat:
    """The format that such a string describes.

    Args:
        text: nginx `log_format` or Apache `LogFormat` string, with or without the directive around it.
        escapes: whether nginx writes a quote inside a value as \\" (escape=json), not as \\x22.

    Raises:
        UsageError: no variable in it, no time or no request among its fields, or two fields nothing stands between.
    """
    body = _bare(text)
    if body.startswith("{") and "$" in body:
        found = _json(body)
    elif "$" in body:
        found = _text(_nginx_items(body), "nginx_custom", "nginx, by its log_format", escapes=escapes, time_is="end")
    elif "%" in body:
        ends = "{end:" in body
        found = _text(
            _apache_items(body),
            "apache_custom",
            "Apache httpd, by its LogFormat",
            escapes=True,
            time_is="end" if ends else "start",
        )
    else:
        raise UsageError(f"--log-format {text[:80]!r}: no $variable and no %directive in it", _HINT)
    _check(found, text)
    return found


def _bare(text: str) -> str:
    """The string alone: `log_format main '...' '...';` and `LogFormat "..." combined` lose what is around it."""
    stripped = text.strip()
    if stripped.startswith("log_format"):
        return "".join(re.findall(r"'([^']*)'", stripped)) or stripped
    apache = re.match(r'LogFormat\s+"((?:[^"\\]|\\.)*)"', stripped)
    if apache:
        stripped = apache[1]
    return stripped.replace('\\"', '"') if "%" in stripped else stripped


def _check(found: LogFormat, text: str) -> None:
    roles = {f.role for f in found.fields}
    if "time" not in roles:
        raise UsageError(f"--log-format {text[:80]!r}: no field of it is a time", _HINT)
    if "request" not in roles and not {"method", "target"} <= roles:
        raise UsageError(f"--log-format {text[:80]!r}: no field of it is the request (method and path)", _HINT)


def _nginx_field(name: str) -> Field:
    known = variables("nginx").get(name)
    if known is not None:
        return replace(known, name=f"${name}")
    named = log_fields.header(name) if "_" in name else None
    return replace(named, name=f"${name}") if named else Field("other", f"${name}")


def _nginx_items(body: str) -> list[Item]:
    items: list[Item] = []
    at = 0
    for match in _NGINX.finditer(body):
        if match.start() > at:
            items.append(Item(body[at : match.start()]))
        field = _nginx_field(match[1] or match[2])
        items.append(Item(_surrounding(body, match.start(), match.end(), field), field))
        at = match.end()
    if at < len(body):
        items.append(Item(body[at:]))
    return items


def _surrounding(body: str, start: int, end: int, field: Field) -> str:
    before, after = body[start - 1 : start], body[end : end + 1]
    if before == '"' and after == '"':
        return "quoted"
    if before == "[" and after == "]":
        return "bracketed"
    if field.unit == "user" or field.role == "forwarded_for" or (field.unit == "clf" and before != "["):
        return "user"
    return "bare"


def _apache_field(directive: str, argument: str) -> Field:
    """%h, %>s, %{X-Request-ID}i, %{%Y-%m-%d}t ..."""
    table = variables("apache")
    name = f"%{argument}{directive}"
    known = table.get(f"{argument.casefold()}{directive}") or (None if argument else table.get(directive.lstrip("^")))
    if known is not None:
        return replace(known, name=name)
    inner = argument.strip("{}")
    if directive == "t" and "%" in inner:
        return Field("time", name, re.sub(r"^(?:begin|end):", "", inner))
    if directive in ("i", "o", "n", "e", "^ti", "^to"):
        named = log_fields.header(inner)
        return replace(named, name=name) if named else Field("other", name)
    return Field("other", name)


def _apache_items(body: str) -> list[Item]:
    items: list[Item] = []
    at = 0
    for match in _APACHE.finditer(body):
        literal = body[at : match.start()]
        at = match.end()
        if match[3] == "%":
            items.append(Item(literal + "%"))
            continue
        field = _apache_field(match[3], match[2] or "")
        own_brackets = match[3] == "t" and not match[2]
        if literal or own_brackets:
            items.append(Item(literal + ("[" if own_brackets else "")))
        kind = "bracketed" if own_brackets else _surrounding(body, match.start(), match.end(), field)
        items.append(Item(kind, field))
        if own_brackets:
            items.append(Item("]"))
    if at < len(body):
        items.append(Item(body[at:]))
    return items


def _text(items: list[Item], format_id: str, product: str, *, escapes: bool, time_is: str) -> LogFormat:
    merged = _merged(items)
    for left, right in pairwise(merged):
        if left.field is not None and right.field is not None:
            raise UsageError(
                f"--log-format: nothing stands between {left.field.name} and {right.field.name}: no telling them apart",
                "separate the fields by a space or quotes",
            )
    fields = log_fields.settled(log_items.fields(merged))
    segments = () if escapes else log_items.segments(merged)
    return LogFormat(
        id=format_id,
        product=product,
        reader="quotes" if segments else "regex",
        fields=fields,
        pattern=log_items.pattern(merged, escapes=escapes),
        time_is=time_is,
        notes=stamp_notes(fields, time_is),
        segments=segments,
    )


def _merged(items: list[Item]) -> list[Item]:
    """Literals that stand side by side become one."""
    merged: list[Item] = []
    for item in items:
        if item.field is None and merged and merged[-1].field is None:
            merged[-1] = Item(merged[-1].text + item.text)
        else:
            merged.append(item)
    return merged


def stamp_notes(fields: tuple[Field, ...], time_is: str) -> tuple[str, ...]:
    """What must be said about the stamps of such a format."""
    if time_is == "end" and not any(f.role == "duration" for f in fields):
        return ("a line is dated with the end of its request and carries no duration: started_at is that end",)
    return ()


def _json(body: str) -> LogFormat:
    """`{"time":"$time_iso8601","status":$status}`: the template is an object once its variables are quoted."""
    quoted = re.sub(r'(?<![\w"$}])\$\{?(\w+)\}?(?=\s*[,}\]])', r'"$\1"', body)
    try:
        template = json.loads(quoted)
    except ValueError as exc:
        raise UsageError(f"--log-format: the template is not a JSON object: {exc}", _HINT) from exc
    fields = tuple(_json_fields(template, "$"))
    return LogFormat(
        id="nginx_json",
        product="nginx, by its log_format escape=json",
        reader="json",
        fields=log_fields.settled(fields),
        notes=stamp_notes(fields, "end"),
    )


def _json_fields(template: Any, path: str) -> list[Field]:
    if isinstance(template, dict):
        return [f for k, v in template.items() if '"' not in k for f in _json_fields(v, f'{path}."{k}"')]
    names = [m[1] or m[2] for m in _NGINX.finditer(template)] if isinstance(template, str) else []
    if len(names) == 1:
        return [replace(_nginx_field(names[0]), path=path)]
    targets = [n for n in names if n in ("request_uri", "uri")]
    return [replace(_nginx_field(targets[0]), path=path)] if targets else []
