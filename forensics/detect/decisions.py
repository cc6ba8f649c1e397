"""What people decided about groups of payments, laid over what the rows say; none is followed or left out in silence.

"Not a duplicate" takes a group's repeats out of the excess, the refunds and the review. "A duplicate" makes them beyond
doubt, those read as lawful among them; a second checkout under another order becomes an excess by it. A decision was
made about rows and amounts that someone saw: where the group has others now, it is not applied.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TypeAlias

from forensics.amounts import many, money_words, plain
from forensics.detect.duplicates import evidence_of, sum_by_currency
from forensics.model import Decision, DecisionOutcome, Finding, RepeatRow, SecondCheckouts

Groups: TypeAlias = Mapping[str, Sequence[RepeatRow]]
_EFFECT_ROLES = ("kept", "excess", "refunded", "legitimate", "second_checkout")


def with_states(rows: Sequence[RepeatRow]) -> tuple[RepeatRow, ...]:
    """The rows, each with the state of its group: the same as long as the group's rows and amounts are."""
    states = {group_id: _state(members) for group_id, members in _groups(rows).items()}
    return tuple(replace(row, group_state=states[row.group_id]) for row in rows)


def apply_decisions(
    rows: Sequence[RepeatRow], decisions: Sequence[Decision], today: date | None
) -> tuple[tuple[RepeatRow, ...], tuple[DecisionOutcome, ...]]:
    """The rows as decided, and what became of each decision, in order.

    Args:
        rows: with the states of their groups.
        today: what `until` is held against; None: no decision counts as expired.
    """
    groups = _groups(rows)
    outcomes = _without_contradictions([_settle(decision, groups, today) for decision in decisions])
    decided: dict[tuple[int, int], RepeatRow] = {}
    counted = []
    for outcome in outcomes:
        changed: list[RepeatRow] = []
        if outcome.status == "applied" and outcome.group_id is not None:
            before = groups[outcome.group_id]
            after = _decide(before, outcome.decision)
            changed = [new for old, new in zip(before, after, strict=True) if _moved(old, new)]
            decided |= {(row.source_id, row.line_no): row for row in after}
        counted.append(replace(outcome, rows=len(changed), amount=sum_by_currency(changed)))
    return tuple(decided.get((row.source_id, row.line_no), row) for row in rows), tuple(counted)


def decide_checkouts(
    rows: Sequence[RepeatRow], found: SecondCheckouts, outcomes: Sequence[DecisionOutcome], today: date | None
) -> tuple[tuple[RepeatRow, ...], SecondCheckouts, tuple[DecisionOutcome, ...]]:
    """The decisions that no repeated act answered, held against the groups of second checkouts.

    Args:
        rows: of repeated acts, as decided. What is decided to be a duplicate is among them afterwards, as excess.
        found: the second checkouts. What is decided either way is no suspect any more.
        outcomes: of all decisions against `rows`, in order.
    """
    asked = [o for o in outcomes if o.status != "applied"]
    members, answers = apply_decisions(found.members, [o.decision for o in asked], today)
    told = {o.decision.where: new for o, new in zip(asked, answers, strict=True) if new.group_id and o.group_id is None}
    told |= {o.decision.where: new for o, new in zip(asked, answers, strict=True) if new.status == "applied"}
    settled = {o.group_id for o in told.values() if o.status == "applied" and o.decision.is_duplicate}
    owed = {_place(row): row for row in members if row.group_id in settled}
    moved = {place: row for place, row in owed.items() if row.role == "excess"}
    acts = {_place(row) for row in rows}
    joined = [row for place, row in owed.items() if place not in acts]
    suspects = tuple(row for row in members if row.role == "second_checkout")
    return (
        (*(moved.get(_place(row), row) for row in rows), *joined),
        replace(
            found,
            members=members,
            suspects=suspects,
            amount=sum_by_currency(suspects),
            beside=beside_acts(members, acts | set(owed)),
        ),
        tuple(told.get(o.decision.where, o) for o in outcomes),
    )


def beside_acts(members: Iterable[RepeatRow], acts: Container[tuple[int, int]]) -> tuple[RepeatRow, ...]:
    """The members of second checkouts that stand in no repeated act, each once. `acts`: places of rows that do."""
    beside = {_place(row): row for row in members if _place(row) not in acts}
    return tuple(sorted(beside.values(), key=lambda r: (r.group_id, r.created_at, r.source_id, r.line_no)))


def _place(row: RepeatRow) -> tuple[int, int]:
    return row.source_id, row.line_no


