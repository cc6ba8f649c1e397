"""Why each repeat exists: the policy behind the gaps, then a verdict for every row.

The policy is matched on the gaps that no structure speaks against; the verdicts then weigh its density against the
other roads. What the evidence reads as lawful leaves the excess here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from forensics.analysis import causes
from forensics.analysis.catalogue import load_catalogue
from forensics.analysis.causes import Clues, Verdict
from forensics.analysis.match import gap_densities
from forensics.analysis.words import policy_words
from forensics.detect.attempts import Attempts
from forensics.detect.brokers import broker_policy
from forensics.detect.clues import Where, collect_clues
from forensics.detect.cohorts import Cohorts, cohort_policies, in_order
from forensics.detect.comparable import LONGEST_GAP_US, comparable_gaps, labels_of, where_of
from forensics.detect.matching import log_step_us, match_attempts, match_rows
from forensics.detect.picture import gap_picture
from forensics.detect.prices import split_gaps_s
from forensics.detect.rows import Judged
from forensics.model import CatalogueEntry, CohortPolicy, GapFit, GapPicture, MatchResult, RepeatRow
from forensics.runner import Runner

_POLICY_WEIGHT = 0.92
_LOG_WEIGHT = 0.5
_UNTIED = 0.9
# That two rows of one moment, by one of the readings of a clock that was set, are two payments: as likely as not.
_ONE_MOMENT = 0.5
_FEWEST_SHARP_GAPS = 30
# A policy ties a repeat to the effect before it only when as many gaps speak for the policy.
_FEWEST_TYING_GAPS = 10

TIES = frozenset(("attempt_above_one", "same_call", "previous_lost", "by_hand", "in_block", "redelivered"))
"""Clues that tie a repeat to the effect before it, beyond order and amount."""

CLUE_WORDS: Mapping[str, str] = {
    "attempt_above_one": "its request says that it is not the first attempt",
    "attempt_one": "its request says that it is a first attempt",
    "same_call": "it bears the request id of the effect before it, and ids here stay with a call",
    "other_call": "it bears another request id than the effect before it, and ids here stay with a call",
    "other_key": "it bears another key than the effect before it, and callers here keep the key of an act",
    "previous_lost": "the caller of the effect before it got no answer in time",
    "previous_answered": "the caller of the effect before it had got its answer",
    "by_hand": "a person keyed it in",
    "not_by_hand": "rows keyed in by people are marked, and this one is not",
    "in_block": "it is one of a block of acts repeated in the order of the first time",
    "fanned_out": (
        "nearly all acts of its time took effect as often as its own, at once, and a failure does not pick them all"
    ),
    "two_schedulers": (
        "another creator made it than made the effect before it, and these two keep that offset act after act"
    ),
    "redelivered": "the broker delivered the same message again before it",
    "not_redelivered": "the broker did not deliver the same message again",
    "other_road": "neither came of a message, and nearly all repeats here do",
    "published_again": "another message about the same order came before it",
    "two_readings": (
        "the clocks were set about then, so that its time, or that of the effect before it, can be read two ways: "
        "the gap is not known"
    ),
    "one_moment": (
        "by one of the readings both are of one moment, and no id tells them apart: perhaps one payment, written twice"
    ),
    "half_price": "the amount is half of a usual price",
    "no_sign_of_two_acts": "",
    "not_in_block": "",
    "not_fanned_out": "",
    "not_two_schedulers": "",
    "no_broker": "",
    "by_http": "",
}


@dataclass(frozen=True, slots=True)
class Explained:
    """All rows of repeated acts with their causes, and what the gaps say."""

    rows: tuple[RepeatRow, ...]
    policies: tuple[CohortPolicy, ...]
    match: MatchResult | None
    """None when no gap could be compared."""
    picture: GapPicture | None


@dataclass(frozen=True, slots=True)
class Setting:
    """What the matcher must know besides the gaps."""

    resolution_us: int
    """The coarsest clock among the payment sources."""
    log_resolution_us: int
    """The coarsest clock among the logs."""
    timeout_s: float | None
    """The client's timeout where the user knows it."""
    attempts: Attempts | None
    """The attempts that the log shows; None when it shows none."""
    policies: tuple[CatalogueEntry, ...] = ()
    """The users' own policies, beside those of the catalogue."""


