"""Equal purchases of one customer under another order soon after: a second checkout after a first that seemed to fail?

They share no order number, so they are no duplicates by name and are never summed into the excess: each is listed
with its probability, for a person to judge. Two orders may also mean two deliveries, which no payment file shows; so
not even a shared key or a lost reply puts one into refunds.csv.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from forensics.amounts import many, money_words
from forensics.analysis.second_checkout import Habits, Pair, Reading, read_pair
from forensics.detect.clues import Call, Where, was_lost
from forensics.detect.decisions import beside_acts, with_states
from forensics.detect.duplicates import evidence_of, sum_by_currency
from forensics.model import Finding, RepeatRow, SecondCheckouts
from forensics.runner import Runner

LISTED_FROM = 0.25
"""Least probability of a pair that a person is asked to look at: one in four is worth the look."""
WINDOW_US = 2 * 3600 * 1_000_000
"""Longest time between a checkout and the second one after a false failure; a longer time is no longer about it."""
_NO_CUSTOMER = "no row that moved money names a customer, so purchases under another order cannot be held together"
_OUT = ("excess", "refunded", "recorded_twice", "legitimate")
_SLACK = timedelta(seconds=1)

CLUE_WORDS: Mapping[str, str] = {
    "lost": "the caller of the first got no answer in time",
    "answered": "the caller of the first had got its answer",
    "failed_between": "a try of the same customer and amount in between failed, or its end is not known",
    "same_id": "both bear the same idempotency key or request id",
    "other_channel": "by another channel",
    "same_instrument": "same instrument",
    "other_instrument": "another instrument",
}


@dataclass(frozen=True, slots=True)
class _Base:
    """What the pairs are weighed against."""

    habits: Habits
    amounts: Mapping[tuple[str, Decimal], tuple[int, int]]
    """Purchases, and equal ones by chance, of each currency and amount at issue."""
    busy: Mapping[int, float]
    """How busy each hour of the day is: 1 is the mean."""
    hours: Mapping[int, tuple[int, int]]
    """Purchases, and those that repeat an equal one, of each hour since 1970."""


def measure_second_checkouts(runner: Runner, rows: Sequence[RepeatRow]) -> SecondCheckouts | str:
    """The probable second checkouts of a ledger; a text that says why where it cannot be asked.

    Args:
        rows: the judged rows of repeated acts: what is excess or lawful there is no second checkout here.
    """
    runner.keep("equal_purchases")
    rate = runner.run("duplicates/equal_purchase_rate", checkout_window_us=WINDOW_US).records()[0]
    if not rate["purchases"]:
        return _NO_CUSTOMER
    base = _base(runner, rate)
    judged = {(r.source_id, r.line_no): r for r in rows}
    lost = _lost_first_replies(runner)
    stands = _standing(rows)
    groups: dict[str, list[RepeatRow]] = {}
    pairs = runner.run("duplicates/second_checkouts", checkout_window_us=WINDOW_US).records()
    for record in sorted(pairs, key=lambda r: (r["created_at"], r["source_id"], r["line_no"])):
        where, first_where = _places(record)
        mine = judged.get(where)
        if (mine and mine.role in _OUT) or _is_settled(record):
            continue
        reading = read_pair(_pair(record, base, lost.get(where)), base.habits)
        if reading.probabilities["once"] < LISTED_FROM:
            continue
        kept = stands.get(first_where) or judged.get(first_where) or _kept(record)
        stands[where] = kept
        group_id = _group_id(record["customer_id"], kept)
        group = groups.setdefault(group_id, [replace(kept, group_id=group_id, group_state="")])
        group.append(_suspect(record, reading, group[0]))
    members = with_states([row for group in groups.values() for row in group])
    suspects = tuple(row for row in members if row.role == "second_checkout")
    return SecondCheckouts(
        effects=rate["effects"],
        purchases=rate["purchases"],
        within=rate["within"],
        expected=round(base.habits.expected, 4),
        window_s=base.habits.window_s,
        suspects=suspects,
        amount=sum_by_currency(suspects),
        beside=beside_acts(members, judged),
        members=members,
    )


def _places(record: Mapping[str, Any]) -> tuple[Where, Where]:
    return (record["source_id"], record["line_no"]), (record["first_source_id"], record["first_line_no"])


def _is_settled(record: Mapping[str, Any]) -> bool:
    """Whether a rule settles the pair: money went back, one payment written twice, or numbers of one series."""
    if record["given_back"] or "refunded" in (record["status"], record["first_status"]):
        return True
    ids = (("payment_id", "first_payment_id"), ("provider_ref", "first_ref"))
    if any(record[mine] and record[mine] == record[theirs] for mine, theirs in ids):
        return True
    numbers = record["instalment"], record["first_instalment"]
    return None not in numbers and numbers[0] != numbers[1]


# What the pairs are weighed against ------------------------------------------------------------------------------


def _base(runner: Runner, rate: Mapping[str, Any]) -> _Base:
    habits = Habits(
        purchases=rate["purchases"],
        within=rate["within"],
        later=rate["later"],
        exposure_s=rate["exposure_us"] / 1e6,
        span_s=(rate["last_at"] - rate["first_at"]).total_seconds(),
        window_s=WINDOW_US / 1e6,
    )
    amounts = {
        (r["currency"], r["amount"]): (r["purchases"], r["later"])
        for r in runner.run("duplicates/equal_purchase_amounts", checkout_window_us=WINDOW_US).records()
    }
    by_hour = runner.run("duplicates/purchases_by_hour", checkout_window_us=WINDOW_US).records()
    # One purchase more in every hour of the day: an hour without any is not one in which nothing can happen.
    of_day = Counter(range(24))
    for r in by_hour:
        of_day[r["hour_no"] % 24] += r["purchases"]
    busy = {hour: 24 * n / of_day.total() for hour, n in of_day.items()}
    return _Base(habits, amounts, busy, {r["hour_no"]: (r["purchases"], r["again"]) for r in by_hour})


def _pair(record: Mapping[str, Any], base: _Base, lost: bool | None) -> Pair:
    purchases, later = base.amounts[(record["currency"], record["amount"])]
    ids = (("idempotency_key", "first_idempotency_key"), ("request_id", "first_request_id"))
    hour_purchases, hour_again = base.hours[int(record["created_at"].timestamp() // 3600)]
    return Pair(
        gap_s=record["gap_us"] / 1e6,
        amount_purchases=purchases,
        amount_later=later,
        own_others=record["others"],
        busy=base.busy[record["created_at"].hour],
        hour_purchases=hour_purchases,
        hour_again=hour_again,
        lost=lost,
        failed_between=record["failed_between"] > 0,
        same_id=any(record[mine] and record[mine] == record[theirs] for mine, theirs in ids),
        same_channel=_same(record["channel"], record["first_channel"]),
        same_instrument=_same(record["instrument"], record["first_instrument"]),
    )


def _same(mine: str | None, theirs: str | None) -> bool | None:
    return mine == theirs if mine and theirs else None


def _lost_first_replies(runner: Runner) -> dict[Where, bool | None]:
    """By place of the later row: whether the caller of the earlier one got no answer before it tried again."""
    if not runner.count("requests"):
        return {}
    found: dict[Where, list[tuple[timedelta, bool | None]]] = defaultdict(list)
    for record in runner.run("duplicates/requests_of_second_checkouts", checkout_window_us=WINDOW_US).records():
        call = Call(record["started_at"], record["duration_us"], record["status"], None, None)
        booked = record["first_at"]
        if call.started_at - _SLACK <= booked <= call.ended_at + _SLACK:
            again = Call(record["created_at"], None, None, None, None)
            where = record["row_source_id"], record["row_line_no"]
            found[where].append((abs(booked - call.started_at), was_lost(call, again)))
    return {where: min(calls, key=lambda c: c[0])[1] for where, calls in found.items()}


# Rows ------------------------------------------------------------------------------------------------------------


def _standing(rows: Sequence[RepeatRow]) -> dict[Where, RepeatRow]:
    """By place of an excess: the payment of its act that stands. A third checkout is held against the first alike."""
    kept = {r.group_id: r for r in rows if r.role == "kept"}
    excess = (r for r in rows if r.role in ("excess", "refunded") and r.group_id in kept)
    return {(r.source_id, r.line_no): kept[r.group_id] for r in excess}


def _kept(record: Mapping[str, Any]) -> RepeatRow:
    return _row(
        record,
        "first_",
        group_id="",
        role="kept",
        why="the first of two equal purchases: it stands",
        confidence=1.0,
    )


def _suspect(record: Mapping[str, Any], reading: Reading, kept: RepeatRow) -> RepeatRow:
    once = round(reading.probabilities["once"], 4)
    spoken = [CLUE_WORDS[clue] for clue in reading.clues]
    why = [
        f"same customer, amount and currency as {kept.payment_id or 'line ' + str(kept.line_no)} of another order",
        *spoken,
        f"by chance once in {_often(reading.own_rate)} for this customer and amount at this hour",
        "two orders may mean two deliveries, which no payment file shows",
    ]
    return _row(
        record,
        "",
        group_id=kept.group_id,
        role="second_checkout",
        why="; ".join(why),
        confidence=once,
        cause="double_submit",
        gap_us=record["gap_us"],
        excess_probability=once,
        alternatives=(("legitimate", round(1 - once, 4)),),
        kept_payment_id=kept.payment_id,
        same_key=_same_key(record),
    )


def _same_key(record: Mapping[str, Any]) -> bool | None:
    return _same(record["idempotency_key"], record["first_idempotency_key"])


def _often(rate: float) -> str:
    days = 1 / (rate * 86_400)
    return f"{days:,.0f} days" if days >= 2 else f"{24 * days:.1f} hours"


def _row(record: Mapping[str, Any], side: str, **verdict: Any) -> RepeatRow:
    payment_id, reference = record[f"{side}payment_id"], record["first_ref" if side else "provider_ref"]
    cells: dict[str, Any] = {
        "business_key": record["first_key" if side else "business_key"] or "",
        "payment_id": payment_id or reference,
        "created_at": record["first_at" if side else "created_at"],
        "amount": record["amount"],
        "currency": record["currency"],
        "provider_ref": reference,
        "customer_id": record["customer_id"],
        **{name: record[f"{side}{name}"] for name in ("order_id", "status", "kind", "channel", "source_id", "line_no")},
        **dict.fromkeys(("gap_us", "cause", "policy", "excess_probability", "kept_payment_id", "same_key")),
        "alternatives": (),
    }
    return RepeatRow(**{**cells, **verdict})


def _group_id(customer_id: str, kept: RepeatRow) -> str:
    named = kept.business_key or kept.payment_id or f"{kept.source_id}:{kept.line_no}"
    text = "\x1f".join((customer_id, kept.currency, f"{kept.amount.normalize():f}", named))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


# The finding -----------------------------------------------------------------------------------------------------


def find_second_checkouts(found: SecondCheckouts) -> Iterator[Finding]:
    """What the equal purchases say; nothing where none is likely enough."""
    if not found.suspects:
        return
    n, share = len(found.suspects), sum(r.confidence for r in found.suspects) / len(found.suspects)
    unnamed = found.effects - found.purchases
    yield Finding(
        id="second-checkouts",
        rule="duplicates/second_checkout",
        title=f"{many(n, 'payment')} may be a second checkout of the same purchase",
        severity="medium",
        confidence=round(share, 4),
        statement=(
            f"{many(n, 'payment')} {'repeats' if n == 1 else 'repeat'} customer, amount and currency of one under "
            f"another order within {found.window_s / 60:.0f} minutes: {money_words(found.amount)} if all are second "
            f"checkouts, of which about {share * n:.1f} are expected to be. Not in any sum of the excess, and never in "
            "refunds.csv: review.csv has each with both readings."
        ),
        why=(
            f"{many(found.within, 'equal purchase')} within the window, where chance alone gives {found.expected:.1f}",
            *((f"{many(unnamed, 'payment')} without a customer could not be looked at",) if unnamed else ()),
        ),
        alternatives=(("double_submit", round(share, 4)), ("legitimate", round(1 - share, 4))),
        numbers={"rows": n, "equal_purchases": found.within, "expected_by_chance": found.expected},
        money={"suspected": found.amount},
        query="duplicates/second_checkouts",
        parameters={},
        evidence=evidence_of(found.suspects),
        evidence_total=n,
        next_steps=("ask whether both orders were delivered: a payment goes back only where one of them was not",),
    )
