"""What the gaps between duplicates say about the client that made them, as a finding."""

from __future__ import annotations

from collections.abc import Sequence

from forensics.analysis.words import policy_words
from forensics.model import CohortPolicy, Finding, MatchResult


def find_policies(policies: Sequence[CohortPolicy], match: MatchResult | None) -> tuple[Finding, ...]:
    """One finding that names the strongest policy, or says that the gaps name none."""
    if match is None:
        return ()
    if not policies:
        return (_finding("No retry schedule shows in the gaps", "note", 0.8, match.why, (), (), {"gaps": match.gaps}),)
    strongest = policies[0].ranked
    tied = [p.ranked for p in policies[1:] if p.ranked.tied]
    together = strongest.probability + sum(p.probability for p in tied)
    ids = ", ".join(strongest.policy_ids[:6])
    why = [match.why]
    if ids:
        why.append(f"known products that wait so: {ids}")
    if tied:
        why.append(f"the evidence cannot tell it from {len(tied)} other polic{'y' if len(tied) == 1 else 'ies'}")
    return (
        _finding(
            f"The gaps fit {policy_words(strongest.policy)}",
            "medium",
            min(1.0, round(together, 4)),
            f"{match.explained_share:.0%} of {match.gaps} gaps between duplicates fit it.",
            tuple(why) + tuple(f"cannot be told from: {text}" for text in strongest.cannot_tell_from[:6]),
            tuple((policy_words(p.policy), p.probability) for p in tied[:2]),
            {"gaps": match.gaps, "groups": match.groups, "explained_share": match.explained_share},
        ),
    )


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