def explain(runner: Runner, judged: Sequence[Judged], setting: Setting) -> Explained:
    """Name the policies and give every repeat its cause."""
    clues = collect_clues(runner, judged, setting.resolution_us, setting.log_resolution_us)
    groups = comparable_gaps(judged, clues)
    catalogue = (*setting.policies, *load_catalogue())
    step_us = log_step_us(setting.attempts, setting.log_resolution_us)
    by_rows = match_rows(groups, setting.resolution_us, setting.timeout_s, catalogue)
    by_log = match_attempts(setting.attempts, step_us, setting.timeout_s, catalogue)
    verdicts = _verdicts(clues, judged, by_rows, by_log)
    sharper_rows = setting.resolution_us < step_us
    sharper_rows = sharper_rows and sum(len(g.gaps_us) for g in groups) >= _FEWEST_SHARP_GAPS
    found = in_order(by_log, by_rows, sharper_rows)
    policies = tuple(policy for cohorts in found for policy in cohort_policies(cohorts))
    strongest = next((c.strongest for c in found if c.named), by_rows.strongest if by_rows else None)
    ties = strongest is not None and strongest.gaps * strongest.explained_share >= _FEWEST_TYING_GAPS
    labelled = _texts(judged, by_rows, policies)
    rows = tuple(_row(item, verdicts.get(where_of(item)), labelled.get(where_of(item)), ties) for item in judged)
    broker = _broker(runner, rows, catalogue)
    if broker is not None:
        policies = _in_place(policies, broker)
    picture = gap_picture([g.gaps_us for g in groups], by_rows.strongest if by_rows else None, setting.resolution_us)
    return Explained(rows, policies, strongest, picture)


def _broker(runner: Runner, rows: Sequence[RepeatRow], catalogue: Sequence[CatalogueEntry]) -> CohortPolicy | None:
    acts = {r.group_id for r in rows if r.role in ("excess", "refunded")}
    again = {r.group_id for r in rows if r.cause == "redelivery"}
    return broker_policy(runner, len(again), len(again) / len(acts), catalogue) if again else None


def _in_place(policies: Sequence[CohortPolicy], broker: CohortPolicy) -> tuple[CohortPolicy, ...]:
    """The broker's cohort first where it has more groups than the strongest of the others, else last."""
    first = not policies or broker.groups > policies[0].groups
    return (broker, *policies) if first else (*policies, broker)


def _texts(judged: Sequence[Judged], by_rows: Cohorts | None, policies: Sequence[CohortPolicy]) -> dict[Where, str]:
    """The policy of each row's cohort in words; where rows are not split, the strongest policy of all."""
    if not policies:
        return {}
    if by_rows is None or by_rows.split is None:
        return {where_of(item): policy_words(policies[0].ranked.policy) for item in judged}
    labels = labels_of(judged)
    fits = {where_of(item): by_rows.fit_for(labels[item.group_id]) for item in judged}
    return {where: policy_words(fit.policy) for where, fit in fits.items() if fit is not None}


def _verdicts(
    clues: Mapping[Where, Clues], judged: Sequence[Judged], by_rows: Cohorts | None, by_log: Cohorts | None
) -> dict[Where, Verdict]:
    """The cause of every repeat, its gap held against the law of its own cohort."""
    labels = labels_of(judged)
    laws: dict[int, tuple[GapFit, float, list[Where]]] = {}
    for item in judged:
        mine = clues.get(where_of(item))
        law = _law(by_rows, by_log, labels[item.group_id]) if mine and not mine.other_gaps_s else None
        if law is not None:
            laws.setdefault(id(law[0]), (*law, []))[2].append(where_of(item))
    filled = dict(clues)
    for fit, trust, places in laws.values():
        densities = gap_densities(fit, [round(clues[p].gap_s * 1e6) for p in places])
        for place, density in zip(places, densities, strict=True):
            filled[place] = replace(clues[place], retry_density=float(density), retry_trust=trust)
    return dict(zip(filled, causes.judge(list(filled.values()), split_gaps_s(judged)), strict=True))


