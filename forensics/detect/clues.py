"""What the case knows about each repeat: clues from the row, the log, the broker and the price list."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

from forensics.analysis.causes import Clues
from forensics.detect.copies import by_two_schedulers, fanned_out
from forensics.detect.readings import may_be_one_payment, other_gaps_s, other_times
from forensics.detect.rows import Judged, LedgerRow
from forensics.runner import Runner

_BY_HAND = re.compile(r"back.?office|manual|operator|support|admin|call.?cent|helpdesk|수기|수동|手動", re.IGNORECASE)
_LOST_STATUSES = frozenset((0, 408, 499, 502, 503, 504))
_SLACK = timedelta(seconds=1)
_FEWEST_HABITS = 10
_RENEWED_SHARE = 0.2
_BLOCK_FEWEST = 10
_BLOCK_SILENCE = timedelta(minutes=15)
_BLOCK_SHORTEST_US = 60_000_000
_STEP_SHARE = 0.97
_STEP_ORDERS = 20

Where = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Call:
    """The request behind one ledger row."""

    started_at: datetime
    duration_us: int | None
    status: int | None
    attempt: int | None
    request_id: str | None

    @property
    def ended_at(self) -> datetime:
        """End of the request; its start when the log has no duration."""
        return self.started_at + timedelta(microseconds=self.duration_us or 0)


def collect_clues(runner: Runner, rows: Sequence[Judged], resolution_us: int) -> dict[Where, Clues]:
    """The clues of every excess row, by (source_id, line_no); the policy's density is filled in later."""
    repeats = [j for j in rows if j.role in ("excess", "refunded") and j.previous is not None]
    calls = _calls(runner, rows)
    per_call = _ids_are_per_call(repeats, calls)
    keeping = _keep_their_key(runner)
    clicks = runner.run("keys/sent_again_at_once").records()[0]["again"]
    hands_known = any(_by_hand(j.row) for j in rows) or bool(runner.run("duplicates/hands").records())
    blocks = _blocks(repeats)
    fanned, scheduled = fanned_out(runner, rows, resolution_us), by_two_schedulers(runner, rows)
    deliveries = _deliveries(runner, rows)
    by_messages = runner.count("dead_letters") > 0
    steps = price_steps(runner)
    other_readings = other_times(runner)
    found = {}
    for item in repeats:
        previous = item.previous
        if previous is None or item.gap_us is None:  # repeats have both
            continue
        call, before = calls.get(_where(item.row)), calls.get(_where(previous))
        delivery, first = deliveries.get(_where(item.row)), deliveries.get(_where(previous))
        redelivered, again = _delivery_clues(delivery, first)
        apart_s = _published_apart_s(delivery, first) if again else None
        others = other_gaps_s(item, other_readings) if apart_s is None else ()
        found[_where(item.row)] = Clues(
            gap_s=item.gap_us / 1e6 if apart_s is None else apart_s,
            resolution_s=resolution_us / 1e6,
            retry_density=None,
            other_gaps_s=others,
            one_moment=may_be_one_payment(item, others, resolution_us / 1e6),
            attempt=call.attempt if call else None,
            same_call=_same_call(item.row, previous, calls) if per_call else None,
            other_key=_other_key(item.row, previous) if keeping else None,
            second_clicks=clicks if keeping else 0,
            previous_lost=was_lost(before, call) if before else None,
            by_hand=_by_hand(item.row) if hands_known else None,
            in_block=_where(item.row) in blocks,
            fanned_out=_where(item.row) in fanned,
            two_schedulers=_where(item.row) in scheduled,
            redelivered=redelivered,
            by_messages=by_messages,
            published_again=again,
            half_price=_half_price(item.row, steps),
        )
    return found


def _where(row: LedgerRow) -> Where:
    return row.source_id, row.line_no


def _by_hand(row: LedgerRow) -> bool:
    return bool(row.operator) or any(_BY_HAND.search(text) for text in (row.channel, row.sender, row.memo) if text)


