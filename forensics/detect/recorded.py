"""One payment, two rows: which ledger rows were written again, though money moved once.

By the ledger's own payment id, or by the provider's reference of a charge (a webhook and a checkout that both record
it), whatever their clocks say. Without ids: rows equal in every cell that stand the same whole number of half hours
after their first, many at once: a file read in another zone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import time, timedelta
from itertools import pairwise

from forensics.detect.rows import LedgerRow

Where = tuple[int, int]

_ZONE_STEP = timedelta(minutes=30)
# UTC-12 to UTC+14: no two clocks are further apart.
_FURTHEST = timedelta(hours=26)
_FEWEST_SHIFTED = 3
_SHIFTED_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class WrittenAgain:
    """A row that was written again."""

    why: str
    beyond_doubt: bool


def written_again(rows: Sequence[LedgerRow]) -> dict[Where, WrittenAgain]:
    """The rows of one act that repeat the payment id or the provider's reference of another of the same amount.

    Of several that moved money the one that says refunded stands, as it is the later word; else the first.
    """
    copies: dict[tuple[object, ...], list[LedgerRow]] = defaultdict(list)
    for row in rows:
        if row.payment_id is not None:
            state = "effect" if row.is_effect else row.status
            copies[("payment id", row.payment_id, row.kind, state, row.amount, row.currency)].append(row)
    again = _all_but_one(copies)
    copies.clear()
    for row in rows:
        # A reference that itself names the act, or an authorisation taken in parts, stands for more than one movement.
        named = row.provider_ref and row.provider_ref != row.business_key and row.kind == "charge"
        if named and row.is_effect and _where(row) not in again:
            copies[("provider reference", row.provider_ref, row.amount, row.currency)].append(row)
    return again | _all_but_one(copies)


def _all_but_one(copies: Mapping[tuple[object, ...], Sequence[LedgerRow]]) -> dict[Where, WrittenAgain]:
    again = {}
    for (name, *_), rows in copies.items():
        stands = next((r for r in rows if r.is_effect and r.status == "refunded"), rows[0])
        why = f"the same {name} as line {stands.line_no}: one payment, two rows"
        again.update({_where(r): WrittenAgain(why, True) for r in rows if r is not stands})
    return again


def shifted_copies(rows: Iterable[LedgerRow]) -> dict[Where, WrittenAgain]:
    """The rows that were loaded a second time with another zone: equal but for a shift that many share exactly."""
    firsts: dict[tuple[object, ...], list[LedgerRow]] = defaultdict(list)
    for row in rows:
        if row.is_effect and row.payment_id is None:
            firsts[_cells(row)].append(row)
    shifts: dict[tuple[int, int], list[tuple[timedelta, LedgerRow, LedgerRow]]] = defaultdict(list)
    for same in firsts.values():
        for first, row in pairwise(same):
            files = min(first.source_id, row.source_id), max(first.source_id, row.source_id)
            shifts[files].append((row.created_at - first.created_at, first, row))
    again: dict[Where, WrittenAgain] = {}
    for pairs in shifts.values():
        again.update(_one_shift(pairs))
    return again


def _one_shift(pairs: Sequence[tuple[timedelta, LedgerRow, LedgerRow]]) -> dict[Where, WrittenAgain]:
    """All pairs of two files, if nearly all of them share one shift that zones can make, over several times."""
    counts: dict[timedelta, int] = defaultdict(int)
    for shift, _, _ in pairs:
        counts[shift] += 1
    shift = max(counts, key=lambda s: (counts[s], -s))
    shared = [(first, row) for s, first, row in pairs if s == shift]
    by_zone = timedelta() < shift <= _FURTHEST and not shift % _ZONE_STEP
    several = len({row.created_at for _, row in shared}) >= _FEWEST_SHIFTED
    # Within one file, rows that hold days only may have been booked again on the next day.
    apart = any(first.source_id != row.source_id or row.created_at.time() != time() for first, row in shared)
    if not (by_zone and several and apart and len(shared) >= _SHIFTED_SHARE * len(pairs)):
        return {}
    hours = f"{shift / timedelta(hours=1):g}"
    return {
        _where(row): WrittenAgain(
            f"equal to line {first.line_no} but for {hours} hours, exactly, as {len(shared)} rows are: "
            "the same rows read in another zone",
            False,
        )
        for first, row in shared
    }


def _cells(row: LedgerRow) -> tuple[object, ...]:
    return (
        *(row.business_key, row.order_id, row.amount, row.currency, row.status, row.kind, row.customer_id),
        *(row.instrument, row.idempotency_key, row.request_id, row.channel, row.sender, row.message_no, row.operator),
        *(row.instalment, row.memo, row.provider_ref, row.original_ref),
    )


def _where(row: LedgerRow) -> Where:
    return row.source_id, row.line_no