def _law(by_rows: Cohorts | None, by_log: Cohorts | None, labels: Mapping[str, str]) -> tuple[GapFit, float] | None:
    """The fitted law of a retry's gap, and how far it is trusted for gaps between rows."""
    fit = by_rows.fit_for(labels) if by_rows else None
    if fit is not None:
        return fit, _POLICY_WEIGHT
    if by_log is not None and by_log.strongest.verdict == "named":
        return by_log.strongest.fits[0], _LOG_WEIGHT
    return None


def _row(item: Judged, verdict: Verdict | None, policy: str | None, policy_ties: bool) -> RepeatRow:
    row, role, why = item.row, item.role, item.why
    cause: str | None = None
    confidence, lawful = (1.0 if item.beyond_doubt else 0.7), 0.0
    alternatives: tuple[tuple[str, float], ...] = ()
    lawful_class = item.lawful_class
    if item.doubt:
        confidence, alternatives = 1 - item.doubt, (("double_submit", item.doubt),)
    if verdict is not None:
        cause, confidence = verdict.cause, verdict.confidence
        lawful = dict(verdict.probabilities)["legitimate"]
        alternatives = tuple((c, round(p, 4)) for c, p in verdict.probabilities[1:3])
        spoken = [CLUE_WORDS[c] for c in verdict.clues if CLUE_WORDS[c]]
        why = "; ".join([item.why, *spoken])
        if cause == "legitimate":
            role, cause = ("legitimate" if role == "excess" else role), None
            lawful_class = "split_tender" if "half_price" in verdict.clues else "bought_twice"
            why = f"{why}; read as a payment split in two or a second act of the order"
    return RepeatRow(
        group_id=item.group_id,
        business_key=row.business_key,
        order_id=row.order_id,
        payment_id=row.payment_id or row.provider_ref,
        created_at=row.created_at,
        amount=row.amount,
        currency=row.currency,
        status=row.status,
        kind=row.kind,
        gap_us=item.gap_us,
        role=role,
        why=why,
        cause=cause if role in ("excess", "refunded") else None,
        policy=policy if cause == "retry" else None,
        confidence=round(confidence, 4),
        excess_probability=_excess_probability(item, verdict, policy_ties, lawful)
        if role in ("excess", "refunded")
        else None,
        alternatives=alternatives,
        kept_payment_id=(item.kept.payment_id or item.kept.provider_ref)
        if item.kept and role != "legitimate"
        else None,
        same_key=_same_key(item),
        provider_ref=row.provider_ref,
        customer_id=row.customer_id,
        channel=row.channel,
        source_id=row.source_id,
        line_no=row.line_no,
        lawful_class=lawful_class if role == "legitimate" else None,
    )


def _excess_probability(item: Judged, verdict: Verdict | None, policy_ties: bool, lawful: float) -> float:
    """That money moved once too often: capped where nothing but order and amount ties the two effects."""
    sure = 1 - lawful
    spoken = set(verdict.clues) if verdict is not None else set[str]()
    if "one_moment" in spoken:
        return round(min(sure, _ONE_MOMENT), 4)
    # The next part of a bill is paid by the same card too, but on another day.
    same_instrument = bool(
        item.row.instrument
        and item.previous
        and item.row.instrument == item.previous.instrument
        and (item.gap_us or 0) <= LONGEST_GAP_US
    )
    by_policy = policy_ties and verdict is not None and verdict.cause == "retry" and verdict.confidence >= 0.9
    same_instrument = same_instrument and "two_readings" not in spoken
    # Two rows of every act may be one payment in the books of two systems, or of a join: no money moved twice.
    of_all_acts = verdict is not None and verdict.cause in ("fan_out", "two_schedulers")
    tied = item.beyond_doubt or ((same_instrument or by_policy or TIES & spoken) and not of_all_acts)
    return round(sure if tied else min(sure, _UNTIED), 4)


def _same_key(item: Judged) -> bool | None:
    mine, theirs = item.row.idempotency_key, item.previous.idempotency_key if item.previous else None
    return mine == theirs if mine and theirs else None