# Logs -----------------------------------------------------------------------------------------------------------


def _calls(runner: Runner, rows: Sequence[Judged]) -> dict[Where, Call]:
    """The request behind each ledger row: the one that was running when the row was booked, each used once."""
    if not runner.count("requests"):
        return {}
    candidates: dict[Where, list[tuple[Where, Call]]] = defaultdict(list)
    for record in runner.run("duplicates/requests_of_repeated_orders").records():
        call = Call(*(record[k] for k in ("started_at", "duration_us", "status", "attempt", "request_id")))
        row = (record["row_source_id"], record["row_line_no"])
        candidates[row].append(((record["source_id"], record["line_no"]), call))
    calls: dict[Where, Call] = {}
    used: set[Where] = set()
    for item in rows:
        fitting = [
            (abs(item.row.created_at - call.started_at), line, call)
            for line, call in candidates.get(_where(item.row), ())
            if line not in used and call.started_at - _SLACK <= item.row.created_at <= call.ended_at + _SLACK
        ]
        if fitting:
            _, line, call = min(fitting, key=lambda f: (f[0], f[1]))
            used.add(line)
            calls[_where(item.row)] = call
    return calls


def _call_id(row: LedgerRow, calls: Mapping[Where, Call]) -> str | None:
    call = calls.get(_where(row))
    return row.request_id or (call.request_id if call else None)


def _same_call(row: LedgerRow, previous: LedgerRow, calls: Mapping[Where, Call]) -> bool | None:
    mine, theirs = _call_id(row, calls), _call_id(previous, calls)
    return mine == theirs if mine and theirs else None


def _ids_are_per_call(repeats: Sequence[Judged], calls: Mapping[Where, Call]) -> bool:
    """Whether request ids stay the same over the attempts of one call: seen where repeats share them."""
    same = [_same_call(j.row, j.previous, calls) for j in repeats if j.previous]
    known = [s for s in same if s is not None]
    return sum(known) >= max(1, 0.2 * len(known))


def _keep_their_key(runner: Runner) -> bool:
    """Whether callers are seen to send one key for all attempts of an act: then another key is another act."""
    after_failure = runner.run("keys/keys_after_failure").records()
    by_order = runner.run("keys/habits_by_channel").records()
    seen = after_failure if sum(r["kept"] + r["renewed"] for r in after_failure) >= _FEWEST_HABITS else by_order
    kept, renewed = (sum(r[name] for r in seen) for name in ("kept", "renewed"))
    return bool(kept >= _FEWEST_HABITS and renewed <= _RENEWED_SHARE * (kept + renewed))


def _other_key(row: LedgerRow, previous: LedgerRow) -> bool | None:
    mine, theirs = row.idempotency_key, previous.idempotency_key
    return mine != theirs if mine and theirs else None


def was_lost(before: Call, after: Call | None) -> bool | None:
    """Whether the caller of the earlier effect got no answer in time.

    Where the log keeps the late answer of a caller that has gone (200 after a long time), the next request began
    before that answer was there.
    """
    if before.status in _LOST_STATUSES or (before.status or 0) >= 500:
        return True
    if after is not None and before.duration_us and after.started_at < before.ended_at - _SLACK:
        return True
    return False if before.status is not None and before.status < 400 else None


# Batches --------------------------------------------------------------------------------------------------------


def _blocks(repeats: Sequence[Judged]) -> set[Where]:
    """Repeats that are part of a rerun: many acts again, in the order of the first time, in one go.

    Retries do not keep that order for long over more than a minute; a person working down a list does, and is left
    out.
    """
    far = [j for j in repeats if j.previous and (j.gap_us or 0) >= _BLOCK_SHORTEST_US and not _by_hand(j.row)]
    far.sort(key=lambda j: (j.row.created_at, j.row.source_id, j.row.line_no))
    found: set[Where] = set()
    block: list[Judged] = []
    for item in [*far, None]:
        if item is not None and (not block or item.row.created_at - block[-1].row.created_at <= _BLOCK_SILENCE):
            block.append(item)
            continue
        found |= _rerun(block)
        block = [item] if item is not None else []
    return found


