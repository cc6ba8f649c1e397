"""The rows of repeated business acts, and what each of them is: kept, excess, lawful, no effect, recorded twice.

One order is walked in time order. An effect stands against the effects before it with the same amount, currency and
instrument; it is excess unless something in the rows makes it lawful, and every decision carries its reason.
These are simple rules; where they cannot know, they say less, not more.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby

from forensics.runner import Runner

EFFECT_KINDS = ("charge", "capture", "topup")
EFFECT_STATUSES = ("captured", "refunded")
# Retry schedules of job queues and webhooks reach days; a repeat after six days is a series, unless a key ties it.
SERIES_AFTER = timedelta(days=6)
_NTH_OF_M = re.compile(r"(\d+)\s*/\s*(\d+)")


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One row of the query duplicates/rows_of_repeated_orders."""

    order_id: str
    created_at: datetime
    source_id: int
    line_no: int
    payment_id: str | None
    amount: Decimal
    currency: str
    status: str
    kind: str
    customer_id: str | None
    instrument: str | None
    idempotency_key: str | None
    request_id: str | None
    channel: str | None
    sender: str | None
    message_no: str | None
    batch_id: str | None
    operator: str | None
    instalment: str | None
    memo: str | None
    provider_ref: str | None
    original_ref: str | None

    @property
    def is_effect(self) -> bool:
        """Whether the row moved money (the view `effects`, row by row)."""
        return self.status in EFFECT_STATUSES and self.kind in EFFECT_KINDS and self.amount > 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A row with its role; the cause of an excess is found elsewhere."""

    row: LedgerRow
    group_id: str
    role: str
    why: str
    beyond_doubt: bool
    """Whether the rows alone settle the role."""
    gap_us: int | None
    """Since the previous effect of the same act."""
    previous: LedgerRow | None
    """That effect."""
    kept: LedgerRow | None
    """For excess and refunded rows: the effect that stands."""


def judge_rows(runner: Runner) -> tuple[Judged, ...]:
    """Every row of every order with more than one effect, with its role, by order and time."""
    result = runner.run("duplicates/rows_of_repeated_orders")
    rows = (LedgerRow(*cells) for cells in result.rows)
    return tuple(judged for _, order in groupby(rows, key=lambda r: r.order_id) for judged in judge_order(list(order)))


def judge_order(rows: Sequence[LedgerRow]) -> list[Judged]:
    """The roles of one order's rows, which come in time order."""
    repeated = _recorded_twice(rows)
    refunds = [r for r in rows if r.kind in ("refund", "void", "chargeback") and r.status not in ("failed", "pending")]
    judged: dict[tuple[int, int], Judged] = {}
    for row in rows:
        where = (row.source_id, row.line_no)
        if where in repeated:
            judged[where] = _plain(
                row, "recorded_twice", f"the same payment id as line {repeated[where]}: one payment, two rows"
            )
        elif not row.is_effect:
            judged[where] = _plain(row, "not_an_effect", f"{row.kind} {row.status}: no money moved into the ledger")
    effects = [r for r in rows if (r.source_id, r.line_no) not in judged]
    effects = _captures_within_authorisation(rows, effects, judged)
    for act in _acts(effects):
        for item in _judge_act(act, refunds, others=len(effects) - len(act)):
            judged[(item.row.source_id, item.row.line_no)] = item
    return [judged[(r.source_id, r.line_no)] for r in rows]


def _captures_within_authorisation(
    rows: Sequence[LedgerRow], effects: Sequence[LedgerRow], judged: dict[tuple[int, int], Judged]
) -> list[LedgerRow]:
    """Judge captures as lawful parts while their sum stays within what was authorised; the rest is returned."""
    held: dict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        if row.kind == "authorisation" and row.status in ("authorised", "captured"):
            held[row.currency] += row.amount
    taken: dict[str, Decimal] = defaultdict(Decimal)
    rest = []
    for row in effects:
        if row.kind == "capture" and taken[row.currency] + row.amount <= held[row.currency]:
            taken[row.currency] += row.amount
            why = f"a capture within the {held[row.currency].normalize():f} {row.currency} that were authorised"
            judged[(row.source_id, row.line_no)] = _plain(row, "legitimate", why)
        else:
            rest.append(row)
    return rest


def _plain(row: LedgerRow, role: str, why: str) -> Judged:
    return Judged(row, _group_id(row), role, why, True, None, None, None)


