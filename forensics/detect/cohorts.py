"""Cohorts: groups that came the same way, each with its own policy where their gaps differ.

A split is made only where the gaps of its parts follow different laws (analysis/cohorts.py) and the policies named for
the parts differ too: two parts with one policy are one cohort.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from forensics.analysis.catalogue import entries_that_fit
from forensics.analysis.cohorts import FEWEST_GROUPS, GapGroup, Split, best_split, part_of, valley
from forensics.analysis.words import seconds
from forensics.model import CatalogueEntry, CohortPolicy, GapFit, MatchResult, RankedPolicy

Match = Callable[[Sequence[Sequence[int]]], MatchResult]


@dataclass(frozen=True, slots=True)
class Cohort:
    """Groups with one policy, or none."""

    words: str
    groups: int
    match: MatchResult

    @property
    def fit(self) -> GapFit | None:
        """The fitted law of its gaps; None when no policy is named."""
        return self.match.fits[0] if self.match.verdict == "named" else None


@dataclass(frozen=True, slots=True)
class Cohorts:
    """The cohorts of one kind of evidence, most groups first."""

    parts: Mapping[str | None, Cohort]
    """By the value that the split goes by; a single part, None, where nothing splits them."""
    split: Split | None

    def fit_for(self, labels: Mapping[str, str]) -> GapFit | None:
        """The law of the gaps of a group with these labels; None where its cohort has no policy."""
        cohort = self.parts.get(part_of(self.split, labels) if self.split else None)
        return cohort.fit if cohort else None

    @property
    def named(self) -> tuple[Cohort, ...]:
        """Cohorts with a policy."""
        return tuple(c for c in self.parts.values() if c.match.verdict == "named")

    @property
    def strongest(self) -> MatchResult:
        """The result of the first cohort with a policy, else of the first."""
        return (self.named or tuple(self.parts.values()))[0].match


def match_cohorts(basis: str, groups: Sequence[GapGroup], match: Match) -> Cohorts:
    """The policies of all groups of one kind of evidence; `basis` is that evidence in words."""
    split = best_split(groups)
    if split is not None:
        parts = _matched(basis, groups, split, match)
        if _differ([p.match for p in parts.values()]):
            return Cohorts(parts, split)
    whole = Cohort(basis, len(groups), match([g.gaps_us for g in groups]))
    if whole.match.verdict != "named":
        short = _short(basis, groups, match)
        whole = whole if short is None else short
    return Cohorts({None: whole}, None)


def _matched(basis: str, groups: Sequence[GapGroup], split: Split, match: Match) -> dict[str | None, Cohort]:
    parts: dict[str | None, list[tuple[int, ...]]] = {}
    for group in groups:
        parts.setdefault(part_of(split, group.labels), []).append(group.gaps_us)
    ordered = sorted(parts.items(), key=lambda p: (-len(p[1]), p[0] or ""))
    return {
        value: Cohort(f"{basis}, {split.label} {value}" if value else f"{basis}, all others", len(gaps), match(gaps))
        for value, gaps in ordered
    }


def _differ(matches: Sequence[MatchResult]) -> bool:
    """Whether two parts have policies of which neither could be the other's."""
    named = [m.ranked for m in matches if m.verdict == "named"]
    return any(not _could_be(a, b) and not _could_be(b, a) for k, a in enumerate(named) for b in named[:k])


def _could_be(ranked: Sequence[RankedPolicy], others: Sequence[RankedPolicy]) -> bool:
    """Whether the strongest of `others` waits like one that `ranked` cannot tell from its own strongest."""
    plan = _first_waits(others[0])
    return any(
        len(_first_waits(r)) > 0
        and all(abs(a - b) <= 0.1 * max(a, b) + 0.05 for a, b in zip(_first_waits(r), plan, strict=False))
        for r in ranked
        if r is ranked[0] or r.tied
    )


def _first_waits(ranked: RankedPolicy) -> tuple[float, ...]:
    """Mean gaps before the first attempts, which show whatever the split of timeout and wait."""
    return tuple((ranked.policy.timeout_s or 0.0) + wait for wait in _mean_waits(ranked))


