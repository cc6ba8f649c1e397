"""How channels use idempotency keys, and for how many orders.

The mode is a habit of the channel, not of the order: an order that needed one attempt shows one key either way. So the
habit is read from the orders that show it, and given to the keyed orders of the channel; a channel with too few of them
takes the habit of the whole ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from forensics.model import Finding, RepeatRow
from forensics.runner import Runner

MODES = ("none", "one_key", "key_per_attempt", "key_reused")
_FEWEST = 3
_HABIT_SHARE = 0.5
_SHARED_SHARE = 0.2


def measure_keys(runner: Runner, rows: Sequence[RepeatRow]) -> Mapping[str, int]:
    """Orders by key mode; every mode is present.

    Args:
        rows: the rows of repeated orders: retries among them show whether a new attempt bears a new key.
    """
    channels = runner.run("keys/orders_by_channel").records()
    renewed, kept = Counter[str](), Counter[str]()
    for row in rows:
        if row.cause == "retry" and row.same_key is not None:
            (kept if row.same_key else renewed)[row.channel or ""] += 1
    overall = sum(renewed.values()) >= max(1, _HABIT_SHARE * (sum(renewed.values()) + sum(kept.values())))
    modes = Counter[str]()
    for record in channels:
        channel = record["channel"]
        seen = renewed[channel] + kept[channel]
        per_attempt = renewed[channel] >= _HABIT_SHARE * seen if seen >= _FEWEST else overall
        keyed = record["own_key"] + record["several_keys"]
        reused = record["shared_key"] >= _SHARED_SHARE * (keyed + record["shared_key"]) > 0
        modes["none"] += record["without_key"]
        modes["key_reused"] += record["shared_key"] + (keyed if reused else 0)
        if not reused:
            modes["key_per_attempt" if per_attempt else "one_key"] += keyed
    return {mode: modes[mode] for mode in MODES}


def find_keys(keys: Mapping[str, int], rows: Sequence[RepeatRow]) -> tuple[Finding, ...]:
    """What the keys did, or did not do, for the orders that were paid more than once."""
    orders = len({r.order_id for r in rows if r.role in ("excess", "refunded")})
    payments = sum(r.role in ("excess", "refunded") for r in rows)
    if not orders or not sum(keys.values()):
        return ()
    if keys["key_per_attempt"]:
        return (
            _finding(
                "key-per-attempt",
                "Keys were sent, and did nothing",
                f"{keys['key_per_attempt']} orders come from channels that make a new key for every attempt; "
                f"{orders} orders took effect {payments} times too often all the same.",
                keys,
                "make the key from the business act (the order), once, and send the same one on every attempt",
            ),
        )
    if not keys["one_key"] and not keys["key_reused"]:
        return (
            _finding(
                "no-key",
                "No idempotency key was sent",
                f"None of {keys['none']} orders bears an idempotency key: the receiver could not tell a second try.",
                keys,
                "send one idempotency key per business act, and put a unique constraint behind it",
            ),
        )
    return ()


def _finding(name: str, title: str, statement: str, keys: Mapping[str, int], step: str) -> Finding:
    return Finding(
        id=name,
        rule="keys/mode",
        title=title,
        severity="medium",
        confidence=0.9,
        statement=statement,
        why=(),
        alternatives=(),
        numbers=dict(keys),
        money={},
        query="keys/orders_by_channel",
        parameters={},
        evidence=(),
        evidence_total=0,
        next_steps=(step,),
    )
