"""Why each repeat exists: the policy behind the gaps, then a verdict for every row.

The policy is matched on the gaps that no structure speaks against; the verdicts then weigh its density against the
other roads. What the evidence reads as lawful leaves the excess here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from forensics.analysis import causes
from forensics.analysis.backoff import waits
from forensics.analysis.catalogue import load_catalogue
from forensics.analysis.causes import Clues, Verdict
from forensics.analysis.match import density_curve, gap_densities, match_gaps
from forensics.analysis.words import policy_words
from forensics.detect.attempts import Attempts
from forensics.detect.clues import Where, collect_clues
from forensics.detect.rows import Judged
from forensics.model import CatalogueEntry, CohortPolicy, GapFit, GapPicture, MatchResult, Policy, RepeatRow
from forensics.runner import Runner

_LONGEST_GAP_US = 12 * 3600 * 1_000_000
_POLICY_WEIGHT = 0.92
_LOG_WEIGHT = 0.5
_UNTIED = 0.9
# That two rows of one moment, by one of the readings of a clock that was set, are two payments: as likely as not.
_ONE_MOMENT = 0.5
_FEWEST_LOG_GAPS = 10
_FEWEST_SHARP_GAPS = 30
# A policy ties a repeat to the effect before it only when as many gaps speak for the policy.
_FEWEST_TYING_GAPS = 10
_IN_LOG = "attempts in the access log"
# A log without durations may stamp the ends of requests: gaps are off by how much longer one took than the other.
_UNTIMED_BLUR_US = 1_000_000
_UNTIMED = (
    "the same waits behind a timeout: the log has no durations, and if it stamps ends no timeout is in its gaps",
)
_BINS = 60
_CURVE_POINTS = 480

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
    "redelivered": "the broker delivered the same message again before it",
    "not_redelivered": "the broker did not deliver the same message again",
    "published_again": "another message about the same order came before it",
    "two_readings": (
        "the clocks were set about then, so that its time, or that of the effect before it, can be read two ways: "
        "the gap is not known"
    ),
    "one_moment": (
        "by one of the readings both are of one moment, and no id tells them apart: perhaps one payment, written twice"
    ),
    "half_price": "the amount is half of a usual price",
    "full_price": "",
    "no_sign_of_two_acts": "",
    "not_in_block": "",
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
    """Name the policy and give every repeat its cause."""
    clues = collect_clues(runner, judged, setting.resolution_us)
    groups = comparable_gaps(judged, clues)
    catalogue = (*setting.policies, *load_catalogue())
    by_rows = (
        match_gaps(groups, resolution_us=setting.resolution_us, timeout_s=setting.timeout_s, catalogue=catalogue)
        if groups
        else None
    )
    by_log = _match_attempts(setting, catalogue)
    law = _law(by_rows, by_log)
    verdicts = _verdicts(clues, law)
    cohorts = [("rows of the ledger", by_rows), (_IN_LOG, by_log)]
    if not (setting.resolution_us < _log_step_us(setting) and sum(map(len, groups)) >= _FEWEST_SHARP_GAPS):
        cohorts.reverse()
    untimed = setting.attempts is not None and not setting.attempts.timed
    policies = tuple(
        policy
        for cohort, match in cohorts
        for policy in _policies(cohort, match, _UNTIMED if untimed and cohort == _IN_LOG else ())
    )
    text = policy_words(policies[0].ranked.policy) if policies else None
    strongest = next((m for _, m in cohorts if m is not None and m.verdict == "named"), by_rows)
    ties = strongest is not None and strongest.gaps * strongest.explained_share >= _FEWEST_TYING_GAPS
    rows = tuple(_row(item, verdicts.get(_where(item)), text, ties) for item in judged)
    return Explained(rows, policies, strongest, _picture(groups, by_rows, setting.resolution_us))


def _law(by_rows: MatchResult | None, by_log: MatchResult | None) -> tuple[GapFit, float] | None:
    """The fitted law of a retry's gap, and how far it is trusted for gaps between rows."""
    if by_rows is not None and by_rows.verdict == "named":
        return by_rows.fits[0], _POLICY_WEIGHT
    if by_log is not None and by_log.verdict == "named":
        return by_log.fits[0], _LOG_WEIGHT
    return None


def _log_step_us(setting: Setting) -> int:
    """How coarsely the log tells starts: its clock, and where it has no durations at least as long as answers take."""
    untimed = setting.attempts is not None and not setting.attempts.timed
    return max(setting.log_resolution_us, _UNTIMED_BLUR_US if untimed else 1)


def _match_attempts(setting: Setting, catalogue: Sequence[CatalogueEntry]) -> MatchResult | None:
    """The policy that the log's own attempts show; None where the log does not tie attempts."""
    attempts = setting.attempts
    if attempts is None or sum(map(len, attempts.gaps_us)) < _FEWEST_LOG_GAPS:
        return None
    timeout_s = setting.timeout_s if setting.timeout_s is not None else attempts.timeout_s
    return match_gaps(attempts.gaps_us, resolution_us=_log_step_us(setting), timeout_s=timeout_s, catalogue=catalogue)


