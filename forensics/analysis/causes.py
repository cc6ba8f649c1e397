"""Why a second effect exists: a posterior over the roads that duplicates come by.

Each repeat is judged by its clues: what the rows, the log and the broker say about it (structure), and the gap to the
effect before it. Structure beats gaps where it exists. Shares of the causes are learnt from all repeats of the case by
expectation maximisation, so that a rare cause needs more to be believed. The densities and odds below are judgement,
written down as numbers so that they can be argued with; where one has a source it is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

CAUSES = (
    "retry",
    "redelivery",
    "manual_resend",
    "batch_rerun",
    "double_submit",
    "fan_out",
    "two_schedulers",
    "legitimate",
    "unexplained",
)

_PRIOR = {
    "retry": 0.5,
    "redelivery": 0.07,
    "manual_resend": 0.11,
    "batch_rerun": 0.07,
    "double_submit": 0.1,
    "fan_out": 0.015,
    "two_schedulers": 0.015,
    "legitimate": 0.06,
    "unexplained": 0.06,
}
# The prior keeps a third of the say however many repeats there are: a gap that fits two causes alike must not turn
# every repeat into the rarer one.
_PRIOR_ROWS = 4.0
_PRIOR_SHARE = 0.5
_ROUNDS = 12
_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Clues:
    """What is known of one repeat. None always means: the evidence does not say."""

    gap_s: float
    """Seconds from the effect before it; where each came of a message of its own, between the sending of the two."""
    resolution_s: float
    retry_density: float | None
    """Density per second of the gap under the named policy; None when no policy is named, or the gap has readings."""
    other_gaps_s: tuple[float, ...] = ()
    """What the gap is by the other readings, where clocks showed one of the two times twice or never."""
    one_moment: bool = False
    """Whether by one of these readings both effects are of one moment, and no id of their own tells them apart."""
    retry_trust: float = 0.0
    """Share of retries that the named policy is trusted to cover; the rest wait in ways unknown."""
    attempt: int | None = None
    """Attempt number of the request behind the row, from a header."""
    same_call: bool | None = None
    """Whether the row and the effect before it came from one call (one request id), where ids are per call."""
    other_key: bool | None = None
    """Whether it bears another idempotency key than the effect before it, where callers keep the key of an act."""
    second_clicks: int = 0
    """How many second submissions were seen to bear the key of the first."""
    previous_lost: bool | None = None
    """Whether the caller of the effect before it got no answer: hung up, timed out, server error."""
    by_hand: bool | None = None
    """Whether a person keyed the row in."""
    in_block: bool | None = None
    """Whether it is part of a block of acts repeated in the same order."""
    fanned_out: bool = False
    """Whether nearly all acts of its time took effect as often as its own, at once."""
    two_schedulers: bool = False
    """Whether it and the effect before it are of two creators that make nearly all acts twice, at one offset."""
    redelivered: bool | None = None
    """Whether the broker delivered the same message again before it."""
    by_messages: bool = False
    """Whether dead letters are among the evidence, so that messages bring the acts although no delivery is shown."""
    published_again: bool | None = None
    """Whether another message about the same act was published before it."""
    half_price: bool | None = None
    """Whether the amount is no usual price while the sum of both is: the mark of a payment split in two."""


Factor = Mapping[str, float]

# Odds of each clue under each cause, relative to the cause it fits best; causes not named take 'else'.
_ODDS: tuple[tuple[str, Callable[[Clues], bool], Factor], ...] = (
    ("attempt_above_one", lambda c: c.attempt is not None and c.attempt > 1, {"retry": 1.0, "else": 0.01}),
    ("attempt_one", lambda c: c.attempt == 1, {"retry": 0.01, "redelivery": 0.5, "else": 1.0}),
    (
        "same_call",
        lambda c: c.same_call is True,
        {"retry": 1.0, "redelivery": 1.0, "fan_out": 1.0, "batch_rerun": 0.2, "unexplained": 0.1, "else": 0.01},
    ),
    ("other_call", lambda c: c.same_call is False, {"retry": 0.01, "redelivery": 0.05, "else": 1.0}),
    ("other_key", lambda c: c.other_key is True, {"retry": 0.02, "redelivery": 0.05, "else": 1.0}),
    (
        "previous_lost",
        lambda c: c.previous_lost is True,
        {"retry": 1.0, "manual_resend": 0.8, "double_submit": 0.15, "legitimate": 0.05, "else": 0.5},
    ),
    ("previous_answered", lambda c: c.previous_lost is False, {"retry": 0.02, "manual_resend": 0.3, "else": 1.0}),
    (
        "by_hand",
        lambda c: c.by_hand is True,
        {"manual_resend": 1.0, "two_schedulers": 0.3, "legitimate": 0.05, "else": 0.01},
    ),
    ("not_by_hand", lambda c: c.by_hand is False, {"manual_resend": 0.05, "else": 1.0}),
    ("in_block", lambda c: c.in_block is True, {"batch_rerun": 1.0, "two_schedulers": 1.0, "else": 0.02}),
    ("not_in_block", lambda c: not c.in_block, {"batch_rerun": 0.002, "else": 1.0}),
    # A failure picks the acts that it doubles; what doubles nearly all of them is in the code or in who runs it.
    ("fanned_out", lambda c: c.fanned_out, {"fan_out": 1.0, "two_schedulers": 0.5, "else": 0.005}),
    ("not_fanned_out", lambda c: not c.fanned_out, {"fan_out": 0.001, "else": 1.0}),
    ("two_schedulers", lambda c: c.two_schedulers, {"two_schedulers": 1.0, "fan_out": 0.5, "else": 0.005}),
    ("not_two_schedulers", lambda c: not c.two_schedulers, {"two_schedulers": 0.001, "else": 1.0}),
    ("redelivered", lambda c: c.redelivered is True, {"redelivery": 1.0, "fan_out": 0.2, "else": 0.02}),
    ("not_redelivered", lambda c: c.redelivered is False, {"redelivery": 0.02, "else": 1.0}),
    ("no_broker", lambda c: c.redelivered is None and not c.by_messages, {"redelivery": 0.1, "else": 1.0}),
    ("by_http", lambda c: c.previous_lost is not None or c.attempt is not None, {"redelivery": 0.02, "else": 1.0}),
    (
        "published_again",
        lambda c: c.published_again is True,
        {"retry": 1.0, "manual_resend": 0.3, "fan_out": 0.3, "else": 0.05},
    ),
    ("half_price", lambda c: c.half_price is True, {"legitimate": 1.0, "else": 0.01}),
    ("full_price", lambda c: c.half_price is False, {"legitimate": 0.5, "else": 1.0}),
    # Without a sign of two acts a repeat of order, amount and currency is not called lawful on its gap alone.
    ("two_readings", lambda c: bool(c.other_gaps_s), {"else": 1.0}),
    ("one_moment", lambda c: c.one_moment, {"else": 1.0}),
    ("no_sign_of_two_acts", lambda c: not _two_acts(c), {"legitimate": 0.02, "else": 1.0}),
)


def _two_acts(clues: Clues) -> bool:
    """Whether anything but the gap says that the caller meant two payments."""
    return (
        clues.half_price is True
        or clues.same_call is False
        or clues.other_key is True
        or clues.previous_lost is False
        or clues.published_again is True
        or clues.attempt == 1
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Probabilities of the causes of one repeat, likeliest first, and the clues that spoke."""

    probabilities: tuple[tuple[str, float], ...]
    clues: tuple[str, ...]

    @property
    def cause(self) -> str:
        """The likeliest cause."""
        return self.probabilities[0][0]

    @property
    def confidence(self) -> float:
        """Its probability."""
        return self.probabilities[0][1]


