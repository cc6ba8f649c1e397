"""Requests that can make an effect, step by step, and the two windows that are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from forensics.analysis.windows import Windows, find_windows
from forensics.model import TrafficBin
from forensics.runner import Runner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_BINS = 720
_FIGURE_BINS = 120
# Many logs stamp whole seconds: a finer step would show the comb of the clock.
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_BASELINES = {
    "month_end": "the same hours of the same day before the last month's end",
    "same_weekday": "the same hours of the same weekday",
    "same_hours": "the same hours of the nearest day of the same kind (working day or weekend)",
    "holiday": "the same hours of the holiday before it, for its own day is one",
    "before": "the steady time right before it, for the log holds no such hours of a comparable day",
}

Window = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Calendar:
    """By what days are told apart."""

    offset_s: float = 0.0
    """Local time less UTC."""
    holidays: frozenset[date] = frozenset()
    """Local days that the user lists."""


PLAIN = Calendar()
"""Days in UTC, none of them a holiday."""


@dataclass(frozen=True, slots=True)
class Step:
    """Requests in one step of time, as traffic/requests_by_bin counts them."""

    first: int = 0
    retries: int = 0
    unnumbered: int = 0
    failures: int = 0
    slow: int = 0
    asked_again: int = 0


@dataclass(frozen=True, slots=True)
class WindowCounts:
    """Requests in one window; `seconds` is the part of it that the log covers."""

    first: int
    retries: int
    unnumbered: int
    failures: int
    slow: int
    asked_again: int
    seconds: float

    @property
    def requests(self) -> int:
        """All that were counted."""
        return self.first + self.retries + self.unnumbered


@dataclass(frozen=True, slots=True)
class Timeline:
    """All steps of a hop's log."""

    steps: Mapping[int, Step]
    """By their number since 1970 UTC."""
    step_s: float
    covered: Window
    """First and last request."""

    def within(self, window: Window) -> tuple[Step, ...]:
        """The steps that begin in a window, in order; steps without a request are left out."""
        low, high = ((t - _EPOCH).total_seconds() / self.step_s for t in window)
        return tuple(self.steps[k] for k in sorted(self.steps) if low <= k < high)

    def edges_us(self, window: Window) -> tuple[int, int]:
        """Start and end, not in it, of the steps that begin in a window, microseconds since 1970 UTC."""
        step_us = round(self.step_s * 1e6)
        low, high = (-(-((t - _EPOCH) // timedelta(microseconds=1)) // step_us) * step_us for t in window)
        return low, high

    def count(self, window: Window) -> WindowCounts:
        """What a window holds; its seconds are clipped to the log, so that no rate is diluted by time without one."""
        inside = self.within(window)
        clipped = max(window[0], self.covered[0]), min(window[1], self.covered[1])
        start, end = clipped if clipped[0] < clipped[1] else window
        return WindowCounts(
            first=sum(s.first for s in inside),
            retries=sum(s.retries for s in inside),
            unnumbered=sum(s.unnumbered for s in inside),
            failures=sum(s.failures for s in inside),
            slow=sum(s.slow for s in inside),
            asked_again=sum(s.asked_again for s in inside),
            seconds=(end - start).total_seconds(),
        )

    def drawn(self) -> tuple[float, tuple[TrafficBin, ...]]:
        """Length of a step of the chart in seconds, and what it holds."""
        span_s = max((self.covered[1] - self.covered[0]).total_seconds(), 1.0)
        wide_s = max(next((s for s in _STEPS_S if span_s / s <= _FIGURE_BINS), _STEPS_S[-1]), self.step_s)
        merged: dict[int, list[int]] = {}
        for k, step in self.steps.items():
            cell = merged.setdefault(int(k * self.step_s // wide_s), [0, 0, 0])
            for i, value in enumerate((step.first, step.retries, step.unnumbered)):
                cell[i] += value
        return wide_s, tuple(TrafficBin(_EPOCH + timedelta(seconds=k * wide_s), *merged[k]) for k in sorted(merged))


@dataclass(frozen=True, slots=True)
class Compared:
    """The two windows, and why these."""

    baseline: Window
    incident: Window
    recovered_at: datetime | None
    """End of the tail that follows the incident: all is as before. None without such a tail."""
    found: bool
    """False when nothing stood out; True also for windows that the user gave."""
    why: str


@dataclass(frozen=True, slots=True)
class Seen:
    """Which time another question of the same incident looked at, and why."""

    window: Window | None
    """None: the whole log."""
    why: str

    @classmethod
    def of(cls, window: Window | None, incident: Window | None) -> Seen:
        """The window that was looked at; the incident with its tail, where there is one."""
        if window is not None:
            day, start, end = f"{window[0]:%Y-%m-%d}", f"{window[0]:%H:%M:%S}", f"{window[1]:%H:%M:%S}"
            return cls(window, f"the incident as traffic has it, with its tail, {day} {start} to {end} UTC")
        shows_none = "the incident shows none" if incident else "no incident stood out in it"
        return cls(None, f"the whole log, for {shows_none}")


def span_us(window: Window | None) -> dict[str, int]:
    """A window as the parameters since_us and until_us of a query; none, and so its defaults, for the whole log."""
    if window is None:
        return {}
    since, until = ((t - _EPOCH) // timedelta(microseconds=1) for t in window)
    return {"since_us": since, "until_us": until}


def read_timeline(runner: Runner, basis: str, hop: str, covered: Window) -> Timeline:
    """Count a hop's requests in steps short enough to see an incident in.

    Args:
        basis: what tells attempts apart, as traffic/requests_by_bin names it.
        covered: first and last request of the hop.
    """
    span_s = max((covered[1] - covered[0]).total_seconds(), 1.0)
    step_s = next((s for s in _STEPS_S if span_s / s <= _MOST_BINS), _STEPS_S[-1])
    result = runner.run("traffic/requests_by_bin", bin_us=int(step_s * 1e6), basis=basis, at_hop=hop)
    return Timeline({row[0]: Step(*row[1:]) for row in result.rows}, step_s, covered)


def choose_windows(
    timeline: Timeline, incident: Window | None, baseline: Window | None, calendar: Calendar = PLAIN
) -> Compared:
    """The incident and what it is compared with: as given, else as found."""
    first, last = min(timeline.steps), max(timeline.steps)

    def at(index: int) -> datetime:
        return _EPOCH + timedelta(seconds=(first + index) * timeline.step_s)

    if incident is not None:
        before = (max(at(0), incident[0] - (incident[1] - incident[0])), incident[0])
        compared = Compared(before, incident, None, True, "incident as given")
    else:
        steps = [timeline.steps.get(k, Step()) for k in range(first, max(first + 2, last + 1))]
        series = [
            [s.first + s.retries + s.unnumbered for s in steps],
            [s.retries for s in steps],
            [s.failures + s.slow for s in steps],
        ]
        local = first + round(calendar.offset_s / timeline.step_s)
        days = frozenset((day - _EPOCH.date()).days for day in calendar.holidays)
        found = find_windows(series, timeline.step_s, local, days)
        compared = Compared(
            baseline=(at(found.baseline[0]), at(found.baseline[1])),
            incident=(at(found.incident[0]), at(found.incident[1])),
            recovered_at=at(found.recovered) if found.recovered > found.incident[1] else None,
            found=found.found,
            why=_words(found),
        )
    if baseline is None:
        return compared
    why = f"{compared.why.partition(';')[0]}; baseline as given"
    return Compared(baseline, compared.incident, compared.recovered_at, compared.found, why)


def _words(found: Windows) -> str:
    if not found.found:
        return "no stretch stands out: the two halves of the log are compared"
    text = f"the stretch that stands out most against the time before it; compared with {_BASELINES[found.chosen]}"
    return "; ".join((text, *(f"not with {why}" if found.chosen != "before" else why for why in found.passed_over)))
