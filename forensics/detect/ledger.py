"""The rows of repeated business acts, and what each of them is: kept, excess, lawful, no effect, recorded twice.

One order is walked in time order. An effect stands against the effects before it with the same amount, currency and
instrument; it is excess unless something in the rows makes it lawful, and every decision carries its reason.
These are simple rules; where they cannot know, they say less, not more.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import groupby

from forensics.detect.lawful import Lawful, again, alone, is_tied, within_authorisation
from forensics.detect.recorded import Where, WrittenAgain, shifted_copies, written_again
from forensics.detect.rows import Judged, LedgerRow
from forensics.runner import Runner


def judge_rows(runner: Runner, named: str = "order") -> tuple[Judged, ...]:
    """Every row of every act with more than one effect, with its role, by act and time.

    `named`: what repeats of an act share, in words.
    """
    result = runner.run("duplicates/rows_of_repeated_orders")
    rows = [LedgerRow(*cells) for cells in result.rows]
    shifted = shifted_copies(rows)
    acts = groupby(rows, key=lambda r: r.business_key)
    return tuple(judged for _, act in acts for judged in judge_order(list(act), named, shifted))


def judge_order(
    rows: Sequence[LedgerRow], named: str = "order", shifted: Mapping[Where, WrittenAgain] | None = None
) -> list[Judged]:
    """The roles of the rows under one business key, which come in time order.

    `shifted`: rows of any act that are copies read in another zone, which no single act can show.
    """
    repeated = {**(shifted or {}), **written_again(rows)}
    refunds = [r for r in rows if r.is_refund and (r.source_id, r.line_no) not in repeated]
    judged: dict[tuple[int, int], Judged] = {}
    for row in rows:
        where = (row.source_id, row.line_no)
        if where in repeated:
            copy = repeated[where]
            judged[where] = replace(_plain(row, "recorded_twice", copy.why), beyond_doubt=copy.beyond_doubt)
        elif not row.is_effect:
            judged[where] = _plain(row, "not_an_effect", f"{row.kind} {row.status}: no money moved into the ledger")
    effects = [r for r in rows if (r.source_id, r.line_no) not in judged]
    effects = _captures_within_authorisation(rows, effects, judged)
    for act in _acts(effects):
        others = [r for r in effects if r not in act]
        for item in _judge_act(act, refunds, others, named):
            judged[(item.row.source_id, item.row.line_no)] = item
    return [judged[(r.source_id, r.line_no)] for r in rows]


def _captures_within_authorisation(
    rows: Sequence[LedgerRow], effects: Sequence[LedgerRow], judged: dict[tuple[int, int], Judged]
) -> list[LedgerRow]:
    """Judge captures as lawful parts while their sum stays within what was authorised; the rest is returned.

    A capture beyond that is returned with the last lawful one of its amount, which it may repeat.
    """
    held: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row.kind == "authorisation" and row.status in ("authorised", "captured"):
            held[row.currency] += row.amount
    taken: dict[str, Decimal] = defaultdict(Decimal)
    lawful: list[LedgerRow] = []
    rest: list[LedgerRow] = []
    for row in effects:
        if row.kind == "capture" and taken[row.currency] + row.amount <= held[row.currency]:
            taken[row.currency] += row.amount
            lawful.append(row)
            continue
        act = (row.kind, row.currency, row.amount)
        twin = next((r for r in reversed(lawful) if act == (r.kind, r.currency, r.amount)), None)
        if twin and not any(act == (r.kind, r.currency, r.amount) for r in rest):
            lawful.remove(twin)
            rest.append(twin)
        rest.append(row)
    for row in lawful:
        reason = within_authorisation(f"{held[row.currency].normalize():f} {row.currency}")
        judged[(row.source_id, row.line_no)] = _plain(row, "legitimate", reason.why, reason)
    return rest


def _plain(row: LedgerRow, role: str, why: str, lawful: Lawful | None = None) -> Judged:
    return Judged(row, _group_id(row), role, why, True, None, None, None, lawful.name if lawful else None)


def _group_id(row: LedgerRow) -> str:
    text = "\x1f".join((row.business_key, row.currency, f"{abs(row.amount).normalize():f}", row.instrument or ""))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _acts(effects: Sequence[LedgerRow]) -> Iterator[list[LedgerRow]]:
    """Effects of one order that could be one act: same amount, currency, instrument and payer (unknown fits any)."""

    def key(row: LedgerRow) -> tuple[str, Decimal]:
        return row.currency, row.amount

    for _, same_amount in groupby(sorted(effects, key=key), key=key):
        act = sorted(same_amount, key=lambda r: (r.created_at, r.source_id, r.line_no))
        for same_instrument in _apart(act, [r.instrument for r in act]):
            # A key or a request that two customers share is one call: the name of the payer is what differs.
            tied = any(is_tied(row, same_instrument[:n]) for n, row in enumerate(same_instrument))
            payers = [None if tied else r.customer_id for r in same_instrument]
            yield from _apart(same_instrument, payers)


def _apart(act: Sequence[LedgerRow], names: Sequence[str | None]) -> Iterator[list[LedgerRow]]:
    """The rows by what each is named; those without a name go with the first that has one."""
    known = [name for name in names if name]
    if not known:
        yield list(act)
    for name in sorted(set(known)):
        yield [row for row, mine in zip(act, names, strict=True) if (mine or known[0]) == name]


def _judge_act(
    act: Sequence[LedgerRow], refunds: Sequence[LedgerRow], others: Sequence[LedgerRow], named: str
) -> Iterator[Judged]:
    """Roles of effects that could be one act, in time order. `others`: effects under its key that are not of it."""
    if not act:
        return
    kept = act[0]
    excess: list[int] = []
    judged: list[Judged] = []
    for i, row in enumerate(act):
        previous = _before(act, i)
        gap = _micros(row.created_at - previous.created_at) if previous else None
        lawful = alone(row, others) if len(act) == 1 else again(act, i, refunds) if i else None
        if lawful:
            judged.append(_lawful(row, lawful, gap, previous))
            kept = row
        elif i == 0:
            why = "the first effect of the act: it stands"
            judged.append(Judged(row, _group_id(row), "kept", why, True, gap, previous, None))
        else:
            why, sure = _why_excess(row, kept, named)
            excess.append(i)
            judged.append(Judged(row, _group_id(row), "excess", why, sure, gap, previous, kept))
    yield from _given_back(judged, excess, refunds)


def _before(act: Sequence[LedgerRow], at: int) -> LedgerRow | None:
    """The effect that the one at that place comes after: the last of its own call where ids tell, else the last."""
    tied = (row for row in reversed(act[:at]) if is_tied(act[at], (row,)))
    return next(tied, act[at - 1] if at else None)


def _lawful(row: LedgerRow, why: Lawful, gap_us: int | None, previous: LedgerRow | None) -> Judged:
    sure = not why.doubt
    return Judged(row, _group_id(row), "legitimate", why.why, sure, gap_us, previous, None, why.name, why.doubt)


def _why_excess(row: LedgerRow, kept: LedgerRow, named: str) -> tuple[str, bool]:
    """Why a repeat is excess, and whether the rows alone settle it."""
    shared = [
        name
        for name, mine, theirs in (
            ("request id", row.request_id, kept.request_id),
            ("idempotency key", row.idempotency_key, kept.idempotency_key),
            ("message number", row.message_no, kept.message_no),
        )
        if mine and mine == theirs
    ]
    base = f"same {named}, amount and currency as {kept.payment_id or 'line ' + str(kept.line_no)}"
    if shared:
        return f"{base}, and the same {' and '.join(shared)}", True
    if row.instrument and row.instrument == kept.instrument:
        return f"{base}, same instrument", False
    return base, False


def _given_back(judged: Sequence[Judged], excess: Sequence[int], refunds: Sequence[LedgerRow]) -> Iterator[Judged]:
    """Excess effects whose money went back later become refunded."""
    back = _refunded_by(judged, excess, refunds)
    for i, item in enumerate(judged):
        yield replace(item, role="refunded", why=f"{item.why}; {back[i]}") if i in back else item


def _refunded_by(judged: Sequence[Judged], excess: Sequence[int], refunds: Sequence[LedgerRow]) -> dict[int, str]:
    """What gave each excess effect back: a refund that names it, else one that names none of them (latest first).

    When the payment that stands was given back, one repeat stands in its place: nothing is owed for it any more.
    """
    left = list(refunds)
    unnamed = {r.original_ref for r in refunds} - {name for item in judged for name in item.row.names}
    back: dict[int, str] = {}

    def settle(i: int, called: Container[str | None], text: str) -> None:
        row = judged[i].row
        for r in left:
            if abs(r.amount) == row.amount and r.created_at >= row.created_at and r.original_ref in called:
                left.remove(r)
                back[i] = f"{text} in line {r.line_no}"
                return

    latest = sorted(excess, key=lambda i: (judged[i].row.status == "refunded", i), reverse=True)
    for i in latest:
        settle(i, judged[i].row.names, "given back")
    for i in latest:
        if i not in back:
            settle(i, unnamed, "given back")
        if i not in back and judged[i].row.status == "refunded":
            back[i] = "the ledger says refunded"
    settled: set[LedgerRow] = set()
    for i in latest:
        kept = judged[i].kept
        if i not in back and kept and kept not in settled:
            settle(i, kept.names, "the payment that it repeats was given back")
            if i not in back and kept.status == "refunded":
                back[i] = "the payment that it repeats was given back, says the ledger"
            settled.add(kept)
    return back


def _micros(gap: timedelta) -> int:
    return gap // timedelta(microseconds=1)
