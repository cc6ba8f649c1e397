"""How orders use idempotency keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from forensics.model import Finding, RepeatRow
from forensics.runner import Runner

MODES = ("none", "one_key", "key_per_attempt", "key_reused")


def measure_keys(runner: Runner) -> Mapping[str, int]:
    """Orders by key mode; every mode is present."""
    found = dict(runner.run("keys/orders_by_key_mode").rows)
    return {mode: int(found.get(mode, 0)) for mode in MODES}


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
                f"{keys['key_per_attempt']} orders bear more than one idempotency key, a new one for every attempt; "
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
                f"None of {keys['none']} orders bears an idempotency key, so the receiver could not know a second attempt.",
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
        query="keys/orders_by_key_mode",
        parameters={},
        evidence=(),
        evidence_total=0,
        next_steps=(step,),
    )
