"""How channels use idempotency keys, and for how many orders.

The mode is a habit of the channel, not of the order: an order that needed one attempt shows one key either way. So the
habit is read from the orders that show it, and given to the keyed orders of the channel; a channel with too few of them
takes the habit of the whole ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from forensics.amounts import money_words
from forensics.detect.duplicates import EVIDENCE_CAP, sum_by_currency
from forensics.model import EvidenceRow, Finding, RepeatRow
from forensics.runner import Runner

MODES = ("none", "one_key", "key_per_attempt", "key_reused", "expired", "race")
_FEWEST = 3
_HABIT_SHARE = 0.5
_SHARED_SHARE = 0.2


def measure_keys(runner: Runner, rows: Sequence[RepeatRow]) -> Mapping[str, int]:
    """Orders by key mode; every mode is present.

    Whether a new attempt bears a new key is seen in the rows of repeated orders, in access logs, and in the receiver's
    own list of keys, which shows the attempts that it answered without booking them again. Two effects of one key are
    `expired` (far apart) or a `race` (at once) only where the receiver is seen to honour keys at all.

    Args:
        rows: the rows of repeated orders: retries among them show whether a new attempt bears a new key.
    """
    channels = runner.run("keys/orders_by_channel").records()
    habits = {r["channel"]: r for r in runner.run("keys/habits_by_channel").records()}
    renewed = Counter[str]({channel: h["renewed"] for channel, h in habits.items()})
    kept = Counter[str]({channel: h["kept"] for channel, h in habits.items()})
    honoured = any(h["honoured"] for h in habits.values())
    for row in rows:
        if row.cause == "retry" and row.same_key is not None:
            (kept if row.same_key else renewed)[row.channel or ""] += 1
    overall = renewed.total() >= max(1, _HABIT_SHARE * (renewed.total() + kept.total()))
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
        if honoured and not reused and not per_attempt:
            for mode in ("expired", "race"):
                modes[mode] += habits[channel][mode]
                modes["one_key"] -= habits[channel][mode]
    return {mode: modes[mode] for mode in MODES}


def find_keys(
    keys: Mapping[str, int], rows: Sequence[RepeatRow], effects: int, ages: Mapping[str, int | None]
) -> tuple[Finding, ...]:
    """What the keys did, or did not do, for the orders that were paid more than once.

    Args:
        effects: rows of the ledger that moved money.
        ages: the row of keys/resend_ages.
    """
    gross = [r for r in rows if r.role in ("excess", "refunded")]
    orders, payments = len({r.business_key for r in gross}), len(gross)
    if not orders or not sum(keys.values()):
        return ()
    instead = (
        " With one key per business act, sent by everyone who sends the act again, and a unique constraint behind it, "
        f"there would be {effects - payments:,} payments instead of {effects:,}, and "
        f"{money_words(sum_by_currency(gross))} less."
    )
    if_keyed = {"payments": effects, "payments_with_one_key_per_act": effects - payments}
    if keys["key_per_attempt"]:
        return (
            _finding(
                "key-per-attempt",
                "Keys were sent, and did nothing",
                f"{keys['key_per_attempt']} orders come from channels that make a new key for every attempt; "
                f"{orders} orders took effect {payments} times too often all the same.{instead}",
                {**keys, **if_keyed},
                "make the key from the business act (the order), once, and send the same one on every attempt",
            ),
        )
    if not keys["one_key"] and not keys["key_reused"]:
        return (
            _finding(
                "no-key",
                "No idempotency key was sent",
                f"None of {keys['none']} orders bears an idempotency key: the receiver could not tell a second try."
                f"{instead}",
                {**keys, **if_keyed},
                "send one idempotency key per business act, and put a unique constraint behind it",
            ),
        )
    return _leaks(keys, ages)


def _leaks(keys: Mapping[str, int], ages: Mapping[str, int | None]) -> tuple[Finding, ...]:
    """Effects that came through although a receiver honours keys."""
    found = []
    if keys["expired"]:
        found.append(
            _finding(
                "key-expired",
                "Keys were sent again after the receiver forgot them",
                f"{keys['expired']} orders took effect twice under one key, more than an hour apart, although the "
                f"receiver honours keys: it had forgotten them{_retention(ages)}.",
                keys,
                "let the receiver remember keys longer than the longest time after which anybody sends again",
            )
        )
    if keys["race"]:
        found.append(
            _finding(
                "key-race",
                "One key took effect twice at once",
                f"{keys['race']} orders took effect twice under one key within seconds: the receiver looks the key up "
                "and then books, and nothing stops two at the same time.",
                keys,
                "put a unique constraint on the key, and book in the transaction that inserts it",
            )
        )
    return tuple(found)


def _retention(ages: Mapping[str, int | None]) -> str:
    """What the resends show of the receiver's memory, as the end of a sentence."""
    hours = {name: (us or 0) / 3.6e9 for name, us in ages.items() if name.endswith("_us")}
    honoured = (
        f"was still honoured after {hours['longest_honoured_us']:.1f} h and " if ages["longest_honoured_us"] else ""
    )
    if not ages["forgotten"]:
        return ""
    return (
        f"; a key {honoured}was booked again after {hours['shortest_forgotten_us']:.1f} h, so the retention lies "
        f"between; one of {hours['longest_forgotten_us']:.1f} h or more would have been enough for all of them"
    )


