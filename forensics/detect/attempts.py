"""The attempts themselves, where an access log shows them: gaps between the tries of one call, and the timeout.

Rows of a ledger hide attempts that were not booked; a log line is written for each. Where calls can be told apart, the
policy is read here first. Where the log also says when each failed attempt ended for its caller, the wait itself shows,
from that end to the next start, and no timeout is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median
from typing import Any

from forensics.analysis.cohorts import GapGroup
from forensics.detect.hops import busiest, read_hops
from forensics.runner import Runner

_FEWEST_TIMEOUTS = 5
_COMMON_SHARE = 0.6
_ENDS_SHARE = 0.95
_SLACK_US = 1_000_000
_LONGEST_GAP_US = 12 * 3600 * 1_000_000
# Ids by which attempts of one call are known; an order number also ties separate acts, so it comes last.
_IDS = (
    ("request_id", "with_request", "request_ids"),
    ("idempotency_key", "with_key", "keys"),
    ("trace_id", "with_trace", "traces"),
    ("order_id", "with_order", "orders"),
)


@dataclass(frozen=True, slots=True)
class Attempts:
    """What the log shows of calls that were tried more than once."""

    basis: str
    """The id that ties attempts."""
    calls: tuple[GapGroup, ...]
    """For each call, the times between the starts of its attempts, microseconds, with its user agent and route."""
    waits: tuple[GapGroup, ...]
    """The same from the end of an attempt to the start of the next; empty where the log does not say when the caller
    learnt that an attempt had failed. Negative where a coarse clock says so."""
    timed: bool
    """Whether the log says how long requests took; if not, its stamps may be their ends, and gaps lie between those."""
    timeout_s: float | None
    """How long callers waited before they hung up (status 499), where that is one length; None when not seen."""


def measure_attempts(runner: Runner) -> Attempts | None:
    """Gaps between attempts at the hop nearest to the ledger; None when no id ties attempts there."""
    hops = read_hops(runner)
    if not hops:
        return None
    hop = busiest(hops)
    basis = tie_of(hop)
    if basis is None:
        return None
    records = runner.run("traffic/attempts_of_calls", tied_by=basis, at_hop=hop["hop"]).records()
    calls = [list(call) for _, call in groupby(records, key=lambda r: r["call_id"])]
    tried = [(_gaps(call), call) for call in calls]
    tried = [(gaps, call) for gaps, call in tried if gaps]
    starts = tuple(GapGroup(gaps, _labels(call)) for gaps, call in tried)
    timed = any(r["duration_us"] is not None for r in records)
    return Attempts(basis, starts, _waits(tried), timed, _timeout_s(records))


def _labels(call: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What a call's requests agree on."""
    found = {}
    for label, column in (("user agent", "user_agent"), ("route", "route")):
        values = {r[column] for r in call if r[column]}
        if len(values) == 1:
            found[label] = values.pop()
    return found


def _waits(tried: Sequence[tuple[tuple[int, ...], Sequence[Mapping[str, Any]]]]) -> tuple[GapGroup, ...]:
    """From end to start, if nearly every attempt that was tried again had ended in a failure before the next one."""
    pairs = [(gap, before) for gaps, call in tried for gap, before in zip(gaps, call, strict=False)]
    ended = sum(
        before["duration_us"] is not None and gap - before["duration_us"] >= -_SLACK_US and _failed(before["status"])
        for gap, before in pairs
    )
    if ended < _ENDS_SHARE * len(pairs):
        return ()
    found = (
        (tuple(g - r["duration_us"] for g, r in zip(gaps, call, strict=False) if r["duration_us"] is not None), call)
        for gaps, call in tried
    )
    return tuple(GapGroup(waits, _labels(call)) for waits, call in found if waits)


def _failed(status: int | None) -> bool:
    """Whether the caller knew at that moment that the attempt had failed."""
    return status is not None and (status >= 400 or status == 0)


def tie_of(hop: Mapping[str, Any]) -> str | None:
    """The id by which attempts of one call are known at a hop (a record of `identities`); None when there is none."""
    return next((name for name, covered, distinct in _IDS if _ties(hop, covered, distinct)), None)


def _ties(hop: Mapping[str, Any], covered: str, distinct: str) -> bool:
    """Whether most requests bear the id and enough of them share one."""
    return bool(hop[covered] >= 0.5 * hop["requests"] and hop[covered] - hop[distinct] >= 10)


def _gaps(call: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    """Microseconds between successive starts; a silence longer than half a day ends the call."""
    gaps = []
    for before, after in pairwise(call):
        gap = after["started_at"] - before["started_at"]
        micros = (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds
        if micros > _LONGEST_GAP_US:
            break
        gaps.append(max(0, micros))
    return tuple(gaps)


def _timeout_s(records: Sequence[Mapping[str, Any]]) -> float | None:
    """The common length of the requests whose caller hung up: the timeout, rounded to a tenth of a second."""
    waits = [r["duration_us"] / 1e6 for r in records if r["status"] == 499 and r["duration_us"]]
    if len(waits) < _FEWEST_TIMEOUTS:
        return None
    middle = median(waits)
    near = Counter(abs(w - middle) <= 0.05 * middle + 0.05 for w in waits)
    return round(middle, 1) if near[True] >= _COMMON_SHARE * len(waits) else None