def judge(repeats: Sequence[Clues]) -> tuple[Verdict, ...]:
    """The causes of all repeats of a case, in the order given."""
    likelihoods = [_likelihood(c) for c in repeats]
    shares = dict(_PRIOR)
    prior_rows = _PRIOR_ROWS + _PRIOR_SHARE * len(repeats)
    for _ in range(_ROUNDS):
        totals = {cause: prior_rows * _PRIOR[cause] for cause in CAUSES}
        for likelihood in likelihoods:
            for cause, p in _posterior(likelihood, shares).items():
                totals[cause] += p
        whole = sum(totals.values())
        shares = {cause: n / whole for cause, n in totals.items()}
    return tuple(_verdict(c, _posterior(lk, shares)) for c, lk in zip(repeats, likelihoods, strict=True))


def _verdict(clues: Clues, posterior: Mapping[str, float]) -> Verdict:
    ranked = sorted(posterior.items(), key=lambda item: (-item[1], CAUSES.index(item[0])))
    return Verdict(tuple(ranked), tuple(name for name, test, _ in _ODDS if test(clues)))


def _posterior(likelihood: Mapping[str, float], shares: Mapping[str, float]) -> dict[str, float]:
    joint = {cause: shares[cause] * likelihood[cause] for cause in CAUSES}
    whole = sum(joint.values())
    return {cause: p / whole for cause, p in joint.items()}


