"""Why a second effect exists: a posterior over the roads that duplicates come by.

Each repeat is judged by its clues: what the rows, the log and the broker say about it (structure), and the gap to the
effect before it. Structure beats gaps where it exists. Shares of the causes are learnt from all repeats of the case by
expectation maximisation, so that a rare cause needs more to be believed. The densities and odds below are judgement,
written down as numbers so that they can be argued with; where one has a source it is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
# The prior keeps a third of the say however many repeats are open: a gap that fits two causes alike must not turn
# every repeat into the rarer one. Repeats that their clues settle say nothing about how often the others come.
_PRIOR_ROWS = 4.0
_PRIOR_SHARE = 0.5
_ROUNDS = 12
_TOO_SMALL = 1e-3
_LAWFUL_ABOVE = 0.5
# The time between two lawful payments of one order: median in seconds, sigma, and how many pairs that is worth.
_SPLIT_LAW = (4.0, 0.7)
_SPLIT_WEIGHT = 4.0
_SPLIT_LONGEST_S = 600.0
_SHORTEST_S = 0.05
# Beside ten payments split into unequal parts, two or three split into equal ones: people halve a bill.
_EQUAL_PARTS = 0.25
_NO_SIGN = 0.02
_MANY_SPLITS = 50
_HALF_ODDS = 20.0
_SETTLED = 0.99
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
    other_road: bool = False
    """Whether neither effect came of a message, where nearly all repeats do: what repeats messages did not make it."""
    by_messages: bool = False
    """Whether dead letters are among the evidence, so that messages bring the acts although no delivery is shown."""
    published_again: bool | None = None
    """Whether another message about the same act was published before it."""
    half_odds: float | None = None
    """Odds of the amount as half of a price against a price of its own, by how prices end here."""
    splits: int = 0
    """Payments in two parts seen in the ledger, where nothing says that this pair is none: parts may be equal too."""

    @property
    def half_price(self) -> bool:
        """Whether the amount is far likelier half of a price than a price: the mark of a payment split in two."""
        return self.half_odds is not None and self.half_odds >= _HALF_ODDS


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
    # Who calls again under the same id did not get the answer, whatever the log says.
    (
        "previous_answered",
        lambda c: c.previous_lost is False and c.same_call is not True,
        {"retry": 0.005, "manual_resend": 0.3, "else": 1.0},
    ),
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
    ("other_road", lambda c: c.other_road, {"retry": 0.2, "redelivery": 0.02, "batch_rerun": 0.2, "else": 1.0}),
    ("no_broker", lambda c: c.redelivered is None and not c.by_messages, {"redelivery": 0.1, "else": 1.0}),
    ("by_http", lambda c: c.previous_lost is not None or c.attempt is not None, {"redelivery": 0.02, "else": 1.0}),
    (
        "published_again",
        lambda c: c.published_again is True,
        {"retry": 1.0, "manual_resend": 0.3, "fan_out": 0.3, "else": 0.05},
    ),
    ("half_price", lambda c: c.half_price, {"else": 1.0}),
    ("two_readings", lambda c: bool(c.other_gaps_s), {"else": 1.0}),
    ("one_moment", lambda c: c.one_moment, {"else": 1.0}),
    ("no_sign_of_two_acts", lambda c: not _two_acts(c), {"else": 1.0}),
)


def _two_acts(clues: Clues) -> bool:
    """Whether anything but the gap says that the caller meant two payments."""
    return (
        clues.half_price
        or clues.same_call is False
        or clues.other_key is True
        or clues.previous_lost is False
        or clues.published_again is True
        or clues.other_road
        or clues.attempt == 1
    )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Probabilities of the causes of one repeat and the clues that spoke.

    The likeliest comes first; "legitimate" only where it is likelier than all the others together, for they all say
    that the money moved once too often.
    """

    probabilities: tuple[tuple[str, float], ...]
    clues: tuple[str, ...]

    @property
    def cause(self) -> str:
        """What the repeat is taken for."""
        return self.probabilities[0][0]

    @property
    def confidence(self) -> float:
        """Its probability."""
        return self.probabilities[0][1]


def judge(repeats: Sequence[Clues], splits_s: Sequence[float] = ()) -> tuple[Verdict, ...]:
    """The causes of all repeats of a case, in the order given.

    Args:
        repeats: what is known of each.
        splits_s: seconds between the two parts of each payment that is seen to be split into unequal ones.
    """
    halves = _EQUAL_PARTS * len(splits_s)
    law = fit_split_law([(gap, 1.0) for gap in splits_s])
    likelihoods = [_likelihood(c, law) for c in repeats]
    shares = _shares(likelihoods, halves)
    meant = [(c.gap_s, _posterior(lk, shares)["legitimate"]) for c, lk in zip(repeats, likelihoods, strict=True)]
    signed = [item for item, c in zip(meant, repeats, strict=True) if _two_acts(c) and item[1] > _TOO_SMALL]
    if signed:
        law = fit_split_law([*((gap, 1.0) for gap in splits_s), *signed])
        likelihoods = [_likelihood(c, law) if _two_acts(c) else lk for c, lk in zip(repeats, likelihoods, strict=True)]
        shares = _shares(likelihoods, halves)
    return tuple(_verdict(c, _posterior(lk, shares)) for c, lk in zip(repeats, likelihoods, strict=True))


