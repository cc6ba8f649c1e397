"""Dead letters: what is known of them, and for each whether it may be sent again.

A letter is judged by the first of these that holds: its act took effect (unsafe), its reason says so (unsafe), it
repeats an earlier letter of the same act (unsafe), the message itself is at fault (fix first), it cannot be told
(unknown: no ledger, no key, older or newer than the ledger, no reason); else it is safe: nothing took effect, and what
failed was not the message.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from forensics.analysis.reasons import family_of, family_words, kind_of_reason
from forensics.model import DeadLetter, DeadLetters
from forensics.runner import Runner
from forensics.sources.letters import gives_no_reason

SENSIBLE_CAP = 25
"""Attempts beyond which none is sensible, where the letters show no cap of their own."""
_LEAST_SHARE = 0.1
_FEWEST_AT_CAP = 3
_FEWEST_KEYED = 20
_LEDGER_LAG = timedelta(days=1)
_BATCHES = (1, 10, 100)
_LARGEST_BATCH = 1000
_MOST_REASONS = 20
_EARLIEST = datetime.min.replace(tzinfo=UTC)
_AMOUNTS = ("amount", "total", "amount_total", "amt", "value", "price")
_NOT_POSITIVE = "its amount is not above zero, so it may be refused again"
_REFUSED = "a consumer refused it before, and may again"


@dataclass(frozen=True, slots=True)
class _Given:
    """What the judgement of a letter rests on besides the letter."""

    has_ledger: bool
    keys_meet: bool
    """Whether the letters' keys are the ledger's order numbers at all."""


def measure_letters(runner: Runner) -> DeadLetters | None:
    """Every dead letter with its verdict, in the order to replay; None when there are none."""
    records = runner.run("dead_letters/letters").records()
    if not records:
        return None
    payloads = [_payload(r["original"]) for r in records]
    caps = _caps(records)
    judged = _judge(records, payloads)
    letters = [replace(x, over_cap=x.attempts is not None and x.attempts > caps[x.queue]) for x in judged]
    families = Counter(x.family for x in letters)
    reasons = Counter((x.family, kind_of_reason(x.reason)) for x in letters)
    times = [t for x in letters for t in (x.first_failed_at, x.last_failed_at) if t]
    plan, batches = _plan(letters)
    busiest = Counter(r["queue"] for r in records if r["attempts"] is not None).most_common(1)
    return DeadLetters(
        letters=plan,
        missing=_missing(records, payloads),
        families=dict(sorted(families.items(), key=lambda f: (-f[1], f[0]))),
        reasons=tuple((f, r, n) for (f, r), n in sorted(reasons.items(), key=lambda c: (-c[1], c[0])))[:_MOST_REASONS],
        first_at=min(times, default=None),
        last_at=max(times, default=None),
        median_age_s=_median_age_s(letters),
        repeated_messages=len(letters) - len({x.message_id or (x.source_id, x.line_no) for x in letters}),
        cap=caps[busiest[0][0]] if busiest else None,
        over_cap=sum(x.over_cap for x in letters),
        batches=batches,
    )


# The letters themselves -----------------------------------------------------------------------------------------


def _payload(original: str | None) -> object:
    """The message: an object or list; a text when it cannot be read (cut off, opaque); None when there is none."""
    value: object = original
    for _ in range(4):  # JSON in JSON text, up to three times
        if not isinstance(value, str) or not value.strip() or value.strip() == "null":
            break
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, str) and value.strip() in ("", "null"):
        return None
    return value


def _is_cut(payload: object) -> bool:
    """Whether a message begins as JSON and does not end."""
    return isinstance(payload, str) and payload.lstrip()[:1] in ("{", "[")


def _missing(records: Sequence[Mapping[str, Any]], payloads: Sequence[object]) -> dict[str, int]:
    """Letters without each field: the key is absent, null or an empty text."""
    names = ("reason", "attempts", "first_failed_at", "business_key")
    counts = {name: sum(r[name] is None for r in records) for name in names}
    return {"original": sum(p is None or p in ({}, []) for p in payloads), **counts}


def _caps(records: Iterable[Mapping[str, Any]]) -> dict[str | None, int]:
    """Attempts at which each queue gives up: the highest number that a tenth of its letters share."""
    counted: dict[str | None, Counter[int]] = defaultdict(Counter)
    for record in records:
        counted[record["queue"]][record["attempts"]] += record["attempts"] is not None
    caps = {}
    for queue, counts in counted.items():
        fewest = max(_FEWEST_AT_CAP, _LEAST_SHARE * counts.total())
        caps[queue] = max((a for a, n in counts.items() if a is not None and n >= fewest), default=SENSIBLE_CAP)
    return caps


def _median_age_s(letters: Sequence[DeadLetter]) -> float | None:
    ends = [t for x in letters if (t := x.last_failed_at or x.first_failed_at)]
    return median((max(ends) - t).total_seconds() for t in ends) if ends else None


# Verdicts -------------------------------------------------------------------------------------------------------


def _judge(records: Sequence[Mapping[str, Any]], payloads: Sequence[object]) -> Iterator[DeadLetter]:
    keyed = sum(r["business_key"] is not None for r in records)
    met = any(r["known"] or r["effects"] for r in records)
    given = _Given(records[0]["ledger_from"] is not None, met or keyed < _FEWEST_KEYED)
    earlier = _earlier_letters(records, payloads)
    for record, payload, before in zip(records, payloads, earlier, strict=True):
        family = family_of(record["reason"])
        if family == "unknown" and record["reason"] is None and gives_no_reason(record["format"]):
            family = "exhausted"
        verdict, why = (
            _verdict(record, payload, family, before)
            or _undecided(record, payload, family, given)
            or (
                "safe",
                _why_safe(record, payload, family),
            )
        )
        yield DeadLetter(
            source_id=record["source_id"],
            line_no=record["line_no"],
            message_id=record["message_id"],
            business_key=record["business_key"],
            queue=record["queue"],
            family=family,
            reason=record["reason"],
            attempts=record["attempts"],
            first_failed_at=record["first_failed_at"],
            last_failed_at=record["last_failed_at"],
            verdict=verdict,
            why=why,
            batch=None,
            over_cap=False,
        )


def _moment(record: Mapping[str, Any]) -> datetime | None:
    """When the letter's act was first tried, as far as anything tells."""
    moment: datetime | None = record["first_failed_at"] or record["last_failed_at"] or record["delivered_at"]
    return moment


