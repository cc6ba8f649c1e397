"""Find the incident in counts over time, and comparable time before it.

The series are cut where their rates change (optimal partitioning of Poisson counts by dynamic programming; Jackson et
al. 2005, doi 10.1109/LSP.2001.838216), the variance being scaled by what neighbouring bins show. The incident grows
from the stretch that stands out most against the time right beside it. What stands out is a larger share of retries or
of failed and slow requests, or more requests all at once: a day's ordinary swing keeps its shares and has no edges.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from forensics.analysis.seasons import DAY_S, comparable_day, odd_days, ordinary_swing, passed_over

Floats = NDArray[np.float64]

_LEAST_GAIN = 10.0
_BESIDE_SHARE = 10
_LEAST_RATIO = 1.3
"""More requests than this many times what was, within `_EDGE_S`, are not people's ordinary habits. Of shares their odds
must rise so much: among very many requests the least change is beyond chance."""
_EDGE_S = 900.0
_MOST_NOISE = 6.0
_CAPPED_MEAN = 0.975
"""Mean of a chi-squared number of one degree that is capped at `_MOST_NOISE`."""
_STILL = 0.5
"""A piece that shows at least this part of the core's share of retries or failures is still the incident."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Half-open ranges of bins."""

    baseline: tuple[int, int]
    incident: tuple[int, int]
    """From onset until retries and failures are less than half as common as at its worst."""
    recovered: int
    """End of the recovery tail that follows: all is as before. The incident's end when there is no tail."""
    found: bool
    """False when nothing stands out and the two halves are compared."""
    chosen: str
    """The baseline: month_end | same_weekday | same_hours (of an earlier day) | holiday (as is the incident's day) |
    before (right before it) | halves."""
    passed_over: tuple[str, ...] = ()
    """In words, comparable days by the calendar that are not by what is known of them."""


@dataclass(frozen=True, slots=True)
class _Series:
    """Running totals, one bin longer than the series; rows are requests, retries, failed or slow."""

    totals: Floats
    swing: Floats
    spread: float
    edge: int
    """Bins in which an edge must show."""

    @property
    def bins(self) -> int:
        return int(self.totals.shape[1]) - 1

    def count(self, span: tuple[int, int]) -> Floats:
        counted: Floats = self.totals[:, span[1]] - self.totals[:, span[0]]
        return counted

    def shares(self, span: tuple[int, int]) -> Floats:
        """Retries, and failed or slow requests, per request."""
        counted = self.count(span)
        shares: Floats = counted[1:] / max(1.0, float(counted[0]))
        return shares

    def weight(self, span: tuple[int, int]) -> float:
        return float(self.swing[span[1]] - self.swing[span[0]])


@dataclass(frozen=True, slots=True)
class _Calendar:
    """Which days the bins lie on, and which of these are not like others."""

    step_s: float
    first: int
    holidays: frozenset[int]
    odd: Mapping[int, float]


