"""Two creators in the code: runs of acts that all took effect k times at once, and pairs of creators at one offset.

A retry answers a failure, so it doubles some acts and not others; code that handles each event k times doubles all of
them, from the day it went live. Two schedulers do so at one offset, each under its own name, run after run; a client
that tries again is one creator, and a batch run again is one run.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FEWEST_ACTS = 10
"""Fewer repeated acts in a row may be chance."""
_FEWEST_RUNS = 3
_SHARE = 0.9
# How often code that makes k copies of every act is seen to make k: one in twenty is refunded, declined, cut off.
_ALL = 0.95
_RUN_NATS = 5.0
_BAND_SHARE = 0.02


@dataclass(frozen=True, slots=True)
class ActCount:
    """Acts of one minute with one number of effects."""

    minute_no: int
    """Whole minutes since 1970 UTC."""
    effects: int
    acts: int
    at_once: int
    """Those whose effects were made at once."""


@dataclass(frozen=True, slots=True)
class FanOut:
    """Minutes in which nearly all acts took effect so many times, at once."""

    first_minute: int
    last_minute: int
    effects: int
    acts: int
    """Acts of these minutes."""
    fanned: int
    """Those with that many effects at once."""


@dataclass(frozen=True, slots=True)
class Step:
    """Acts of one hour whose first effect is one creator's, and what followed."""

    creator: str
    next_by: str | None
    hour_no: int
    offset_s: int | None
    """Whole seconds to the next effect; None when there is none."""
    acts: int


@dataclass(frozen=True, slots=True)
class TwinCreators:
    """Two creators that both make nearly every act, at one offset."""

    first: str
    second: str
    low_s: int
    high_s: int
    """From the first's effect to the second's it takes [low_s, high_s + 1) seconds; below 0 where the second leads."""
    acts: int

    def covers(self, creator: str, next_by: str, offset_s: float) -> bool:
        """Whether an effect of `next_by`, so long after one of `creator`, is of this pair."""
        if (creator, next_by) == (self.second, self.first):
            offset_s = -offset_s
        elif (creator, next_by) != (self.first, self.second):
            return False
        return self.low_s <= offset_s < self.high_s + 1


def fan_outs(counts: Iterable[ActCount]) -> tuple[FanOut, ...]:
    """For each number of copies the run of minutes with it in nearly all acts, where it stands out from the rest."""
    minutes: dict[int, list[ActCount]] = defaultdict(list)
    for count in counts:
        minutes[count.minute_no].append(count)
    copies = sorted({c.effects for found in minutes.values() for c in found if c.at_once})
    return tuple(run for k in copies if (run := _longest_run(minutes, k)) is not None)


def _longest_run(minutes: Mapping[int, Sequence[ActCount]], effects: int) -> FanOut | None:
    """The run of minutes with the largest sum of +1 for an act with its copies and -9 for one without (Kadane 1977)."""
    miss = _SHARE / (1 - _SHARE)
    best, best_score = (0, 0, 0, 0), 0.0
    first, score, acts, hits = 0, 0.0, 0, 0
    all_acts, all_hits = 0, 0
    for minute in sorted(minutes):
        here = sum(c.acts for c in minutes[minute])
        fanned = sum(c.at_once for c in minutes[minute] if c.effects == effects)
        all_acts, all_hits = all_acts + here, all_hits + fanned
        if score <= 0:
            first, score, acts, hits = minute, 0.0, 0, 0
        score, acts, hits = score + fanned - miss * (here - fanned), acts + here, hits + fanned
        if score > best_score:
            best, best_score = (first, minute, acts, hits), score
    run = FanOut(best[0], best[1], effects, best[2], best[3])
    return run if run.fanned >= FEWEST_ACTS and _stands_out(run, all_acts, all_hits, len(minutes)) else None


def _stands_out(run: FanOut, acts: int, hits: int, minutes: int) -> bool:
    """Whether the run is likelier code than luck: its likelihood against the share of such acts outside it (Laplace),
    with the logarithm of the minutes it may begin in as the price of having looked for it."""
    outside = (hits - run.fanned + 1) / (acts - run.acts + 2)
    missed = run.acts - run.fanned
    nats = run.fanned * math.log(_ALL / outside) + missed * math.log((1 - _ALL) / (1 - outside))
    return nats >= _RUN_NATS + math.log(minutes)


def twin_creators(steps: Sequence[Step]) -> tuple[TwinCreators, ...]:
    """Pairs of creators of one column with one offset between their effects, over several hours, for nearly all acts
    that either made in these hours."""
    pairs: dict[tuple[str, str], dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for step in steps:
        if step.next_by is None or step.next_by == step.creator or step.offset_s is None:
            continue
        first, second = sorted((step.creator, step.next_by))
        offset = step.offset_s if step.creator == first else -step.offset_s - 1
        pairs[first, second][step.hour_no, offset] += step.acts
    found = (_twins(pair, seen, steps) for pair, seen in sorted(pairs.items()))
    return tuple(twins for twins in found if twins is not None)


def _twins(pair: tuple[str, str], seen: Mapping[tuple[int, int], int], steps: Sequence[Step]) -> TwinCreators | None:
    by_offset: dict[int, int] = defaultdict(int)
    for (_, offset), acts in seen.items():
        by_offset[offset] += acts
    usual = max(by_offset, key=lambda offset: (by_offset[offset], -offset))
    reach = max(1, round(_BAND_SHARE * abs(usual)))
    inside = {hour: 0 for hour, offset in seen if abs(offset - usual) <= reach}
    for (hour, offset), acts in seen.items():
        if abs(offset - usual) <= reach:
            inside[hour] += acts
    acts = sum(inside.values())
    made = sum(s.acts for s in steps if s.creator in pair and s.hour_no in inside)
    # A long run made again is no second scheduler: it begins when the first is over.
    spread_s = 3600 * (max(inside) - min(inside))
    if acts < FEWEST_ACTS or len(inside) < _FEWEST_RUNS or spread_s < 2 * abs(usual) or acts < _SHARE * made:
        return None
    return TwinCreators(pair[0], pair[1], usual - reach, usual + reach, acts)
