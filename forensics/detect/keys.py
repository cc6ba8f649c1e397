"""How senders use idempotency keys, and for how many orders.

The mode is a habit of the sender, not of the order: an order that needed one attempt shows one key either way. So the
habit is read from the orders that show it, and given to the keyed orders of the sender. A sender is a caller in a
channel; one that shows too little takes the habit of its channel, and a channel that of the whole ledger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forensics.detect.duplicates import sum_by_currency
from forensics.model import KEY_MODES, KeyHabit, KeyUse, RepeatRow
from forensics.runner import Runner

_FEWEST = 3
_HABIT_SHARE = 0.5
_SHARED_SHARE = 0.2
_MOST_CALLERS = 5
"""Callers of a channel told apart: browsers alone have thousands of user agents."""

_Sender = tuple[str, str]
"""Channel and caller; either is empty where nothing tells."""
_Level = tuple[str | None, str | None]
"""A sender, its channel (caller None), or all of them (both None)."""


class _Shown:
    """What orders show of their sender, counted for the sender, for its channel, and for all together."""

    def __init__(self) -> None:
        self._counts: dict[_Level, Counter[str]] = defaultdict(Counter)

    def add(self, sender: _Sender, **orders: int) -> None:
        """Orders of a sender that kept the key on another try, renewed it, bear one of their own, or a shared one."""
        for level in _levels(sender):
            self._counts[level].update(orders)

    def renews(self, sender: _Sender) -> bool:
        """Whether another try of this sender bears another key."""
        seen = self._most_telling(_levels(sender), "kept", "renewed")
        return seen["renewed"] >= max(1, _HABIT_SHARE * (seen["kept"] + seen["renewed"]))

    def shares(self, sender: _Sender) -> bool:
        """Whether this sender uses a key for more than one order."""
        seen = self._most_telling(_levels(sender)[:2], "own", "shared")
        return seen["shared"] >= _SHARED_SHARE * (seen["own"] + seen["shared"]) > 0

    def _most_telling(self, levels: Sequence[_Level], *names: str) -> Counter[str]:
        """The counts of the first level that shows enough, or of the last."""
        enough = (level for level in levels if sum(self._counts[level][name] for name in names) >= _FEWEST)
        return self._counts[next(enough, levels[-1])]


def _levels(sender: _Sender) -> tuple[_Level, ...]:
    return sender, (sender[0], None), (None, None)


def measure_keys(runner: Runner, rows: Sequence[RepeatRow]) -> KeyUse:
    """The habit of every sender, by channel, the one with most orders first.

    Whether a new attempt bears a new key is seen in the rows of repeated orders, in access logs, and in the receiver's
    own list of keys, which shows the attempts that it answered without booking them again. Two effects of one key are
    `expired` (far apart) or a `race` (at once) only where the receiver is seen to honour keys at all.

    Args:
        rows: the rows of repeated orders: retries among them show whether a new attempt bears a new key.
    """
    runner.keep("callers")
    orders = {(r["channel"], r["caller"]): r for r in runner.run("keys/orders_by_channel").records()}
    tries = {(r["channel"], r["caller"]): r for r in runner.run("keys/habits_by_channel").records()}
    sent = runner.run("keys/senders_of_repeated_acts").records()
    senders = {r["business_key"]: (r["channel"], r["caller"]) for r in sent}
    shown = _Shown()
    for sender, order in orders.items():
        tried, own = tries[sender], order["own_key"] + order["several_keys"]
        shown.add(sender, own=own, shared=order["shared_key"], kept=tried["kept"], renewed=tried["renewed"])
    excess: dict[_Sender, list[RepeatRow]] = defaultdict(list)
    for row in rows:
        sender = senders.get(row.business_key, (row.channel or "", ""))
        if row.cause == "retry" and row.same_key is not None:
            shown.add(sender, **{"kept" if row.same_key else "renewed": 1})
        if row.role in ("excess", "refunded"):
            excess[sender].append(row)
    honoured = any(tried["honoured"] for tried in tries.values())
    habits = []
    for sender, order in orders.items():
        modes = _modes(order, shown.shares(sender), shown.renews(sender), tries[sender] if honoured else {})
        habits.append(_habit(sender, order["payments"], modes, excess[sender]))
    return KeyUse(tuple(_join_rare(habits)))


def _modes(order: Mapping[str, Any], shares: bool, renews: bool, leaks: Mapping[str, int]) -> Mapping[str, int]:
    """A sender's orders by mode. `leaks`: orders with two effects of one key; empty where nobody honours keys."""
    modes = dict.fromkeys(KEY_MODES, 0)
    keyed = order["own_key"] + order["several_keys"]
    modes["none"] = order["without_key"]
    modes["key_reused"] = order["shared_key"] + (keyed if shares else 0)
    if shares:
        return modes
    if renews:
        return {**modes, "key_per_attempt": keyed}
    expired, race = leaks.get("expired", 0), leaks.get("race", 0)
    return {**modes, "one_key": keyed - expired - race, "expired": expired, "race": race}


def _habit(sender: _Sender, payments: int, modes: Mapping[str, int], excess: Sequence[RepeatRow]) -> KeyHabit:
    acts = len({row.business_key for row in excess})
    return KeyHabit(*sender, modes, payments, acts, len(excess), sum_by_currency(excess))


def _join_rare(habits: Iterable[KeyHabit]) -> Iterable[KeyHabit]:
    """By channel, the callers with most orders, and all the others of the channel as one."""
    by_channel: dict[str, list[KeyHabit]] = defaultdict(list)
    for habit in habits:
        by_channel[habit.channel].append(habit)
    for channel in sorted(by_channel):
        ranked = sorted(by_channel[channel], key=lambda h: (-h.orders, h.caller or ""))
        yield from ranked[:_MOST_CALLERS]
        if rare := ranked[_MOST_CALLERS:]:
            yield KeyHabit.together(rare, channel)
