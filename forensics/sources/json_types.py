"""JSON in which values are wrapped in their types, as MongoDB and DynamoDB export it, made plain."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

_TEXT = r'"(?:[^"\\]|\\.)*"'
_MONGO = re.compile(
    r'\{\s*"\$(?:oid|date|numberDecimal|numberLong|numberInt|numberDouble|uuid)"\s*:\s*'
    rf"({_TEXT}|-?\d[\d.]*)\s*\}}"
)
_MONGO_EPOCH = re.compile(r'\{\s*"\$date"\s*:\s*(?:\{\s*"\$numberLong"\s*:\s*)?"?(-?\d{1,18})"?\s*\}(?:\s*\})?')
_DYNAMO = re.compile(rf'\{{\s*"(?:[SNB]|BOOL)"\s*:\s*({_TEXT}|true|false)\s*\}}')
_DYNAMO_NULL = re.compile(r'\{\s*"NULL"\s*:\s*true\s*\}')
_DYNAMO_MAP = re.compile(r'\{\s*"M"\s*:\s*(\{[^{}]*\})\s*\}')
_DYNAMO_ITEM = re.compile(r'^\s*\{\s*"Item"\s*:\s*(\{.*\})\s*\}\s*$', re.DOTALL)


def plain_writer(head: str) -> Callable[[str], str] | None:
    """What makes the objects of a text plain, by its beginning; None where they are."""
    if _MONGO.search(head):
        return _plain_mongo
    if len(_DYNAMO.findall(head)) > 2 and re.search(r'"Items?"\s*:', head):
        return _plain_dynamo
    return None


def _plain_mongo(text: str) -> str:
    # A date may hold a number that is wrapped itself, and then counts milliseconds.
    return _MONGO.sub(r"\1", _MONGO_EPOCH.sub(_as_time, text))


def _as_time(found: re.Match[str]) -> str:
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(found[1]))
    except OverflowError:
        return found[0]
    return f'"{moment.isoformat()}"'


def _plain_dynamo(text: str) -> str:
    item = _DYNAMO_ITEM.match(text)
    text = _DYNAMO_NULL.sub("null", _DYNAMO.sub(r"\1", item[1] if item else text))
    return _DYNAMO_MAP.sub(r"\1", text)