def _where(item: Judged) -> Where:
    return item.row.source_id, item.row.line_no


def comparable_gaps(judged: Sequence[Judged], clues: Mapping[Where, Clues]) -> list[list[int]]:
    """The gaps of each group that may be a retry's, in order; a gap that cannot be one breaks the chain."""
    groups: list[list[int]] = []
    chain: list[int] = []
    for item in judged:
        mine = clues.get(_where(item))
        fits = (
            mine is not None
            and item.gap_us is not None
            and not _speaks_against_retry(mine)
            and not mine.other_gaps_s
            and item.gap_us <= _LONGEST_GAP_US
        )
        if item.role in ("kept", "legitimate") or (mine is not None and not fits):
            if chain:
                groups.append(chain)
            chain = []
        elif fits and item.gap_us is not None:
            chain.append(item.gap_us)
    if chain:
        groups.append(chain)
    return groups


def _speaks_against_retry(clues: Clues) -> bool:
    return (
        clues.attempt == 1
        or clues.by_hand is True
        or clues.same_call is False
        or clues.other_key is True
        or clues.in_block is True
        or clues.redelivered is True
        or clues.published_again is True
        or clues.half_price is True
        or clues.previous_lost is False
    )


def _verdicts(clues: Mapping[Where, Clues], law: tuple[GapFit, float] | None) -> dict[Where, Verdict]:
    places = list(clues)
    if law is None:
        filled = [clues[p] for p in places]
    else:
        fit, trust = law
        densities = [float(d) for d in gap_densities(fit, [round(clues[p].gap_s * 1e6) for p in places])]
        filled = [
            clues[p] if clues[p].other_gaps_s else replace(clues[p], retry_density=d, retry_trust=trust)
            for p, d in zip(places, densities, strict=True)
        ]
    return dict(zip(places, causes.judge(filled), strict=True))


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
        and (item.gap_us or 0) <= _LONGEST_GAP_US
    )
    by_policy = policy_ties and verdict is not None and verdict.cause == "retry" and verdict.confidence >= 0.9
    same_instrument = same_instrument and "two_readings" not in spoken
    tied = item.beyond_doubt or same_instrument or by_policy or TIES & spoken
    return round(sure if tied else min(sure, _UNTIED), 4)


def _same_key(item: Judged) -> bool | None:
    mine, theirs = item.row.idempotency_key, item.previous.idempotency_key if item.previous else None
    return mine == theirs if mine and theirs else None


def _policies(cohort: str, match: MatchResult | None, besides: tuple[str, ...]) -> tuple[CohortPolicy, ...]:
    """The policies of a cohort; besides: what the evidence cannot tell any of them from."""
    if match is None or match.verdict != "named":
        return ()
    ranked = (replace(r, cannot_tell_from=(*besides, *r.cannot_tell_from)) for r in match.ranked)
    return tuple(CohortPolicy(cohort, match.groups, match.explained_share, r) for r in ranked)


# The picture ----------------------------------------------------------------------------------------------------


def _picture(groups: Sequence[Sequence[int]], match: MatchResult | None, resolution_us: int) -> GapPicture | None:
    gaps = sorted(g / 1e6 for group in groups for g in group)
    if not gaps:
        return None
    expected = expected_gaps(match.ranked[0].policy) if match and match.verdict == "named" else ()
    reach = max([gaps[int(0.97 * (len(gaps) - 1))] * 1.15, *[s * 1.1 for _, s in expected[:4]], 1.0])
    width = max(reach / _BINS, resolution_us / 1e6)
    bins = max(4, int(reach / width) + 1)
    edges = tuple(round(i * width, 6) for i in range(bins + 1))
    counts = [0] * bins
    for gap in gaps:
        if gap < edges[-1]:
            counts[min(bins - 1, int(gap / width))] += 1
    curve_s: tuple[float, ...] = ()
    curve: tuple[float, ...] = ()
    if match and match.verdict == "named":
        fitted = density_curve(match.fits[0], resolution_us, edges[-1], _CURVE_POINTS)
        curve_s = tuple(round(float(x), 6) for x in fitted.gaps_s)
        curve = tuple(round(float(y) * len(gaps) * width, 6) for y in fitted.total)
    beyond = sum(g >= edges[-1] for g in gaps)
    return GapPicture(edges, tuple(counts), curve_s, curve, tuple(expected), beyond)


def expected_gaps(policy: Policy) -> tuple[tuple[str, float], ...]:
    """Label and length of the gap between each attempt and the next when its reply was lost: timeout + nominal wait."""
    plan = policy.schedule_s or waits(policy, max(1, min(5, (policy.max_attempts or 4) - 1)))
    timeout = policy.timeout_s or 0.0
    return tuple((f"{n}→{n + 1}", round(timeout + wait, 6)) for n, wait in enumerate(plan, 1))
