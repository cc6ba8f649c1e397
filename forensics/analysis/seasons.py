"""What a log's own earlier days say of an hour: the ordinary swing, and which day is comparable."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DAY_S = 86400.0
_SMOOTH_S = 1800.0
_WEEK = 7
_WORKDAYS = 5
_MONTH_END_DAYS = 2
_EPOCH = date(1970, 1, 1)
_HOUR_S = 3600.0
_ODD = 0.6
"""A day with fewer requests than this share of its siblings', or more than its inverse, is a day of its own kind."""
_FEWEST_SIBLINGS = 2
_FEWEST_REQUESTS = 200
_FEWEST_HOURS = 12


def odd_days(requests: Floats, step_s: float, first: int) -> dict[int, float]:
    """Whole days that are not like their siblings, as a public holiday is: days since 1970 and the share they have.

    Siblings are the other days of the same weekday; where there are fewer than two, all of the same kind (working day,
    weekend). The share is the median of the hours', so that an incident of some hours makes no day odd.

    Args:
        requests: counts per bin.
        step_s: length of a bin, seconds; longer than an hour, nothing is told.
        first: number of the first bin since 1970, in the time by which days are cut.
    """
    per_hour = round(_HOUR_S / step_s)
    if per_hour < 1:
        return {}
    lead = -first % (24 * per_hour)
    days = (len(requests) - lead) // (24 * per_hour)
    if days < _FEWEST_SIBLINGS + 1:
        return {}
    hours = requests[lead : lead + days * 24 * per_hour].reshape(days, 24, per_hour).sum(axis=2)
    start = (first + lead) // (24 * per_hour)
    weekdays = np.array([_weekday(start + day) for day in range(days)])
    found = {}
    for day in range(days):
        share = _share_of_siblings(hours, weekdays, day)
        if share is not None and not _ODD <= share <= 1 / _ODD:
            found[start + day] = share
    return found


def _share_of_siblings(hours: Floats, weekdays: NDArray[np.int64], day: int) -> float | None:
    others = np.arange(len(weekdays)) != day
    same_kind = (weekdays >= _WORKDAYS) == (weekdays[day] >= _WORKDAYS)
    for alike in (others & (weekdays == weekdays[day]), others & same_kind):
        if alike.sum() >= _FEWEST_SIBLINGS:
            middle = np.median(hours[alike], axis=0)
            busy = middle > 0
            if middle.sum() < _FEWEST_REQUESTS or busy.sum() < _FEWEST_HOURS:
                return None
            return float(np.median(hours[day][busy] / middle[busy]))
    return None


