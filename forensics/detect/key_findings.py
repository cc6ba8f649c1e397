"""What the keys did, or did not do, for the orders that were paid more than once, as findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from forensics.amounts import many, money_words
from forensics.detect.duplicates import EVIDENCE_CAP
from forensics.model import EvidenceRow, Finding, KeyHabit, KeyUse
from forensics.runner import Runner

_MOST_NAMED = 3


def find_keys(use: KeyUse, ages: Mapping[str, int | None]) -> tuple[Finding, ...]:
    """One finding for each habit that let money out, with the senders that have it; and for effects that leaked.

    Args:
        ages: the row of keys/resend_ages.
    """
    found = (
        _per_attempt(use.senders("key_per_attempt")),
        _unkeyed(use.senders("none")),
        _shared(use.senders("key_reused")),
    )
    return (*(f for f in found if f is not None), *_leaks(use.modes, ages))


def _per_attempt(senders: Sequence[KeyHabit]) -> Finding | None:
    of = KeyHabit.together(senders)
    if not of.excess:
        return None
    return _of_senders(
        "key-per-attempt",
        "Keys were sent, and did nothing",
        f"{many(of.modes['key_per_attempt'], 'order')}{_from(senders)} came from callers that make a new key for every "
        f"attempt: {_too_often(of)} all the same.",
        senders,
        "make the key from the business act (the order), once, and send the same one on every attempt",
    )


def _unkeyed(senders: Sequence[KeyHabit]) -> Finding | None:
    of = KeyHabit.together(senders)
    if not of.excess:
        return None
    bare = of.modes["none"]
    share = f"None of {many(of.orders, 'order')}" if bare == of.orders else f"{bare:,} of {many(of.orders, 'order')}"
    return _of_senders(
        "no-key",
        "No idempotency key was sent",
        f"{share}{_from(senders)} {'bears an' if bare == of.orders else 'bear no'} idempotency key: the receiver could "
        f"not tell a second try, and {_too_often(of)}.",
        senders,
        "send one idempotency key per business act, and put a unique constraint behind it",
    )


def _shared(senders: Sequence[KeyHabit]) -> Finding | None:
    if not senders:
        return None
    of = KeyHabit.together(senders)
    return _finding(
        "key-shared",
        "One key stands for several orders",
        f"{many(of.orders, 'order')}{_from(senders)} came from callers that use a key again for another order: a "
        "receiver that remembers the key answers the second order with the first one's answer and books nothing.",
        of.modes,
        "make the key from the business act, and let the receiver refuse a known key with other content (409 or 422)",
    )


def _too_often(of: KeyHabit) -> str:
    return f"{many(of.acts_with_excess, 'order')} took effect {many(of.excess, 'time')} too often"


def _from(senders: Sequence[KeyHabit]) -> str:
    """Who they are, as ' from web and app (shop/1.0)'; empty where the evidence names nobody."""
    names = list(dict.fromkeys(h.sender for h in senders if h.sender))
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f" from {', '.join(names[:_MOST_NAMED])}{more}"


def _of_senders(name: str, title: str, statement: str, senders: Sequence[KeyHabit], step: str) -> Finding:
    """A finding about senders, with what one key per act would have left."""
    of = KeyHabit.together(senders)
    instead = (
        " With one key per business act, sent by everyone who sends the act again, and a unique constraint behind it, "
        f"there would be {of.payments_with_one_key:,} payments instead of {of.payments:,}, and "
        f"{money_words(of.excess_amount)} less."
    )
    numbers = {
        **of.modes,
        "payments": of.payments,
        "payments_with_one_key_per_act": of.payments_with_one_key,
    }
    return _finding(name, title, statement + instead, numbers, step)


def _leaks(modes: Mapping[str, int], ages: Mapping[str, int | None]) -> tuple[Finding, ...]:
    """Effects that came through although a receiver honours keys."""
    found = []
    if modes["expired"]:
        found.append(
            _finding(
                "key-expired",
                "Keys were sent again after the receiver forgot them",
                f"{modes['expired']} orders took effect twice under one key, more than an hour apart, although the "
                f"receiver honours keys: it had forgotten them{_retention(ages)}.",
                modes,
                "let the receiver remember keys longer than the longest time after which anybody sends again",
            )
        )
    if modes["race"]:
        found.append(
            _finding(
                "key-race",
                "One key took effect twice at once",
                f"{modes['race']} orders took effect twice under one key within seconds: the receiver looks the key up "
                "and then books, and nothing stops two at the same time.",
                modes,
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


def _finding(name: str, title: str, statement: str, modes: Mapping[str, int], step: str) -> Finding:
    return Finding(
        id=name,
        rule="keys/mode",
        title=title,
        severity="medium",
        confidence=0.9,
        statement=statement,
        why=(),
        alternatives=(),
        numbers=dict(modes),
        money={},
        query="keys/orders_by_channel",
        parameters={},
        evidence=(),
        evidence_total=0,
        next_steps=(step,),
    )