def _earlier_letters(records: Sequence[Mapping[str, Any]], payloads: Sequence[object]) -> list[int | None]:
    """For each letter the line of an earlier one of the same act: same message, or same key and amount."""
    order = sorted(range(len(records)), key=lambda i: (_moment(records[i]) or _EARLIEST, i))
    by_message: dict[str, int] = {}
    by_key: dict[str, list[tuple[str | None, int]]] = defaultdict(list)
    earlier: list[int | None] = [None] * len(records)
    for i in order:
        record, amount = records[i], _amount(payloads[i])
        line = record["line_no"]
        if record["message_id"] is not None:
            earlier[i] = by_message.get(record["message_id"])
            by_message.setdefault(record["message_id"], line)
        if record["business_key"] is not None:
            same = by_key[record["business_key"]]
            if earlier[i] is None:
                earlier[i] = next((n for a, n in same if a is None or amount is None or a == amount), None)
            same.append((amount, line))
    return earlier


def _amount(payload: object) -> str | None:
    """The amount a message names at its top level, as text; None when it names none."""
    if not isinstance(payload, dict):
        return None
    found = next((payload[name] for name in _AMOUNTS if payload.get(name) is not None), None)
    return str(found) if isinstance(found, str | int | float) else None


def _verdict(record: Mapping[str, Any], payload: object, family: str, before: int | None) -> tuple[str, str] | None:
    """What is certain about a letter; None when nothing is."""
    if record["effects"]:
        again = "" if record["effects"] == 1 else f" {record['effects']} times"
        return "unsafe", f"the ledger shows that its act took effect{again}: sent again it would pay again"
    if family == "done":
        return "unsafe", "its reason says that the act is done already: look it up at the provider first"
    if before is not None:
        return "unsafe", f"a second letter of the act in line {before}: only one of them may be sent"
    if family != "data" and not _is_cut(payload):
        return None
    why = family_words("data") if family == "data" else "the message is cut off: restore it from its sender"
    moment = _moment(record)
    if moment and record["ledger_from"] and moment < record["ledger_from"]:
        why += "; it is older than the ledger at hand: look it up before it is sent"
    return "fix_first", why