def _group_id(row: LedgerRow) -> str:
    text = "\x1f".join((row.order_id, row.currency, f"{abs(row.amount).normalize():f}"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _recorded_twice(rows: Sequence[LedgerRow]) -> dict[tuple[int, int], int]:
    """Rows that repeat a payment id already seen with the same kind, status and amount -> line of the first."""
    first: dict[tuple[object, ...], LedgerRow] = {}
    again: dict[tuple[int, int], int] = {}
    for row in rows:
        if row.payment_id is None:
            continue
        same = (row.payment_id, row.kind, row.status, row.amount, row.currency)
        if same in first:
            again[(row.source_id, row.line_no)] = first[same].line_no
        else:
            first[same] = row
    return again


def _acts(effects: Sequence[LedgerRow]) -> Iterator[list[LedgerRow]]:
    """Effects of one order that could be one act: same amount, currency and instrument (an unknown one fits any)."""

    def key(row: LedgerRow) -> tuple[str, Decimal]:
        return row.currency, row.amount

    for _, same_amount in groupby(sorted(effects, key=key), key=key):
        act = sorted(same_amount, key=lambda r: (r.created_at, r.source_id, r.line_no))
        instruments = {r.instrument for r in act if r.instrument}
        if len(instruments) > 1:
            yield from ([r for r in act if (r.instrument or act[0].instrument) == i] for i in sorted(instruments))
        else:
            yield act


def _judge_act(act: Sequence[LedgerRow], refunds: Sequence[LedgerRow], others: int) -> Iterator[Judged]:
    """Roles of effects that could be one act, in time order. `others`: effects of the order that are not of it."""
    if not act:
        return
    kept = act[0]
    excess: list[int] = []
    judged: list[Judged] = []
    for i, row in enumerate(act):
        previous = act[i - 1] if i else None
        gap = _micros(row.created_at - previous.created_at) if previous else None
        lawful = _lawful(row, act[:i], refunds) if i else None
        if i == 0 or lawful:
            role = "legitimate" if lawful else ("kept" if len(act) > 1 else "legitimate")
            why = lawful or _why_first(act, others)
            judged.append(Judged(row, _group_id(row), role, why, True, gap, previous, None))
            kept = row
        else:
            why, sure = _why_excess(row, kept)
            excess.append(i)
            judged.append(Judged(row, _group_id(row), "excess", why, sure, gap, previous, kept))
    yield from _given_back(judged, excess, refunds)


def _why_first(act: Sequence[LedgerRow], others: int) -> str:
    if len(act) > 1:
        return "the first effect of the act: it stands"
    if others:
        return "the only effect of this amount and instrument: a part payment or another act of the order"
    return "the only effect of the act"


def _why_excess(row: LedgerRow, kept: LedgerRow) -> tuple[str, bool]:
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
    base = f"same order, amount and currency as {kept.payment_id or 'line ' + str(kept.line_no)}"
    if shared:
        return f"{base}, and the same {' and '.join(shared)}", True
    if row.instrument and row.instrument == kept.instrument:
        return f"{base}, same instrument", False
    return base, False


def _lawful(row: LedgerRow, before: Sequence[LedgerRow], refunds: Sequence[LedgerRow]) -> str | None:
    """Why a repeat of amount and instrument is lawful, or None when nothing says so."""
    kept = before[0]
    last = before[-1]
    tied = _tied(row, before)
    if _numbered_apart(row, before):
        return "numbered as another instalment or shipment of the series"
    given_back = sum(kept.created_at <= r.created_at <= row.created_at and abs(r.amount) == row.amount for r in refunds)
    if given_back >= len(before):
        return "charged again after what came before it was given back"
    if row.kind == "topup" and not tied:
        return "a top-up: one number stands for the wallet, not for one act"
    if row.created_at - last.created_at > SERIES_AFTER and not tied:
        return "more than six days after the one before: a series or an instalment"
    return None


def _tied(row: LedgerRow, before: Iterable[LedgerRow]) -> bool:
    """Whether a key, request or message ties the row to an earlier effect."""
    return any(
        mine is not None and mine == theirs
        for other in before
        for mine, theirs in (
            (row.idempotency_key, other.idempotency_key),
            (row.request_id, other.request_id),
            (row.message_no, other.message_no),
        )
    )


def _numbered_apart(row: LedgerRow, before: Sequence[LedgerRow]) -> bool:
    """Whether the row bears a series number that no earlier effect bears: 2/4 after 1/4, instalment 2 after 1."""
    mine = _number(row)
    return mine is not None and all(_number(other) not in (None, mine) for other in before)


def _number(row: LedgerRow) -> str | None:
    if row.instalment:
        return row.instalment
    match = _NTH_OF_M.search(row.memo or "")
    return match.group(0) if match else None


def _given_back(judged: Sequence[Judged], excess: Sequence[int], refunds: Sequence[LedgerRow]) -> Iterator[Judged]:
    """Excess effects that a later refund of the same amount gave back, by reference first, else the latest ones."""
    used: set[tuple[int, int]] = set()
    refunded: dict[int, LedgerRow] = {}
    for i in reversed(excess):
        row = judged[i].row
        for refund in refunds:
            where = (refund.source_id, refund.line_no)
            fits = abs(refund.amount) == row.amount and refund.created_at >= row.created_at
            names_other = refund.original_ref is not None and refund.original_ref != row.payment_id
            if where not in used and fits and not names_other:
                used.add(where)
                refunded[i] = refund
                break
    for i, item in enumerate(judged):
        if i in refunded or (item.role == "excess" and item.row.status == "refunded"):
            by = f"given back in line {refunded[i].line_no}" if i in refunded else "the ledger says refunded"
            yield Judged(
                item.row,
                item.group_id,
                "refunded",
                f"{item.why}; {by}",
                item.beyond_doubt,
                item.gap_us,
                item.previous,
                item.kept,
            )
        else:
            yield item


def _micros(gap: timedelta) -> int:
    return gap // timedelta(microseconds=1)
