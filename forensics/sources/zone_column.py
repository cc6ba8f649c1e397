"""A zone that a column names: 'PST' or 'Europe/Berlin' beside every time, as PayPal, Adyen and Square write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zoneinfo import ZoneInfo

from forensics.sources.staged import StagedColumn, normal

_HEADINGS = ("timezone", "zeitzone", "tz", "zone")
_ABBREVIATIONS = {
    "America/Los_Angeles": ("PST", "PDT", "PT", "Pacific Time (US & Canada)"),
    "America/Denver": ("MST", "MDT", "MT", "Mountain Time (US & Canada)"),
    "America/Chicago": ("CDT", "CT", "Central Time (US & Canada)"),
    "America/New_York": ("EST", "EDT", "ET", "Eastern Time (US & Canada)"),
    "Europe/London": ("BST", "London"),
    "Europe/Berlin": ("CET", "CEST", "MEZ", "MESZ", "Berlin", "Amsterdam", "Paris", "Madrid", "Rome"),
    "Europe/Helsinki": ("EET", "EEST"),
    "Asia/Tokyo": ("JST", "Tokyo"),
    "Asia/Seoul": ("KST", "Seoul"),
    "Asia/Singapore": ("SGT", "Singapore"),
    "Asia/Hong_Kong": ("HKT", "Hong Kong"),
    "Australia/Sydney": ("AEST", "AEDT", "Sydney"),
    "UTC": ("UTC", "GMT", "Z", "ETC/UTC"),
}
"""Abbreviations that mean one zone in such exports. CST and IST mean several and are left to the user."""
_ZONES = {word.casefold(): zone for zone, words in _ABBREVIATIONS.items() for word in words}


def column_of_zones(columns: Sequence[StagedColumn]) -> StagedColumn | None:
    """The column whose heading says that it names zones."""
    return next((c for c in columns if normal(c.heading) in _HEADINGS), None)


def zone_of(cells: Iterable[str]) -> str | None:
    """The one zone that all cells name; None when they name several, or words that are no zone."""
    found = {_ZONES.get(cell.strip().casefold()) or _iana(cell.strip()) for cell in cells}
    return found.pop() if len(found) == 1 else None


def _iana(name: str) -> str | None:
    if "/" not in name:
        return None
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None
    return name
