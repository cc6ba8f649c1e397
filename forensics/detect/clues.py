"""What the case knows about each repeat: clues from the row, the log, the broker and the price list."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from forensics.analysis.causes import Clues
from forensics.detect.blocks import rerun_blocks
from forensics.detect.copies import by_two_schedulers, fanned_out
from forensics.detect.prices import price_endings, split_gaps_s
from forensics.detect.readings import may_be_one_payment, other_gaps_s, other_times
from forensics.detect.rows import Judged, LedgerRow
from forensics.runner import Runner

_BY_HAND = re.compile(r"back.?office|manual|operator|support|admin|call.?cent|helpdesk|수기|수동|手動", re.IGNORECASE)
_LOST_STATUSES = frozenset((0, 408, 499, 502, 503, 504))
_SLACK = timedelta(seconds=1)
_FEWEST_HABITS = 10
_RENEWED_SHARE = 0.2
_DELIVERED_SHARE = 0.9

Where = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Call:
    """The request behind one ledger row."""

    started_at: datetime
    duration_us: int | None
    status: int | None
    attempt: int | None
    request_id: str | None
    first_at: datetime | None = None
    """Start of the first request under the same id; None without an id."""

    @property
    def ended_at(self) -> datetime:
        """End of the request; its start when the log has no duration."""
        return self.started_at + timedelta(microseconds=self.duration_us or 0)


def collect_clues(
    runner: Runner, rows: Sequence[Judged], resolution_us: int, log_resolution_us: int
) -> dict[Where, Clues]:
    """The clues of every excess row, by (source_id, line_no); the policy's density is filled in later.

    `resolution_us` and `log_resolution_us`: the coarsest clocks of the ledger and of the logs.
    """
    acts: dict[str, list[Judged]] = defaultdict(list)
    for item in rows:
        acts[item.group_id].append(item)
    repeats = [j for j in rows if j.role in ("excess", "refunded") and j.previous is not None]
    calls = _calls(runner, rows)
    per_call = _ids_are_per_call(repeats, calls)
    keeping = _keep_their_key(runner)
    clicks = runner.run("keys/sent_again_at_once").records()[0]["again"]
    hands_known = any(_by_hand(j.row) for j in rows) or bool(runner.run("duplicates/hands").records())
    blocks = rerun_blocks([j for j in repeats if not _by_hand(j.row)])
    fanned, scheduled = fanned_out(runner, rows, resolution_us), by_two_schedulers(runner, rows)
    deliveries = _deliveries(runner, rows)
    all_delivered = sum(_where(j.row) in deliveries for j in repeats) > _DELIVERED_SHARE * len(repeats)
    by_messages = runner.count("dead_letters") > 0
    endings = price_endings(runner)
    splits = len(split_gaps_s(rows))
    other_readings = other_times(runner)
    found = {}
    for item in repeats:
        previous = (_of_one_call(item, acts[item.group_id], calls) if per_call else None) or item.previous
        if previous is None or item.gap_us is None:  # repeats have both
            continue
        call, before = calls.get(_where(item.row)), calls.get(_where(previous))
        delivery, first = deliveries.get(_where(item.row)), deliveries.get(_where(previous))
        redelivered, again = _delivery_clues(delivery, first)
        same_call = _same_call(item.row, previous, calls) if per_call else None
        booked_s = (item.row.created_at - previous.created_at).total_seconds()
        apart_s = _published_apart_s(delivery, first) if again else None
        clock_us = resolution_us
        if apart_s is None and same_call is not True and call and before:
            if same_call is False and (_tried_before(call) or _tried_before(before)):
                apart_s, clock_us = _begun_apart_s(call, before), max(resolution_us, log_resolution_us)
            elif log_resolution_us < resolution_us:
                apart_s, clock_us = abs((call.started_at - before.started_at).total_seconds()), log_resolution_us
        others = other_gaps_s(item, other_readings) if apart_s is None else ()
        found[_where(item.row)] = Clues(
            gap_s=booked_s if apart_s is None else apart_s,
            resolution_s=clock_us / 1e6,
            retry_density=None,
            other_gaps_s=others,
            one_moment=may_be_one_payment(item, others, resolution_us / 1e6),
            attempt=_attempt(call, same_call),
            same_call=same_call,
            other_key=_other_key(item.row, previous) if keeping else None,
            second_clicks=clicks if keeping else 0,
            previous_lost=was_lost(before, call) if before else None,
            by_hand=_by_hand(item.row) if hands_known else None,
            in_block=_where(item.row) in blocks,
            fanned_out=_where(item.row) in fanned,
            two_schedulers=_where(item.row) in scheduled,
            redelivered=redelivered,
            other_road=all_delivered and delivery is None and first is None,
            by_messages=by_messages,
            published_again=again,
            half_odds=endings.half_odds(item.row.amount, item.row.currency),
            splits=0 if item.row.instrument and previous.instrument else splits,
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
    records = runner.run("duplicates/requests_of_repeated_orders").records()
    first_at: dict[str | None, datetime] = {}
    for record in records:
        at, name = record["started_at"], record["request_id"]
        first_at[name] = min(at, first_at.get(name, at))
    for record in records:
        call = Call(
            started_at=record["started_at"],
            duration_us=record["duration_us"],
            status=record["status"],
            attempt=record["attempt"],
            request_id=record["request_id"],
            first_at=first_at[record["request_id"]] if record["request_id"] else None,
        )
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


def _of_one_call(item: Judged, act: Sequence[Judged], calls: Mapping[Where, Call]) -> LedgerRow | None:
    """The last effect of the act before the row that came of the same call."""
    before = [j.row for j in act if j.row.is_effect and _place(j.row) < _place(item.row)]
    return next((row for row in reversed(before) if _same_call(item.row, row, calls)), None)


def _place(row: LedgerRow) -> tuple[datetime, int, int]:
    return row.created_at, row.source_id, row.line_no


def _tried_before(call: Call) -> bool:
    """Whether the request behind a row is not the first of its call: the row is later than the call's beginning."""
    return call.first_at is not None and call.first_at < call.started_at


def _begun_apart_s(mine: Call, theirs: Call) -> float | None:
    """Seconds between the first requests of two calls: what tells a second click from a second payment."""
    if mine.first_at is None or theirs.first_at is None:
        return None
    return abs((mine.first_at - theirs.first_at).total_seconds())


def _attempt(call: Call | None, same_call: bool | None) -> int | None:
    """The attempt number of the request, where it may count from the effect before: another call counts its own."""
    if call is None or (same_call is False and (call.attempt or 0) > 1):
        return None
    return call.attempt


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