def _rerun(block: Sequence[Judged]) -> set[Where]:
    """The members of a block whose offset is the common one, if the block keeps the order of the first time."""
    if len(block) < _BLOCK_FEWEST:
        return set()
    gaps = sorted(j.gap_us or 0 for j in block)
    middle = gaps[len(gaps) // 2]
    near = [j for j in block if abs((j.gap_us or 0) - middle) <= 0.35 * middle]
    firsts = [j.previous.created_at for j in near if j.previous]
    steps = list(pairwise(firsts))
    kept_order = sum(a <= b for a, b in steps)
    if len(near) < _BLOCK_FEWEST or kept_order < 0.8 * len(steps):
        return set()
    return {_where(j.row) for j in near}


# Brokers --------------------------------------------------------------------------------------------------------


def _deliveries(runner: Runner, rows: Sequence[Judged]) -> Mapping[Where, Mapping[str, Any]]:
    """The delivery behind each ledger row: the last one before it was booked, each used once."""
    if not runner.count("deliveries"):
        return {}
    by_act: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for record in runner.run("duplicates/deliveries_of_repeated_orders").records():
        by_act[record["business_key"]].append(record)
    found: dict[Where, Mapping[str, Any]] = {}
    used: set[Where] = set()
    for item in rows:
        delivery = _delivery_of(item.row, [d for d in by_act.get(item.row.business_key, ()) if _line(d) not in used])
        if delivery is not None and item.row.is_effect:
            used.add(_line(delivery))
            found[_where(item.row)] = delivery
    return found


def _line(delivery: Mapping[str, Any]) -> Where:
    return delivery["source_id"], delivery["line_no"]


def _delivery_clues(
    mine: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None
) -> tuple[bool | None, bool | None]:
    """Whether the row came of another delivery of the same message, or of another message about the same act."""
    if mine is None or theirs is None:
        return None, None
    again = mine["message_id"] != theirs["message_id"]
    return not again, again


def _published_apart_s(mine: Mapping[str, Any] | None, theirs: Mapping[str, Any] | None) -> float | None:
    """Seconds between the sending of two messages: how far apart they were consumed is the queue's doing."""
    if mine is None or theirs is None or mine["published_at"] is None or theirs["published_at"] is None:
        return None
    apart: timedelta = mine["published_at"] - theirs["published_at"]
    return abs(apart.total_seconds())


def _delivery_of(row: LedgerRow, deliveries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The last delivery before the row was booked, of the row's own message where it names one."""
    named = {row.message_no, row.request_id} - {None}
    own = [d for d in deliveries if d["message_id"] in named] or list(deliveries)
    before = [d for d in own if d["delivered_at"] <= row.created_at + _SLACK]
    return max(before, key=lambda d: (d["delivered_at"], _line(d))) if before else None


# Prices ---------------------------------------------------------------------------------------------------------


def price_steps(runner: Runner) -> dict[str, Decimal]:
    """For each currency the largest step that nearly all prices are multiples of; none where prices have no step."""
    steps: dict[str, Decimal] = {}
    for record in runner.run("duplicates/price_steps").records():
        enough = record["orders"] >= _STEP_ORDERS and record["on_step"] >= _STEP_SHARE * record["orders"]
        if enough and record["currency"] not in steps:
            steps[record["currency"]] = record["step"]
    return steps


def _half_price(row: LedgerRow, steps: Mapping[str, Decimal]) -> bool | None:
    step = steps.get(row.currency)
    if step is None:
        return None
    return row.amount % step != 0 and (2 * row.amount) % step == 0
