"""In which zone times without an offset were written: told, seen beside other evidence, or assumed; always said.

A wrong zone moves a file by hours without any row looking wrong, so the choice is made from evidence where there is
any: the window that the other sources of the case cover in UTC.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from forensics.errors import UsageError

_GERMAN = {
    "betrag",
    "währung",
    "waehrung",
    "zeitpunkt",
    "kunde",
    "bestellnr",
    "buchungstag",
    "vorgang",
    "karte",
    "datum",
    "buchungstext",
    "soll",
    "haben",
}
_MIN_SHARE = 0.2
GIVEN = "given"
IN_HEADING = "the heading says so"
IN_COLUMN = "a column names it"
OF_PRODUCT = "the zone in which this product writes"
KNOWN = (GIVEN, IN_HEADING, IN_COLUMN)
"""Reasons that are no guess: what was so read may place other files."""


@dataclass(frozen=True, slots=True)
class Zone:
    """An IANA zone and the reason for it, in words."""

    name: str
    why: str


def check(name: str) -> str:
    """The name of a zone that exists.

    Raises:
        UsageError: it does not.
    """
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as exc:
        raise UsageError(
            f"--zone {name}: there is no such zone", "use an IANA name: Asia/Seoul, Europe/Berlin, UTC"
        ) from exc
    return name


def of_words(words: Sequence[str]) -> Zone | None:
    """The zone that the language of headings or values speaks for, if any."""
    text = " ".join(words)
    names = [unicodedata.name(c, "") for c in text if ord(c) > 0x2E7F]
    if any(n.startswith("HANGUL") for n in names):
        return Zone("Asia/Seoul", "assumed, because the headings are Korean")
    if any(n.startswith(("HIRAGANA", "KATAKANA", "CJK UNIFIED")) for n in names):
        return Zone("Asia/Tokyo", "assumed, because the headings are Japanese")
    if len(_GERMAN & {w.casefold() for w in words}) >= 2:
        return Zone("Europe/Berlin", "assumed, because the headings are German")
    return None


def choose(
    naive: tuple[datetime, datetime] | None, known: Sequence[tuple[datetime, datetime]], language: Zone | None
) -> Zone:
    """The zone for a file whose times carry no offset.

    Args:
        naive: its earliest and latest time as written, or None when unknown.
        known: UTC windows of the other sources, whose times carry their offset (all naive datetimes in UTC).
        language: what the headings speak for.
    """
    fallback = language or Zone("UTC", "assumed: nothing in the file names a zone")
    if naive is None or not known:
        return fallback
    candidates = [fallback, Zone("UTC", "")] + [
        Zone(f"Etc/GMT{-h:+d}", "") for h in (*range(1, 15), *range(-1, -13, -1))
    ]
    scored = [(_overlap(_in_utc(naive, z.name), known), z) for z in candidates]
    best = max(score for score, _ in scored)
    if best < _MIN_SHARE or scored[0][0] >= 0.95 * best:
        if best >= _MIN_SHARE and language is None:
            return Zone("UTC", "so read, the times fall beside those of the other evidence")
        return fallback
    chosen = next(z for score, z in scored if score == best)
    return Zone(
        chosen.name, "so read, the times fall beside those of the other evidence; in no other zone do they as well"
    )


def _in_utc(naive: tuple[datetime, datetime], zone: str) -> tuple[datetime, datetime]:
    try:
        first, last = (t.replace(tzinfo=ZoneInfo(zone)).astimezone(ZoneInfo("UTC")).replace(tzinfo=None) for t in naive)
    except OverflowError:  # year 1 or 9999, by which some systems mean never
        return naive
    return first, last


def _overlap(window: tuple[datetime, datetime], known: Sequence[tuple[datetime, datetime]]) -> float:
    """The largest share that the window and one of the known windows have in common, of the shorter of the two."""
    best = 0.0
    for first, last in known:
        shared = min(window[1], last) - max(window[0], first)
        shorter = max(min(window[1] - window[0], last - first), timedelta(seconds=1))
        best = max(best, shared / shorter)
    return best