def _undecided(record: Mapping[str, Any], payload: object, family: str, given: _Given) -> tuple[str, str] | None:
    """Why it cannot be told whether a letter may be sent again, and who could tell; None when it can."""
    moment = _moment(record)
    if payload is None:
        return "ask_source", "the message itself is missing: ask its sender"
    if not given.has_ledger:
        return "unknown", "no payment table was given: whether it took effect cannot be told"
    if record["business_key"] is None:
        return "ask_source", "it names no order, so the ledger cannot be asked: ask its sender what it was for"
    if not given.keys_meet:
        return "unknown", "the ledger knows none of the keys that the letters bear: they may be another kind of number"
    if moment and moment < record["ledger_from"]:
        return "unknown", "older than the ledger at hand: ask for the ledger of that time"
    if moment and moment > record["ledger_to"] + _LEDGER_LAG:
        return "unknown", "newer than the ledger at hand: ask for a later one"
    if family == "unknown" and not record["deliveries"]:
        return "ask_source", "no reason that can be read: ask those who run its consumer why it failed"
    if not moment:
        return "unknown", "it tells no time, so it may be older than the ledger at hand"
    return None


def _why_safe(record: Mapping[str, Any], payload: object, family: str) -> str:
    why = "nothing took effect in the ledger, and it is the only letter of its act or the first"
    if family == "unknown":
        why += f"; its {record['deliveries']} deliveries are on record, and none of them booked anything"
    else:
        why += f"; {family_words(family)}"
    cautions = [_REFUSED] if family == "refused" else []
    amount = _amount(payload)
    if amount is not None and (amount.lstrip().startswith("-") or not amount.strip("0. ")):
        cautions.append(_NOT_POSITIVE)
    return "; but ".join([why, *cautions])


# The plan -------------------------------------------------------------------------------------------------------


def _plan(letters: Sequence[DeadLetter]) -> tuple[tuple[DeadLetter, ...], tuple[int, ...]]:
    """Safe letters in batches, small ones first, oldest first, doubtful ones last; then the others."""

    def key(letter: DeadLetter) -> tuple[bool, datetime, int, int]:
        doubtful = _NOT_POSITIVE in letter.why or _REFUSED in letter.why
        return doubtful, letter.first_failed_at or letter.last_failed_at or _EARLIEST, letter.source_id, letter.line_no

    safe = sorted((x for x in letters if x.verdict == "safe"), key=key)
    ranks = ("fix_first", "ask_source", "unknown", "unsafe")
    rest = sorted((x for x in letters if x.verdict != "safe"), key=lambda x: (ranks.index(x.verdict), key(x)[1:]))
    sizes: list[int] = []
    placed: list[DeadLetter] = []
    while len(placed) < len(safe):
        size = _BATCHES[len(sizes)] if len(sizes) < len(_BATCHES) else _LARGEST_BATCH
        part = safe[len(placed) : len(placed) + size]
        placed += [replace(x, batch=len(sizes) + 1) for x in part]
        sizes.append(len(part))
    return (*placed, *rest), tuple(sizes)
