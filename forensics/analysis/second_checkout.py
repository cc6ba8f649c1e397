"""Whether two equal purchases of one customer under two orders are one act, charged twice.

Three readings of such a pair compete, by Bayes' rule:

    once     a second checkout after a first that only seemed to fail
    twice    the customer meant two, one soon after the other
    chance   two purchases with nothing to do with one another

With f(t) the density of the time between the two (log-uniform from a second to the window W: people take seconds or an
hour) and q the rate of equal purchases by chance, the weights are s f(t), max(m, s) f(t) and q, each times the odds of
the clues under that reading. m is the share of purchases of all other hours that repeat an equal one within W: what
customers do when nothing is wrong. s is what the other purchases of this hour repeat beyond m: failures come in bursts.
A burst may as well be a sale, so m is no less than s: without a clue the probability stays below one half.

q is learnt in three steps, each shrunk towards the one before (gamma-Poisson): from the ledger, from the purchases of
that amount, from those of that customer; times how busy the hour of the day is. Amounts and customers differ widely in
their habits, so the one before weighs no more than a fiftieth of an event (the shape of the gamma law). Chance
is counted in the day after the window, so that the whole rhythm of a day is in it. The odds are judgement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

READINGS = ("once", "twice", "chance")

_RARE_S = 100 * 86_400.0
"""Before anything is counted: one equal purchase in a hundred days."""
_SHAPE = 0.02
_FEW = 1000.0
"""Before anything is counted: one second checkout, or one purchase meant twice, in a thousand."""
_SHORTEST_S = 1.0


@dataclass(frozen=True, slots=True)
class Habits:
    """How often the customers of a ledger buy the same again."""

    purchases: int
    within: int
    """Equal purchases of one customer within the window after another."""
    later: int
    """Those in the stretch after the window, which are taken as chance."""
    exposure_s: float
    """How much of that stretch the ledger covers, summed over the purchases."""
    span_s: float
    """From the first purchase to the last."""
    window_s: float

    @property
    def rate(self) -> float:
        """Equal purchases by chance, per purchase and second."""
        return shrunk(self.later, self.exposure_s, 1 / _RARE_S, 1.0)

    @property
    def expected(self) -> float:
        """Pairs within the window that chance makes."""
        return self.purchases * self.rate * self.window_s

    def meant_share(self, hour_purchases: int, hour_again: int) -> float:
        """Share of the purchases outside an hour that repeat an equal one within the window."""
        return (self.within - hour_again + 1) / (self.purchases - hour_purchases + _FEW)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two equal purchases and what stands beside them. None always means: the evidence does not say."""

    gap_s: float
    amount_purchases: int
    """Purchases of that amount in the ledger."""
    amount_later: int
    """Equal purchases of that amount in the stretch after the window."""
    own_others: int
    """Purchases of that amount by that customer beside the two."""
    busy: float
    """How busy the hour of the day is: 1 is the mean."""
    hour_purchases: int
    """Purchases in the very hour of the later one."""
    hour_again: int
    """Those that repeat an equal one within the window, the later one among them."""
    lost: bool | None
    """Whether the caller of the first got no answer in time."""
    failed_between: bool
    """Whether a row of the same customer and amount between the two failed, or its end is not known."""
    same_id: bool
    """Whether both bear one idempotency key or request id."""
    same_channel: bool | None
    same_instrument: bool | None


Odds = tuple[float, float, float]
# Odds of each clue under (once, twice, chance), relative to the reading it fits best.
_CLUES: Mapping[str, tuple[Callable[[Pair], bool], Odds]] = {
    "lost": (lambda p: p.lost is True, (1.0, 0.05, 0.05)),
    "answered": (lambda p: p.lost is False, (0.15, 1.0, 1.0)),
    "failed_between": (lambda p: p.failed_between, (1.0, 0.1, 0.1)),
    "same_id": (lambda p: p.same_id, (1.0, 0.02, 0.02)),
    "other_channel": (lambda p: p.same_channel is False, (0.5, 0.5, 1.0)),
    # After a failure people try another card as well; who buys twice mostly keeps the card.
    "same_instrument": (lambda p: p.same_instrument is True, (0.8, 1.0, 0.8)),
    "other_instrument": (lambda p: p.same_instrument is False, (0.5, 0.3, 1.0)),
}


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pair is, and what spoke."""

    probabilities: Mapping[str, float]
    """By reading; they sum to one."""
    own_rate: float
    """Equal purchases of that customer and amount by chance, per second, at that hour."""
    clues: tuple[str, ...]


def shrunk(events: float, exposure_s: float, mean: float, shape: float = _SHAPE) -> float:
    """Rate per second by a gamma-Poisson law: events over exposure, with `shape` events of a prior of that mean."""
    return (events + shape) / (exposure_s + shape / mean)


def read_pair(pair: Pair, habits: Habits) -> Reading:
    """The three readings of one pair, weighed."""
    each_s = habits.exposure_s / habits.purchases if habits.purchases else 0.0
    of_amount = shrunk(pair.amount_later, pair.amount_purchases * each_s, habits.rate)
    own = shrunk(pair.own_others, habits.span_s, of_amount) * pair.busy
    gap = max(pair.gap_s, _SHORTEST_S)
    density = 1 / (gap * math.log(habits.window_s / _SHORTEST_S))
    meant = habits.meant_share(pair.hour_purchases, pair.hour_again)
    others = max(0.0, pair.hour_again - 1 - meant * pair.hour_purchases)
    once = (others + 1) / (pair.hour_purchases + _FEW)
    weights = [once * density, max(meant, once) * density, own]
    spoken = []
    for name, (speaks, odds) in _CLUES.items():
        if speaks(pair):
            spoken.append(name)
            weights = [w * o for w, o in zip(weights, odds, strict=True)]
    whole = sum(weights)
    return Reading({name: w / whole for name, w in zip(READINGS, weights, strict=True)}, own, tuple(spoken))
