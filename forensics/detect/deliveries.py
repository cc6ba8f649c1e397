"""What at-least-once delivery did: how often messages came back, after how long, and what was paid again for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from forensics.amounts import many
from forensics.detect.duplicates import EVIDENCE_CAP
from forensics.model import ActsDelivered, Deliveries, EvidenceRow, Finding
from forensics.runner import Runner

_ALIKE = 0.1
"""Share of the median by which returns of one visibility timeout may differ: polling and the clock."""
_MOSTLY = 0.5
"""A wait that half of the returns share is set by something."""
_FEWEST_RETURNS = 5
_SHORTEST_TIMEOUT_S = 1.0
"""Brokers count visibility in whole seconds; what comes back sooner was given back."""


def measure_deliveries(runner: Runner) -> Deliveries | str:
    """The figures; a text when there is no delivery."""
    figures = runner.run("deliveries/figures").records()[0]
    if not figures["deliveries"]:
        return "the tables of deliveries hold no row"
    returns = runner.run("deliveries/returns").records()
    waits = [r["again_us"] / 1e6 for r in returns]
    middle = median(waits) if waits else None
    alike = _alike(waits, middle) if middle is not None else None
    common = common_return_s(waits)
    timeout = common[0] if common else None
    known = [r for r in returns if r["handled_us"] is not None]
    acts = runner.run("deliveries/effects_of_acts").records() if runner.count("payments") else []
    longest = figures["longest_us"]
    return Deliveries(
        deliveries=figures["deliveries"],
        messages=figures["messages"],
        again=figures["again"],
        flagged=figures["flagged"],
        most_times=figures["most_times"],
        return_s=middle,
        visibility_timeout_s=timeout,
        returns_alike=alike,
        longest_handling_s=longest / 1e6 if longest is not None else None,
        over_timeout=sum(r["handled_us"] > r["again_us"] for r in known) if known else None,
        acts=tuple(_acts(record) for record in acts),
        returned=tuple(
            EvidenceRow("deliveries", r["source_id"], r["line_no"], "delivered again") for r in returns[:EVIDENCE_CAP]
        ),
    )


def common_return_s(waits_s: Sequence[float]) -> tuple[float, float] | None:
    """The time after which messages come back, and the share of returns near it; None where no time is common."""
    if len(waits_s) < _FEWEST_RETURNS:
        return None
    middle = median(waits_s)
    alike = _alike(waits_s, middle)
    return (middle, alike) if alike >= _MOSTLY and middle >= _SHORTEST_TIMEOUT_S else None


def _alike(waits_s: Sequence[float], middle: float) -> float:
    return sum(abs(w - middle) <= _ALIKE * middle for w in waits_s) / len(waits_s)


def _acts(record: Mapping[str, Any]) -> ActsDelivered:
    return ActsDelivered(record["messages"], record["delivered"] == "again", record["effects"], record["acts"])


def find_deliveries(found: Deliveries) -> tuple[Finding, ...]:
    """At-least-once delivery where it shows; a timeout shorter than the work, where that shows too."""
    findings = (_again(found), _short_timeout(found))
    return tuple(f for f in findings if f is not None)


def _again(found: Deliveries) -> Finding | None:
    if not found.again:
        return None
    share = found.again / found.messages
    paid = (
        f"; {many(found.acts_paid_again, 'act')} took effect again for it, {found.effects_too_many:,} times in all"
        if found.acts
        else "; whether they took effect again cannot be told without a ledger and messages that name their act"
    )
    return _finding(
        "delivered-again",
        "deliveries/again",
        ("Messages were delivered more than once", "high" if found.acts_paid_again else "note"),
        f"{found.again:,} of {many(found.messages, 'message')} ({share:.1%}) were delivered more than once, the most "
        f"often {found.most_times} times{paid}. Brokers promise at least once, not once.",
        found,
        "let the consumer book in one transaction with the message's id, and refuse an id it has seen",
    )


def _short_timeout(found: Deliveries) -> Finding | None:
    timeout, over = found.visibility_timeout_s, found.over_timeout
    if timeout is None or not over:
        return None
    longest = f", the longest {found.longest_handling_s:.1f} s" if found.longest_handling_s is not None else ""
    return _finding(
        "visibility-timeout-short",
        "deliveries/visibility_timeout",
        ("Messages came back while they were worked on", "medium"),
        f"Messages come back {timeout:.1f} s after they are handed out ({found.returns_alike:.0%} of the returns "
        f"within a tenth of that): a visibility timeout. {over:,} of the deliveries that came back were still being "
        f"worked on then{longest}.",
        found,
        "make the visibility timeout longer than the longest work, or extend it while working",
    )


def _finding(name: str, rule: str, words: Sequence[str], statement: str, found: Deliveries, step: str) -> Finding:
    title, severity = words
    return Finding(
        id=name,
        rule=rule,
        title=title,
        severity=severity,
        confidence=0.95,
        statement=statement,
        why=(),
        alternatives=(),
        numbers={"deliveries": found.deliveries, "messages": found.messages, "delivered_again": found.again},
        money={},
        query="deliveries/returns",
        parameters={},
        evidence=found.returned,
        evidence_total=found.deliveries - found.messages,
        next_steps=(step,),
    )
