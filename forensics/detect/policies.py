"""What the gaps between duplicates say about the client that made them, as a finding."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.amounts import many
from forensics.analysis.words import policy_words, seconds
from forensics.model import CohortPolicy, Finding, MatchResult

_MOST_COHORTS = 6


def find_policies(policies: Sequence[CohortPolicy], match: MatchResult | None) -> tuple[Finding, ...]:
    """One finding that names the strongest policy, or says that the gaps name none."""
    if not policies:
        if match is None:
            return ()
        return (_finding("No retry schedule shows in the gaps", "note", 0.8, match.why, (), (), {"gaps": match.gaps}),)
    first = policies[0]
    strongest = first.ranked
    tied = [p.ranked for p in policies[1:] if p.ranked.tied and p.cohort == first.cohort]
    together = strongest.probability + sum(p.probability for p in tied)
    ids = ", ".join(strongest.policy_ids[:6])
    why = [f"{first.cohort}: {policy_words(strongest.policy)}, {first.explained_share:.0%} of the gaps explained"]
    if first.residual_s:
        half, most = first.residual_s
        why.append(f"half of the explained gaps lie within {seconds(half)} of it, nine in ten within {seconds(most)}")
    if ids:
        why.append(f"known products that wait so: {ids}")
    if tied:
        why.append(f"the evidence cannot tell it from {len(tied)} other polic{'y' if len(tied) == 1 else 'ies'}")
    why += _other_cohorts(policies)
    residual = dict(zip(("residual_half_s", "residual_nine_tenths_s"), first.residual_s or (), strict=False))
    return (
        _finding(
            f"The gaps fit {policy_words(strongest.policy)}",
            "medium",
            min(1.0, round(together, 4)),
            f"{first.explained_share:.0%} of the gaps of {many(first.groups, 'business act')} fit it ({first.cohort}).",
            tuple(why) + tuple(f"cannot be told from: {text}" for text in strongest.cannot_tell_from[:6]),
            tuple((policy_words(p.policy), p.probability) for p in tied[:2]),
            {"groups": first.groups, "share": first.share, "explained_share": first.explained_share, **residual},
        ),
    )


def _other_cohorts(policies: Sequence[CohortPolicy]) -> list[str]:
    """The strongest policy of every other cohort, in words."""
    strongest: dict[str, CohortPolicy] = {}
    for p in policies:
        strongest.setdefault(p.cohort, p)
    others = list(strongest.values())[1 : _MOST_COHORTS + 1]
    return [f"{p.cohort} ({p.groups}): {policy_words(p.ranked.policy)}" for p in others]


def _finding(
    title: str,
    severity: str,
    confidence: float,
    statement: str,
    why: tuple[str, ...],
    alternatives: tuple[tuple[str, float], ...],
    numbers: dict[str, float | int | str | None],
) -> Finding:
    return Finding(
        id="retry-policy",
        rule="policies/gaps",
        title=title,
        severity=severity,
        confidence=confidence,
        statement=statement,
        why=why,
        alternatives=alternatives,
        numbers=numbers,
        money={},
        query="duplicates/gaps",
        parameters={},
        evidence=(),
        evidence_total=0,
        next_steps=(
            "find the client whose configuration this is; a timeout there means unknown, not failed",
            "let it send one idempotency key per business act, the same on every attempt",
        ),
    )