def find_decisions(outcomes: Sequence[DecisionOutcome], rows: Sequence[RepeatRow]) -> tuple[Finding, ...]:
    """The decisions that could not be applied: each needs a person to look again."""
    left = [o for o in outcomes if o.status != "applied"]
    if not left:
        return ()
    about = {o.group_id for o in left}
    at_hand = [row for row in rows if row.group_id in about]
    return (
        Finding(
            id="decisions-not-applied",
            rule="duplicates/decisions",
            title=f"{many(len(left), 'decision')} not applied",
            severity="low",
            confidence=1.0,
            statement=f"{len(left):,} of {many(len(outcomes), 'decision')} about groups of payments not applied; their "
            "groups stand as the evidence has them.",
            why=tuple(f"{o.decision.where}: {o.why}" for o in left[:20]),
            alternatives=(),
            numbers={"not_applied": len(left), "decisions": len(outcomes)},
            money={},
            query="duplicates/rows_of_repeated_orders",
            parameters={},
            evidence=evidence_of(at_hand),
            evidence_total=len(at_hand),
            next_steps=("look at these groups again, and decide with the group_state of this run's duplicates.csv",),
        ),
    )


def _groups(rows: Sequence[RepeatRow]) -> dict[str, list[RepeatRow]]:
    groups: dict[str, list[RepeatRow]] = defaultdict(list)
    for row in rows:
        groups[row.group_id].append(row)
    return groups


def _state(members: Sequence[RepeatRow]) -> str:
    """A digest of what a person sees of the group: ids, times, amounts and statuses, in any order and from any file."""
    seen = sorted(
        "\x1f".join((r.payment_id or "", r.created_at.isoformat(), plain(r.amount), r.currency, r.status))
        for r in members
    )
    return hashlib.sha256("\x1e".join(seen).encode()).hexdigest()[:8]


def _settle(decision: Decision, groups: Groups, today: date | None) -> DecisionOutcome:
    """What becomes of one decision by itself."""
    named = [
        (group_id, members)
        for group_id, members in (
            ((decision.group_id, groups.get(decision.group_id, ())),) if decision.group_id else groups.items()
        )
        if members and (decision.business_key is None or decision.business_key in {r.business_key for r in members})
    ]
    same = [group_id for group_id, members in named if members[0].group_state == decision.group_state]
    status, why = "applied", f"decided by {decision.by}: {decision.why}"
    if decision.until is not None and today is not None and decision.until < today:
        status, why = "expired", f"it counted until {decision.until}"
    elif not named:
        status, why = "gone", "no such group among the repeated acts of this evidence"
    elif not same:
        members = named[0][1]
        now = f"{many(len(members), 'row')}, {money_words(sum_by_currency(members))}, state {members[0].group_state}"
        status, why = "changed", f"the group has other rows or amounts than when it was decided: now {now}"
    group = same[0] if same else (named[0][0] if named else None)
    business_key = groups[group][0].business_key if group else None
    return DecisionOutcome(decision, status, why, group, business_key, 0, {})


def _without_contradictions(outcomes: Sequence[DecisionOutcome]) -> list[DecisionOutcome]:
    """Decisions that say both of one group are followed by none; the same said twice is followed once."""
    said: dict[str | None, set[bool]] = defaultdict(set)
    for outcome in outcomes:
        if outcome.status == "applied":
            said[outcome.group_id].add(outcome.decision.is_duplicate)
    return [
        replace(o, status="contradicted", why="another decision says the opposite of the same group")
        if o.status == "applied" and len(said[o.group_id]) > 1
        else o
        for o in outcomes
    ]


def _decide(members: Sequence[RepeatRow], decision: Decision) -> list[RepeatRow]:
    effects = [row for row in members if row.role in _EFFECT_ROLES]
    first = next((row for row in effects if row.role == "kept"), effects[0] if effects else None)
    words = f"decided by {decision.by}: {'a' if decision.is_duplicate else 'not a'} duplicate ({decision.why})"
    return [
        row
        if row.role not in _EFFECT_ROLES
        else _as_duplicate(row, first, words)
        if decision.is_duplicate
        else _as_lawful(row, words)
        for row in members
    ]


def _as_lawful(row: RepeatRow, words: str) -> RepeatRow:
    return replace(
        row,
        role="legitimate",
        why=f"{row.why}; {words}",
        cause=None,
        policy=None,
        confidence=1.0,
        excess_probability=None,
        alternatives=(),
        kept_payment_id=None,
    )


def _as_duplicate(row: RepeatRow, kept: RepeatRow | None, words: str) -> RepeatRow:
    if kept is None or row == kept:
        return replace(row, role="kept", why=f"{row.why}; {words}", confidence=1.0)
    if row.role == "refunded":
        return replace(row, why=f"{row.why}; {words}", excess_probability=1.0)
    return replace(
        row,
        role="excess",
        why=f"{row.why}; {words}",
        cause=row.cause or "unexplained",
        excess_probability=1.0,
        kept_payment_id=row.kept_payment_id or kept.payment_id,
    )


def _moved(old: RepeatRow, new: RepeatRow) -> bool:
    """Whether the row's money stands elsewhere now: in or out of the excess, or surer than it was."""
    owed = ("excess", "refunded")
    if (old.role in owed) != (new.role in owed):
        return True
    if old.role == "second_checkout":
        return new.role != old.role
    return new.role == "excess" and old.excess_probability != new.excess_probability
