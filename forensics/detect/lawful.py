"""Why an effect beside another of its order may be lawful: the named classes, each with its reason.

split_tender      one bill, several instruments
part_payment      another amount of the order: a part payment, a shipment or an amendment
partial_capture   a capture within what was authorised
instalment        numbered as a part of a series
series            a day, a week, a month later: a subscription or a rent
charged_again     after what came before it was given back
top_up            one number stands for a wallet, not for one act
two_payers        two customers paid one bill: lawful by a narrow margin, a person judges
bought_twice      the caller meant a second act (weighed by forensics.analysis.causes, not decided here)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from forensics.detect.rows import LedgerRow

# Retry schedules of job queues and webhooks reach days; a repeat after six days is a series, unless a key ties it.
SERIES_AFTER = timedelta(days=6)
_NTH_OF_M = re.compile(r"(\d+)\s*/\s*(\d+)")
# A day is 23 or 25 hours long where clocks change; a job that runs by the day starts within some minutes.
_DAYS = tuple(timedelta(hours=hours) for hours in (23, 24, 25))
_DAY_SLACK = timedelta(minutes=5)
_SPACINGS = (
    (timedelta(days=6), timedelta(days=8), "a week"),
    (timedelta(days=13), timedelta(days=15), "two weeks"),
    (timedelta(days=27), timedelta(days=32), "a month"),
    (timedelta(days=88), timedelta(days=93), "a quarter"),
    (timedelta(days=364), timedelta(days=367), "a year"),
)


@dataclass(frozen=True, slots=True)
class Lawful:
    """Why a row is lawful."""

    name: str | None
    """The class; None where nothing stands beside the row that it could repeat."""
    why: str
    doubt: float = 0.0
    """That it is one payment too many all the same; above 0 a person judges it."""


def within_authorisation(held: str) -> Lawful:
    """A capture that stays within what was authorised. `held`: that sum in words."""
    return Lawful("partial_capture", f"a capture within the {held} that were authorised")


def alone(row: LedgerRow, others: Sequence[LedgerRow]) -> Lawful:
    """The only effect of its amount, instrument and payer. `others`: the other effects under its key."""
    if not others:
        return Lawful(None, "the only effect of the act")
    same_bill = [o for o in others if (o.amount, o.currency) == (row.amount, row.currency)]
    payers = [o for o in same_bill if _differ(row.customer_id, o.customer_id)]
    if payers:
        later = any(_before(o, row) for o in payers)
        why = "another customer paid the same under this key: two payers of one bill, or one bill paid once too often"
        return Lawful("two_payers", why, 0.4 if later else 0.0)
    if any(_differ(row.instrument, o.instrument) for o in others):
        return Lawful("split_tender", "the only effect of this instrument: a payment split over several")
    return Lawful("part_payment", "the only effect of this amount: a part payment, a shipment or an amendment")


def again(act: Sequence[LedgerRow], at: int, refunds: Sequence[LedgerRow]) -> Lawful | None:
    """Why a repeat of amount, instrument and payer is lawful, or None when nothing says so. `at`: its place in the act.

    Rows of the act come in time order.
    """
    row, before = act[at], act[:at]
    tied = is_tied(row, before)
    if _numbered_apart(row, before):
        return Lawful("instalment", "numbered as another instalment or shipment of the series")
    given_back = sum(
        before[0].created_at <= r.created_at <= row.created_at and abs(r.amount) == row.amount for r in refunds
    )
    if given_back >= len(before):
        return Lawful("charged_again", "charged again after what came before it was given back")
    if row.kind == "topup" and not tied:
        return Lawful("top_up", "a top-up: one number stands for the wallet, not for one act")
    since = row.created_at - before[-1].created_at
    if since > SERIES_AFTER and not tied:
        spacing = next((words for low, high, words in _SPACINGS if low <= since <= high), "more than six days")
        return Lawful("series", f"{spacing} after the one before: a series or an instalment")
    if not tied and _runs_daily(act, at):
        return Lawful("series", "a day after the one before, as others of the act are: a daily series")
    return None


def is_tied(row: LedgerRow, before: Iterable[LedgerRow]) -> bool:
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


def _differ(mine: str | None, theirs: str | None) -> bool:
    return bool(mine and theirs and mine != theirs)


def _before(other: LedgerRow, row: LedgerRow) -> bool:
    def place(r: LedgerRow) -> tuple[object, ...]:
        return r.created_at, r.source_id, r.line_no

    return place(other) < place(row)


def _runs_daily(act: Sequence[LedgerRow], at: int) -> bool:
    """Whether the row follows the one before by a day, and another such step stands next to that one."""

    def steps_daily(n: int) -> bool:
        if not 1 <= n < len(act):
            return False
        since = act[n].created_at - act[n - 1].created_at
        return any(abs(since - day) <= _DAY_SLACK for day in _DAYS)

    return steps_daily(at) and (steps_daily(at - 1) or steps_daily(at + 1))


def _numbered_apart(row: LedgerRow, before: Sequence[LedgerRow]) -> bool:
    """Whether the row bears a series number that no earlier effect bears: 2/4 after 1/4, instalment 2 after 1."""
    mine = _number(row)
    return mine is not None and all(_number(other) not in (None, mine) for other in before)


def _number(row: LedgerRow) -> str | None:
    if row.instalment:
        return row.instalment
    match = _NTH_OF_M.search(row.memo or "")
    return match.group(0) if match else None