def _likelihood(clues: Clues) -> dict[str, float]:
    values = _gap_densities(clues)
    for _, test, odds in _ODDS:
        if test(clues):
            values = {cause: p * odds.get(cause, odds["else"]) for cause, p in values.items()}
    if clues.other_key:
        # Laplace's rule of succession: the chance that a second click bears a new key, when all that were seen did not.
        values["double_submit"] /= clues.second_clicks + 2
    # A floor keeps one impossible clue from turning into certainty about another cause.
    floor = 1e-12 + 1e-6 * max(values.values())
    return {cause: p + floor for cause, p in values.items()}


def _gap_densities(clues: Clues) -> dict[str, float]:
    """Density of the gap per second under each cause, before any structure; of several readings the mean."""
    readings = (clues.gap_s, *clues.other_gaps_s)
    found = [_gap_density(replace(clues, gap_s=gap)) for gap in readings]
    return {cause: sum(each[cause] for each in found) / len(found) for cause in CAUSES}


def _gap_density(clues: Clues) -> dict[str, float]:
    """Density of one gap.

    Double clicks lie at 0.1-3 s, mostly below 1.5 s; a payment split over two means takes a person some seconds;
    people resend after minutes to days; code that makes copies makes them in one go, or some seconds apart where each
    goes the whole way again; block reruns, brokers and schedulers have no typical gap. Of the 168 policies
    of the catalogue, 156 come back within five minutes three times over; the others are job queues.
    """
    gap = max(clues.gap_s, 0.0)
    blur = max(clues.resolution_s, 0.02)
    broad = _log_uniform(gap, 0.05, 30 * _DAY_S, blur)
    retry = _log_uniform(gap, 0.05, 2 * 3600.0, blur)
    if not clues.published_again:  # producers that publish again are jobs as often as clients
        retry = 0.8 * _log_uniform(gap, 0.05, 300.0, blur) + 0.2 * retry
    if clues.retry_density is not None:
        retry = clues.retry_trust * clues.retry_density + (1 - clues.retry_trust) * retry
    return {
        "retry": retry,
        "redelivery": _log_uniform(gap, 0.05, 12 * 3600.0, blur),
        "manual_resend": _log_normal(gap, 1800.0, 2.2, blur),
        "batch_rerun": _log_uniform(gap, 60.0, 7 * _DAY_S, blur),
        "double_submit": _log_normal(gap, 0.8, 0.6, blur),
        "fan_out": 0.8 * _log_normal_cell(gap, 0.05, 1.5, blur) + 0.2 * _log_uniform(gap, 0.02, 10.0, blur),
        "two_schedulers": _log_uniform(gap, 0.05, 12 * 3600.0, blur),
        "legitimate": 0.8 * _log_normal(gap, 4.0, 0.7, blur) + 0.2 * broad,
        "unexplained": broad,
    }


def _log_uniform(x: float, low: float, high: float, blur: float) -> float:
    """Density of a log-uniform law, flattened over the clock's resolution near its lower edge."""
    return 1 / (max(x, low, blur) * math.log(high / low)) if x <= high else 1e-9 / high


def _log_normal(x: float, median: float, sigma: float, blur: float) -> float:
    """Density of a log-normal law averaged over one step of the clock (the mean of both ends and the middle)."""
    points = (max(x - blur / 2, blur / 20), max(x, blur / 20), x + blur / 2)
    return sum(
        math.exp(-0.5 * (math.log(p / median) / sigma) ** 2) / (p * sigma * math.sqrt(2 * math.pi)) for p in points
    ) / len(points)


def _log_normal_cell(x: float, median: float, sigma: float, blur: float) -> float:
    """Mean density of a log-normal law over all gaps that a clock of that step may show as x."""
    low, high = max(x - blur, 0.0), x + blur
    below = [0.5 * (1 + math.erf(math.log(p / median) / (sigma * math.sqrt(2)))) if p > 0 else 0.0 for p in (low, high)]
    return (below[1] - below[0]) / (high - low)
