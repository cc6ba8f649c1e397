"""At what time of day, and in which zone, a provider closes one payout and opens the next."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

_STEP_MIN = 5
_DAY_MIN = 24 * 60
_FEWEST = 2
_SHARE = 0.95
"""Of the closings, those that a time of day must fit."""
_WIDEST_MIN = 180
"""A time of day that is not known better than this is not known."""


@dataclass(frozen=True, slots=True)
class Cut:
    """When payouts close."""

    minute: int
    """Of the day, in the zone."""
    zone: str
    closings: int
    """Closings seen."""

    def words(self) -> str:
        """As a person says it.

        >>> Cut(1410, "Asia/Seoul", 30).words()
        '23:30 Asia/Seoul'
        """
        return f"{self.minute // 60:02}:{self.minute % 60:02} {self.zone}"


def find_cut(payouts: Iterable[tuple[datetime, datetime]], zones: Sequence[str]) -> Cut | None:
    """The time of day that lies between the last row of each payout and the first of the next.

    Args:
        payouts: first and last row of each payout, aware; payouts that overlap say nothing.
        zones: IANA names to try, the preferred one first; that in which most closings fit wins.
    """
    ordered = sorted(payouts)
    closings = [
        (last, first)
        for (_, last), (first, _) in itertools.pairwise(ordered)
        if timedelta(0) <= first - last < timedelta(days=1)
    ]
    if len(closings) < _FEWEST:
        return None
    tried = [(_fits(closings, ZoneInfo(name)), name) for name in zones]
    best = max((max(fits, default=0) for fits, _ in tried), default=0)
    if best < _SHARE * len(closings):
        return None
    fits, zone = next((fits, name) for fits, name in tried if max(fits) == best)
    minutes = [n * _STEP_MIN for n, fit in enumerate(fits) if fit == best]
    if len(minutes) * _STEP_MIN > _WIDEST_MIN:
        return None
    return Cut(min(minutes, key=_roundness), zone, len(closings))


def _fits(closings: Sequence[tuple[datetime, datetime]], zone: ZoneInfo) -> list[int]:
    """For each time of day in steps, how many closings it lies within."""
    fits = [0] * (_DAY_MIN // _STEP_MIN)
    for last, first in closings:
        local = last.astimezone(zone)
        begin = (local.hour * 60 + local.minute) * 60 + local.second
        end = begin + (first - last).total_seconds()
        step_s = _STEP_MIN * 60
        for n in range(-(-begin // step_s), int(end // step_s) + 1):
            fits[n % len(fits)] += 1
    return fits


def _roundness(minute: int) -> tuple[int, int]:
    """Midnight before whole hours before half hours and quarters."""
    parts = (_DAY_MIN, 60, 30, 15, _STEP_MIN)
    return next(place for place, part in enumerate(parts) if minute % part == 0), minute