def _shares(likelihoods: Sequence[Mapping[str, float]], halves: float) -> Mapping[str, float]:
    """The shares of the causes by expectation maximisation; `halves`: equal parts that are expected beside unequal."""
    shares: Mapping[str, float] = _PRIOR
    still_open = sum(max(_posterior(likelihood, _PRIOR).values()) < _SETTLED for likelihood in likelihoods)
    prior_rows = _PRIOR_ROWS + _PRIOR_SHARE * still_open
    for _ in range(_ROUNDS):
        totals = {cause: prior_rows * _PRIOR[cause] for cause in CAUSES}
        totals["legitimate"] += halves
        for likelihood in likelihoods:
            for cause, p in _posterior(likelihood, shares).items():
                totals[cause] += p
        whole = sum(totals.values())
        shares = {cause: n / whole for cause, n in totals.items()}
    return shares


def fit_split_law(gaps: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Median in seconds and sigma of the log-normal law of the time between two lawful payments of one order.

    `gaps`: seconds and weight of each that was seen; four are taken as seen before, at 4 s with sigma 0.7.
    """
    median, sigma = _SPLIT_LAW
    seen = [(math.log(max(gap, _SHORTEST_S)), weight) for gap, weight in gaps if gap <= _SPLIT_LONGEST_S]
    weights = _SPLIT_WEIGHT + sum(w for _, w in seen)
    mean = (_SPLIT_WEIGHT * math.log(median) + sum(w * x for x, w in seen)) / weights
    spread = _SPLIT_WEIGHT * (sigma**2 + (math.log(median) - mean) ** 2) + sum(w * (x - mean) ** 2 for x, w in seen)
    return math.exp(mean), math.sqrt(spread / weights)


def _verdict(clues: Clues, posterior: Mapping[str, float]) -> Verdict:
    lawful = posterior["legitimate"] > _LAWFUL_ABOVE

    def place(item: tuple[str, float]) -> tuple[bool, float, int]:
        first = (item[0] == "legitimate") == lawful
        return not first, -item[1], CAUSES.index(item[0])

    leading, *rest = sorted(posterior.items(), key=place)
    ranked = (leading, *sorted(rest, key=lambda item: (-item[1], CAUSES.index(item[0]))))
    return Verdict(ranked, tuple(name for name, test, _ in _ODDS if test(clues)))


def _posterior(likelihood: Mapping[str, float], shares: Mapping[str, float]) -> dict[str, float]:
    joint = {cause: shares[cause] * likelihood[cause] for cause in CAUSES}
    whole = sum(joint.values())
    return {cause: p / whole for cause, p in joint.items()}


def _likelihood(clues: Clues, split_law: tuple[float, float]) -> dict[str, float]:
    values = _gap_densities(clues, split_law)
    for _, test, odds in _ODDS:
        if test(clues):
            values = {cause: p * odds.get(cause, odds["else"]) for cause, p in values.items()}
    if clues.other_key:
        # Laplace's rule of succession: the chance that a second click bears a new key, when all that were seen did not.
        values["double_submit"] /= clues.second_clicks + 2
    if clues.half_odds is not None:
        values["legitimate"] *= clues.half_odds
    if not _two_acts(clues):
        # Without a sign of two acts a repeat of order, amount and currency is not called lawful on its gap alone,
        # unless payments in two parts are usual here.
        values["legitimate"] *= (clues.splits + _NO_SIGN * _MANY_SPLITS) / (clues.splits + _MANY_SPLITS)
    # A floor keeps one impossible clue from turning into certainty about another cause.
    floor = 1e-12 + 1e-6 * max(values.values())
    return {cause: p + floor for cause, p in values.items()}


def _gap_densities(clues: Clues, split_law: tuple[float, float]) -> dict[str, float]:
    """Density of the gap per second under each cause, before any structure; of several readings the mean."""
    readings = (clues.gap_s, *clues.other_gaps_s)
    found = [_gap_density(clues, gap, split_law) for gap in readings]
    return {cause: sum(each[cause] for each in found) / len(found) for cause in CAUSES}


def _gap_density(clues: Clues, gap_s: float, split_law: tuple[float, float]) -> dict[str, float]:
    """Density of one gap.

    Double clicks lie at 0.1-3 s, mostly below 1.5 s; a payment split over two means takes a person some seconds;
    people resend after minutes to days; code that makes copies makes them in one go, or some seconds apart where each
    goes the whole way again; block reruns, brokers and schedulers have no typical gap. Of the 168 policies
    of the catalogue, 156 come back within five minutes three times over; the others are job queues.
    """
    gap = max(gap_s, 0.0)
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
        "legitimate": 0.8 * _log_normal(gap, *split_law, blur) + 0.2 * broad,
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