def _mean_waits(ranked: RankedPolicy) -> tuple[float, ...]:
    policy = ranked.policy
    share = {"full": 0.5, "equal": 0.75, "decorrelated": 1.0}.get(policy.jitter, 1.0)
    added = (policy.jitter_amount or 0.0) / 2 if policy.jitter == "additive" else 0.0
    return tuple(share * w + added for w in policy.schedule_s[:3])


def _short(basis: str, groups: Sequence[GapGroup], match: Match) -> Cohort | None:
    """The cohort of the short gaps, where a valley parts them from long ones and a policy explains them."""
    longest = valley([abs(gap) for g in groups for gap in g.gaps_us])
    if longest is None:
        return None
    short = [chain for g in groups for chain in _chains(g.gaps_us, longest)]
    if len(short) < FEWEST_GROUPS:
        return None
    found = match(short)
    words = f"{basis}, gaps up to {seconds(longest / 1e6)}"
    return Cohort(words, len(short), found) if found.verdict == "named" else None


def _chains(gaps_us: Sequence[int], longest: int) -> list[list[int]]:
    """The runs of gaps no longer than that."""
    runs: list[list[int]] = [[]]
    for gap in gaps_us:
        if abs(gap) <= longest:
            runs[-1].append(gap)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def in_order(by_log: Cohorts | None, by_rows: Cohorts | None, sharper_rows: bool) -> list[Cohorts]:
    """The log's cohorts before the ledger's, for the log sees every attempt.

    Where the ledger's clock is finer (`sharper_rows`) its rows come first, but only if its policy waits as the log's
    own attempts do: an attempt that left no row can make another schedule out of the same waits.
    """
    both = [cohorts for cohorts in (by_log, by_rows) if cohorts is not None]
    if sharper_rows and by_log is not None and by_rows is not None and _agree(by_log.strongest, by_rows.strongest):
        both.reverse()
    return both


def _agree(log: MatchResult, rows: MatchResult) -> bool:
    """Whether a policy of the rows, of those that cannot be told apart, waits like the log's; nothing else is known of
    a log that names none."""
    if log.verdict != "named":
        return True
    plan = _mean_waits(log.ranked[0])
    could_be = [r for k, r in enumerate(rows.ranked) if k == 0 or r.tied]
    return any(
        all(abs(a - b) <= 0.2 * max(a, b) + 0.1 for a, b in zip(plan, _mean_waits(r), strict=False)) for r in could_be
    )


def with_timeout(cohorts: Cohorts, timeout_s: float | None, catalogue: Sequence[CatalogueEntry]) -> Cohorts:
    """Policies read off bare waits, with the timeout that the log itself shows; None where no caller hung up."""
    return replace(cohorts, parts={value: _timed(c, timeout_s, catalogue) for value, c in cohorts.parts.items()})


def _timed(cohort: Cohort, timeout_s: float | None, catalogue: Sequence[CatalogueEntry]) -> Cohort:
    ranked = tuple(_ranked_timed(r, timeout_s, catalogue) for r in cohort.match.ranked)
    fits = tuple(replace(f, policy=replace(f.policy, timeout_s=timeout_s)) for f in cohort.match.fits)
    why = f"{cohort.match.why}; the log shows the waits themselves, from the end of an attempt to the start of the next"
    return replace(cohort, match=replace(cohort.match, ranked=ranked, fits=fits, why=why))


def _ranked_timed(ranked: RankedPolicy, timeout_s: float | None, catalogue: Sequence[CatalogueEntry]) -> RankedPolicy:
    policy = replace(ranked.policy, timeout_s=timeout_s)
    said = ranked.cannot_tell_from
    if timeout_s is None:
        said = ("any timeout: no caller was seen to hang up", *said)
    return replace(ranked, policy=policy, policy_ids=entries_that_fit(policy, catalogue), cannot_tell_from=said)


def cohort_policies(cohorts: Cohorts) -> tuple[CohortPolicy, ...]:
    """The ranked policies of all cohorts that have one, most groups first."""
    total = sum(c.groups for c in cohorts.parts.values())
    return tuple(
        CohortPolicy(c.words, c.groups, c.groups / total, c.match.explained_share, ranked, c.match.residual_s)
        for c in cohorts.named
        for ranked in c.match.ranked
    )
