"""What kind of fault the reason of a dead letter speaks of, from the status or the words in it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

UNKNOWN = "unknown"
# A status stands first in the text, or after a word for it; other numbers of three digits are none.
_STATUS = re.compile(
    r"(?:^\W*|\b(?:http(?:/\d(?:\.\d)?)?|status(?: ?code)?|code|error|response)\W{0,3})([1-5]\d\d)\b", re.I
)
_VARYING = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{4,}\b|\b(?=[a-f]*\d)[0-9a-f]{12,}\b|\b\d+(?:[.,:/-]\d+)*", re.IGNORECASE
)
_LONGEST = 100


@dataclass(frozen=True, slots=True)
class _Family:
    id: str
    says: str
    statuses: re.Pattern[str] | None
    words: re.Pattern[str]


@cache
def _families() -> tuple[_Family, ...]:
    text = (files("forensics.analysis") / "data" / "reasons.toml").read_text(encoding="utf-8")
    return tuple(
        _Family(
            entry["id"],
            entry["says"],
            re.compile("|".join(entry["statuses"])) if entry["statuses"] else None,
            re.compile("|".join(entry["words"]), re.IGNORECASE),
        )
        for entry in tomllib.loads(text)["family"]
    )


@cache
def family_of(reason: str | None) -> str:
    """done | never_run | exhausted | refused | system | data, or unknown.

    >>> family_of("HTTP 503: upstream connect error"), family_of("400: unknown currency"), family_of(None)
    ('system', 'data', 'unknown')
    """
    if not reason or not reason.strip():
        return UNKNOWN
    text = reason.strip()[:2000]
    status = _STATUS.search(text)
    if status:
        for family in _families():
            if family.statuses and family.statuses.fullmatch(status.group(1)):
                return family.id
    return next((f.id for f in _families() if f.words.search(text)), UNKNOWN)


def family_words(family: str) -> str:
    """What a family says, in words."""
    return next((f.says for f in _families() if f.id == family), "no reason is given, or none that can be read")


def kind_of_reason(reason: str | None) -> str:
    """A reason without what differs from letter to letter: its first line, numbers and ids left out, cut.

    >>> kind_of_reason("timeout of 10000ms exceeded")
    'timeout of #ms exceeded'
    """
    if not reason or not reason.strip():
        return ""
    line = reason.strip().splitlines()[0]
    status = _STATUS.search(line)
    kept = status.span(1) if status else None
    return _VARYING.sub(lambda m: m.group() if m.span() == kept else "#", line)[:_LONGEST]
