"""What tells first attempts from retries at a hop, whether it can be believed, and the share of retries it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil, sqrt
from typing import Any

from forensics.analysis.retry_share import Followed, Share, by_trace, calibrated, of_counts
from forensics.detect.timeline import Window, WindowCounts
from forensics.runner import Runner

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FEWEST = 20
_FULL = 0.95
_LIES = 0.5
_SHOWS = 0.02
# A request id and a trace id are made anew for each call; a key may be used again for another act, an order surely is.
_BASES = (
    ("trace_id", "with_trace", "traces", "trace id"),
    ("request_id", "with_request", "request_ids", "request id"),
    ("idempotency_key", "with_key", "keys", "idempotency key"),
    ("order_id", "with_order", "orders", "order in the path"),
)
_TRACE_WORDS = "nothing but what follows failures: no header, and no id that attempts share"

Hop = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """How attempts are told at one hop."""

    hop: str
    basis: str
    """As traffic/requests_by_bin takes it."""
    words: str
    coverage: float
    """Share of the requests that carry the attempt number."""
    notes: tuple[str, ...]
    """What was noticed of the header, in words."""

    @property
    def by_header(self) -> bool:
        """Whether nearly every request says which attempt it is."""
        return self.basis == "attempt" and self.coverage >= _FULL

    @property
    def counted(self) -> bool:
        """Whether a header or an id tells each request, so that nothing is inferred."""
        return self.by_header or self.basis not in ("attempt", "none")


def tell_attempts(runner: Runner, hop: Hop) -> Told:
    """The attempt header where it covers and is believed, else an id that attempts share, else nothing."""
    total, coverage = hop["requests"], hop["with_attempt"] / hop["requests"]
    shared = [
        (name, words)
        for name, covered, distinct, words in _BASES
        if hop[covered] >= 0.9 * total and hop[covered] >= 1.02 * max(1, hop[distinct])
    ]
    lie = _lie(runner, hop)
    if lie is None:
        if coverage >= _FULL:
            return Told(hop["hop"], "attempt", "attempt header", coverage, ())
        if hop["with_attempt"] >= _FEWEST and not hop["numbered_one"]:
            words = "attempt header, which callers send on retries only"
            return Told(hop["hop"], "retry_header", words, coverage, ())
    notes = (lie,) if lie else ()
    if shared:
        return Told(hop["hop"], *shared[0], coverage, notes)
    if lie is None and hop["with_attempt"]:
        return Told(hop["hop"], "attempt", "attempt header", coverage, ())
    return Told(hop["hop"], "none", _TRACE_WORDS, coverage, notes)


def _lie(runner: Runner, hop: Hop) -> str | None:
    """In words, how the header contradicts the ids; None when it does not, or when there is none."""
    if hop["with_attempt"] < _FEWEST:
        return None
    for name, covered, distinct, words in _BASES[:3]:
        if hop[covered] < 0.5 * hop["requests"] or hop[covered] < 1.02 * max(1, hop[distinct]):
            continue
        result = runner.run("traffic/header_against_ids", at_hop=hop["hop"], tied_by=name)
        repeats, first, highest = next(((r[1], r[2], r[3]) for r in result.rows if r[0] == hop["hop"]), (0, 0, None))
        if repeats < _FEWEST or first < _LIES * repeats:
            return None
        kind = (
            "is always 1"
            if highest == 1
            else "starts again from 1: it counts the tries of another hop, as a proxy's own count does"
        )
        return f"the attempt header {kind}: {first} of {repeats} requests that repeat a {words} say 1. It was not used"
    return None


def measure_share(runner: Runner, told: Told, window: Window, counts: WindowCounts) -> Share:
    """The share of retries among a window's requests, with the bounds that what tells them allows."""
    if told.by_header:
        low, high = (n / max(1, counts.requests) for n in (counts.retries, counts.retries + counts.unnumbered))
        known = counts.first + counts.retries
        return Share(low, counts.retries / known if known else None, high)
    if told.basis == "none":
        return by_trace(_all(_followed(runner, told, window)))
    if told.basis == "attempt":
        return calibrated(counts.retries, _followed(runner, told, window))
    again = counts.asked_again
    by_people = _pressed_again(counts) if told.basis == "order_id" else again
    also = counts.unnumbered + (again if told.basis == "order_id" else 0)
    share = of_counts(counts.retries, (by_people, also), counts.requests)
    return share if counts.first else Share(share.low, None, share.high)


def _pressed_again(counts: WindowCounts) -> int:
    """At most so many repeats after trouble are people's own: they repeat as often after a good answer (two sigma)."""
    troubled = counts.failures + counts.slow
    expected = counts.asked_again * troubled / max(1, counts.requests - troubled)
    return ceil(expected + 2 * sqrt(expected))


def always_one(runner: Runner, told: Told, windows: tuple[Window, Window], retries: int) -> Told:
    """The same, unless the header never says anything but 1 while requests follow failures as retries do."""
    if not told.by_header or retries:
        return told
    low = by_trace(_all(_followed(runner, told, windows[1]))).low
    if low < _SHOWS:
        return told
    note = (
        f"the attempt header is always 1, yet at least {low:.0%} of the incident's requests follow a failure or a slow "
        "answer of the same client as retries do. It was not used"
    )
    return Told(told.hop, "none", _TRACE_WORDS, told.coverage, (note,))


def _followed(runner: Runner, told: Told, window: Window) -> dict[int, Followed]:
    since, until = (_microseconds(t) for t in window)
    counts: dict[int, dict[str, int]] = {}
    for stated, followed, requests, troubled in runner.run(
        "traffic/followed", at_hop=told.hop, since_us=since, until_us=until
    ).rows:
        cell = counts.setdefault(stated, {})
        cell[followed] = requests
        cell["troubled"] = cell.get("troubled", 0) + troubled
    return {stated: Followed(**cell) for stated, cell in counts.items()}


def _all(followed: Mapping[int, Followed]) -> Followed:
    parts = followed.values()
    return Followed(
        sum(p.trouble for p in parts),
        sum(p.answer for p in parts),
        sum(p.nothing for p in parts),
        sum(p.unknown for p in parts),
        sum(p.troubled for p in parts),
    )


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