def find_conflicts(runner: Runner) -> tuple[Finding, ...]:
    """Keys that stand with two amounts, or got two different answers."""
    found = []
    records = runner.run("keys/conflicts").records()
    for conflict, title, statement, step in _CONFLICTS:
        own = [r for r in records if r["conflict"] == conflict]
        if own:
            n = own[0]["conflicts"]
            finding = _finding(f"key-{conflict.replace('_', '-')}", title, f"{n} {statement}", {conflict: n}, step)
            evidence = tuple(EvidenceRow(r["evidence"], r["source_id"], r["line_no"], conflict) for r in own)
            found.append(replace(finding, query="keys/conflicts", evidence=evidence[:EVIDENCE_CAP], evidence_total=n))
    return tuple(found)


_CONFLICTS = (
    (
        "other_amount",
        "A key was used again with another amount",
        "keys stand in the ledger with two amounts of one order: the receiver did not compare the requests.",
        "store a digest of the request beside its key, and refuse the key with other content (409 or 422)",
    ),
    (
        "other_answer",
        "A key got two different answers",
        "keys were answered differently the second time: a replay must give the first answer again.",
        "store the answer with the key in the transaction that books, and replay it as it stands",
    ),
)


def find_swallowed(runner: Runner) -> tuple[Finding, ...] | str:
    """Orders that were told they are paid and never were, because another order had used their key.

    A text when no evidence says under which key an order was sent.
    """
    hops = runner.run("traffic/identities").records()
    if not runner.count("idempotency_log") and not any(h["with_key"] and h["with_order"] for h in hops):
        return "neither an access log with order and key nor the receiver's list of keys was given"
    records = runner.run("keys/swallowed_orders").records()
    if not records:
        return ()
    n = len(records)
    found = _finding(
        "key-reused",
        "Orders were swallowed by a used key",
        f"{n} order{'' if n == 1 else 's'} came under a key that another order had used: the receiver gave the old "
        "answer, and nothing was booked.",
        {"swallowed": n},
        "make the key from the business act, and let the receiver refuse a known key with other content (409 or 422)",
    )
    evidence = tuple(EvidenceRow(r["evidence"], r["source_id"], r["line_no"], "swallowed") for r in records)
    return (
        replace(
            found,
            rule="keys/swallowed",
            severity="high",
            query="keys/swallowed_orders",
            evidence=evidence[:EVIDENCE_CAP],
            evidence_total=n,
        ),
    )


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