def find_windows(
    series: Sequence[Sequence[int]], step_s: float = 1.0, first: int = 0, holidays: Collection[int] = ()
) -> Windows:
    """The incident and its baseline.

    Args:
        series: counts per bin of requests, of retries and of failed or slow requests, all of one length >= 2.
        step_s: length of a bin, seconds.
        first: number of the first bin since 1970 in local time, which tells the hour and the weekday.
        holidays: days since 1970 that are known to be some.
    """
    counts = np.asarray(series, dtype=np.float64)
    bins = counts.shape[1]
    calendar = _Calendar(step_s, first, frozenset(holidays), odd_days(counts[0], step_s, first))
    swing = ordinary_swing(counts[0], step_s, first, calendar.holidays | calendar.odd.keys())
    zero = np.zeros((counts.shape[0], 1))
    totals = np.concatenate([zero, np.cumsum(counts, axis=1)], axis=1)
    data = _Series(
        totals, np.concatenate([[0.0], np.cumsum(swing)]), _dispersion(counts), max(3, int(_EDGE_S / step_s))
    )
    cuts = _partition(data)
    core = _core(data, cuts)
    if core is None:
        return Windows((0, bins // 2), (bins // 2, bins), bins, found=False, chosen="halves")
    start, end, quiet = _grown(data, cuts, core)
    baseline, chosen, passed = _baseline(data, cuts, (start, end), calendar)
    return Windows(baseline, (start, end), quiet, found=True, chosen=chosen, passed_over=passed)


def _core(data: _Series, cuts: Sequence[int]) -> tuple[int, int] | None:
    """Between which cuts the series stand out most against what is right beside; None when nowhere enough."""
    beside = max(2, data.bins // _BESIDE_SHARE)
    best: tuple[int, int] | None = None
    # Of all the pairs of cuts that are tried, the luckiest gains the logarithm of their number.
    gain = (_LEAST_GAIN + 2 * float(np.log(data.bins))) * data.spread
    for k, start in enumerate(cuts[1:-1], 1):
        for end in cuts[k + 1 :]:
            reach = min(beside, end - start)
            up = _step(data, (max(0, start - beside), start), (start, start + reach))
            down = _step(data, (end, min(data.bins, end + beside)), (end - reach, end)) if end < data.bins else 0.0
            if up > _LEAST_GAIN * data.spread / 2 and up + down > gain:
                best, gain = (start, end), up + down
    return best


def _grown(data: _Series, cuts: Sequence[int], core: tuple[int, int]) -> tuple[int, int, int]:
    """Onset, end, end of the recovery tail: the core with the milder pieces before and after it."""
    start, end = core
    least = _LEAST_GAIN * data.spread / 2
    beside = max(2, data.bins // _BESIDE_SHARE)
    at = cuts.index(start)
    while at > 1 and _step(data, (max(0, cuts[at - 1] - beside), cuts[at - 1]), (cuts[at - 1], cuts[at])) > least:
        at -= 1
    start = cuts[at]
    calm = (max(0, min(start - beside, start - (end - start))), start)
    worst = data.shares(core)
    quiet = end
    for piece in list(pairwise(cuts))[cuts.index(end) :]:
        # Waves of retries leave quiet between them: what follows within the incident's own length belongs to it.
        if piece[0] - quiet > end - start:
            break
        trouble = sum(_parts(data, calm, piece)[1:])
        if trouble > least:
            quiet = piece[1]
            shares = data.shares(piece)
            if trouble > 2 * least and ((shares > 0) & (shares >= _STILL * worst)).any():
                end = quiet
    return start, end, quiet


def _baseline(
    data: _Series, cuts: Sequence[int], incident: tuple[int, int], calendar: _Calendar
) -> tuple[tuple[int, int], str, tuple[str, ...]]:
    """The same hours of the nearest comparable day that is calm, else the steady time right before the incident.

    Third, the days that were passed over for what they are.
    """
    start, end = incident
    day = round(DAY_S / calendar.step_s)
    passed: dict[str, None] = {}
    days = start // day if day else 0
    today = int((calendar.first + start) * calendar.step_s // DAY_S)
    for back, chosen in comparable_day(calendar.first + start, calendar.step_s, days, calendar.holidays):
        why = None if chosen == "holiday" else passed_over(today - back, calendar.holidays, calendar.odd)
        if why:
            passed[why] = None
            continue
        span = (start - back * day, end - back * day)
        before = (max(0, span[0] - (end - start)), span[0])
        if span[1] <= start and (before[0] == before[1] or sum(_parts(data, before, span)[1:]) <= _LEAST_GAIN):
            return span, chosen, tuple(passed)
    if today in calendar.holidays:
        passed = {"the incident's own day is listed as a holiday, and the log holds no other": None}
    steady = max((cut for cut in cuts if cut < start), default=0)
    return (max(0, min(start - (end - start), steady)), start), "before", tuple(passed)


def _dispersion(counts: Floats) -> float:
    """Variance over mean as neighbouring bins show it, at least 1 (Poisson)."""
    whole = counts[0]
    left, right = whole[:-1], whole[1:]
    seen = (left + right) > 0
    if seen.sum() < 8:
        return 1.0
    ratio = (right[seen] - left[seen]) ** 2 / (left[seen] + right[seen])
    # For Poisson counts (a - b)^2 / (a + b) has mean 1 whatever their size. It is capped, because the bursts of an
    # incident are no noise.
    return float(max(1.0, np.minimum(ratio, _MOST_NOISE).mean() / _CAPPED_MEAN))


def _partition(data: _Series) -> list[int]:
    """Edges of the pieces of equal rates, from 0 to the number of bins."""
    totals, bins = data.totals, data.bins
    penalty = (totals.shape[0] + 1) / 2 * np.log(bins) * data.spread
    best = np.full(bins + 1, np.inf)
    best[0] = -penalty
    last = np.zeros(bins + 1, dtype=np.int64)
    for end in range(1, bins + 1):
        n = totals[:, end : end + 1] - totals[:, :end]
        weight = data.swing[end] - data.swing[:end]
        cost = -np.sum(np.where(n > 0, n * np.log(np.maximum(n, 1) / weight), 0.0), axis=0)
        value = best[:end] + cost + penalty
        last[end] = int(np.argmin(value))
        best[end] = value[last[end]]
    edges = [bins]
    while edges[-1] > 0:
        edges.append(int(last[edges[-1]]))
    return edges[::-1]


def _step(data: _Series, low: tuple[int, int], high: tuple[int, int]) -> float:
    """How much `high` stands out from `low` beside it; of more requests only their edge counts."""
    _, retries, bad = _parts(data, low, high)
    if low[1] == high[0]:
        near = (max(low[0], low[1] - data.edge), low[1]), (high[0], min(high[1], high[0] + data.edge))
    else:
        near = (low[0], min(low[1], low[0] + data.edge)), (max(high[0], high[1] - data.edge), high[1])
    return _parts(data, *near)[0] + retries + bad


def _parts(data: _Series, low: tuple[int, int], high: tuple[int, int]) -> tuple[float, float, float]:
    """Log-likelihood ratios of `high` having a higher rate of requests, share of retries, share of failed or slow."""
    w0, w1 = data.weight(low), data.weight(high)
    n0, n1 = data.count(low), data.count(high)
    if w0 <= 0 or w1 <= 0 or not n1[0]:
        return 0.0, 0.0, 0.0
    more = n1[0] / w1 > _LEAST_RATIO * n0[0] / w0
    requests = _against(n0[0], w0, n1[0], w1) if more else 0.0
    shares = [
        _against(n0[row], n0[0], n1[row], n1[0]) + _against(n0[0] - n0[row], n0[0], n1[0] - n1[row], n1[0])
        if n0[0] and n1[row] * (n0[0] - n0[row]) > _LEAST_RATIO * n0[row] * (n1[0] - n1[row])
        else 0.0
        for row in (1, 2)
    ]
    return requests, shares[0], shares[1]


def _against(n0: float, w0: float, n1: float, w1: float) -> float:
    """Log-likelihood ratio of two counts having rates of their own against one common rate."""
    common = max((n0 + n1) / (w0 + w1), 1e-12)
    parts = [n * float(np.log(n / w / common)) for n, w in ((n0, w0), (n1, w1)) if n > 0 and w > 0]
    return sum(parts)
