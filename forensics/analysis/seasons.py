"""What a log's own earlier days say of an hour: the ordinary swing, and which day is comparable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DAY_S = 86400.0
_SMOOTH_S = 1800.0
_WEEK = 7
_WORKDAYS = 5
_MONTH_END_DAYS = 2


def ordinary_swing(requests: Floats, step_s: float, first: int) -> Floats:
    """How many requests each bin would have by the same hour of other days, relative to their mean; ones without them.

    Days of the same kind (working day, weekend) are used where there are others. The median of them is taken, so that
    one other day's incident does not become the rule, and scaled to the level of the day itself.

    Args:
        requests: counts per bin.
        step_s: length of a bin, seconds; a whole number of bins makes a day.
        first: number of the first bin since 1970 UTC.
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
    swing = np.vstack([_others(smooth, weekend, day) for day in range(days)])
    flat = swing.reshape(-1)[lead : lead + len(requests)]
    mean = float(np.nanmean(flat)) or 1.0
    # A night of nothing must not divide by nothing.
    return np.maximum(np.nan_to_num(flat / mean, nan=1.0), 0.02)


def comparable_day(start: int, step_s: float, days: int) -> Iterator[tuple[int, str]]:
    """How many days to go back for the same hours, best first, with what makes them comparable.

    Args:
        start: first bin of the incident, counted since 1970 UTC.
        step_s: length of a bin, seconds.
        days: whole days of log before it.
    """
    today = int(start * step_s // DAY_S)
    month_end = _to_last_month_end(date(1970, 1, 1) + timedelta(days=today))
    if month_end is not None and month_end <= days:
        yield month_end, "month_end"
    for back in range(_WEEK, days + 1, _WEEK):
        yield back, "same_weekday"
    alike = [b for b in range(1, days + 1) if (_weekday(today - b) >= _WORKDAYS) == (_weekday(today) >= _WORKDAYS)]
    for back in alike:
        yield back, "same_hours"


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


def _others(smooth: Floats, weekend: NDArray[np.bool_], day: int) -> Floats:
    """What the other days would have, scaled to the level of this one; those of the same kind where there are any."""
    mask = np.arange(len(smooth)) != day
    alike = mask & (weekend == weekend[day])
    chosen = smooth[alike if alike.any() else mask]
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