def ordinary_swing(requests: Floats, step_s: float, first: int, odd: Collection[int] = ()) -> Floats:
    """How many requests each bin would have by the same hour of other days, relative to their mean; ones without them.

    Days of the same kind (working day, weekend) are used where there are others. The median of them is taken, so that
    one other day's incident does not become the rule, and scaled to the level of the day itself.

    Args:
        requests: counts per bin.
        step_s: length of a bin, seconds; a whole number of bins makes a day.
        first: number of the first bin since 1970, in the time by which days are cut.
        odd: days since 1970 that say nothing of others.
    """
    per_day = round(DAY_S / step_s)
    if per_day < 1 or len(requests) < 2 * per_day:
        return np.ones(len(requests))
    lead = first % per_day
    days = -(-(lead + len(requests)) // per_day)
    table = np.full(days * per_day, np.nan)
    table[lead : lead + len(requests)] = requests
    smooth = _smoothed(table.reshape(days, per_day), max(1, round(_SMOOTH_S / step_s)))
    weekend = np.array([_weekday(first // per_day + day) >= _WORKDAYS for day in range(days)])
    usual = np.array([first // per_day + day not in odd for day in range(days)])
    swing = np.vstack([_others(smooth, weekend, usual, day) for day in range(days)])
    flat = swing.reshape(-1)[lead : lead + len(requests)]
    mean = float(np.nanmean(flat)) or 1.0
    # A night of nothing must not divide by nothing.
    return np.maximum(np.nan_to_num(flat / mean, nan=1.0), 0.02)


def comparable_day(start: int, step_s: float, days: int, holidays: Collection[int] = ()) -> Iterator[tuple[int, str]]:
    """How many days to go back for the same hours, best first, with what makes them comparable.

    A holiday is comparable with holidays alone.

    Args:
        start: first bin of the incident, counted since 1970.
        step_s: length of a bin, seconds.
        days: whole days of log before it.
        holidays: days since 1970 that are known to be some.
    """
    today = int(start * step_s // DAY_S)
    if today in holidays:
        yield from ((back, "holiday") for back in range(1, days + 1) if today - back in holidays)
        return
    month_end = _to_last_month_end(_EPOCH + timedelta(days=today))
    if month_end is not None and month_end <= days:
        yield month_end, "month_end"
    for back in range(_WEEK, days + 1, _WEEK):
        yield back, "same_weekday"
    alike = [b for b in range(1, days + 1) if (_weekday(today - b) >= _WORKDAYS) == (_weekday(today) >= _WORKDAYS)]
    for back in alike:
        yield back, "same_hours"


def passed_over(day: int, holidays: Collection[int], odd: Mapping[int, float]) -> str | None:
    """In words, why a day is not comparable with ordinary ones; None where it is.

    Args:
        day: days since 1970.
        holidays: days that are known to be some.
        odd: what `odd_days` found.
    """
    if day in holidays:
        return f"{_EPOCH + timedelta(days=day)} is listed as a holiday"
    if day in odd:
        return f"{_EPOCH + timedelta(days=day)} has {odd[day]:.0%} of its weekday's requests hour by hour, as a holiday"
    return None


def _to_last_month_end(day: date) -> int | None:
    """Days back to the day as near to its month's end; None for a day that is not among the last of its month."""
    next_month = (day.replace(day=28) + timedelta(days=4)).replace(day=1)
    left = (next_month - day).days
    if left > _MONTH_END_DAYS:
        return None
    return (day - (day.replace(day=1) - timedelta(days=left))).days


def _weekday(day: int) -> int:
    """Monday 0 of a day since 1970, which began on a Thursday."""
    return (day + 3) % _WEEK


def _smoothed(table: Floats, width: int) -> Floats:
    if width == 1:
        return table
    known = ~np.isnan(table)
    kernel = np.ones(width)
    rows = [np.convolve(row, kernel, mode="same") for row in np.where(known, table, 0.0)]
    weights = [np.convolve(row.astype(np.float64), kernel, mode="same") for row in known]
    total = np.maximum(np.vstack(weights), 1e-9)
    return np.where(np.vstack(weights) > 0, np.vstack(rows) / total, np.nan)


def _others(smooth: Floats, weekend: NDArray[np.bool_], usual: NDArray[np.bool_], day: int) -> Floats:
    """What the other days would have, scaled to the level of this one; usual ones of its kind, where there are any."""
    mask = np.arange(len(smooth)) != day
    alike = mask & (weekend == weekend[day])
    chosen = smooth[next((days for days in (alike & usual, alike, mask & usual) if days.any()), mask)]
    middle = _median(chosen)
    own = smooth[day]
    both = (middle > 0) & (own > 0)
    level = float(np.median(own[both] / middle[both])) if both.any() else 1.0
    scaled: Floats = middle * level
    # One other day alone may be the one with the incident: the lower of the two is the ordinary one.
    return scaled if len(chosen) > 1 else np.fmin(scaled, own)


def _median(days: Floats) -> Floats:
    """The median of each column's known values, of two the lower; NaN where there are none."""
    ordered = np.sort(days, axis=0)
    counted = (~np.isnan(days)).sum(axis=0)
    columns = np.arange(days.shape[1])
    return np.where(counted > 0, ordered[np.maximum(counted - 1, 0) // 2, columns], np.nan)
