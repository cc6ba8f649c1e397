"""Requests sent while nothing succeeded: what a circuit breaker would have saved.

A run of failures also comes by chance where half of all requests fail. So a stretch counts only when a run of its
length is unlikely among the caller's other requests of that time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from forensics.detect import rules
from forensics.model import ConductRule
from forensics.runner import Runner

_BY_CHANCE = 0.01
_MOST_CALLERS = 5


def judge_breaker(runner: Runner, hop: str, requests: int) -> ConductRule:
    """The rule that requests stop while nothing succeeds, per user agent (address when it sends none)."""
    name, opens = "no_breaker_requests", rules.BREAKER_FAILURES
    title = rules.rule(name).title
    if requests <= opens:
        why = f"{requests} requests cannot show a breaker that opens after {opens} failures in a row"
        return ConductRule(name, title, "not_examined", None, None, why, ())
    records = runner.run("conduct/stretches_without_breaker", at_hop=hop, breaker_failures=opens).records()
    real = [s for _, caller in groupby(records, key=lambda r: r["caller"]) for s in dead_stretches(list(caller))]
    needless, probes = sum(s["needless"] for s in real), sum(s["probes"] for s in real)
    if not real:
        why = (
            "it was not put to the test: nobody failed more than "
            f"{opens} times in a row where chance does not explain it"
        )
        return ConductRule(name, title, "not_examined", None, None, why, ())
    why = (
        f"{needless} requests went out after {opens} failures in a row (5xx or hung up), before anything succeeded, "
        f"in {len(real)} stretch{'' if len(real) == 1 else 'es'}; the longest lasted "
        f"{max(s['lasted_us'] for s in real) / 1e6:.0f} s"
    )
    if probes:
        why += f"; {probes} single probes after a silence are not counted"
    callers = Counter[str]()
    for stretch in real:
        callers[stretch["caller"]] += stretch["needless"]
    most = sorted(((c, n) for c, n in callers.items() if n), key=lambda c: (-c[1], c[0]))
    chances = sum(s["failures"] for s in real)
    status = "violated" if needless else "kept"
    return ConductRule(name, title, status, needless, chances, why, tuple(most[:_MOST_CALLERS]))


def dead_stretches(stretches: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of one caller's stretches, in order, that chance does not explain.

    The share of failures is that of the caller's other requests between its first stretch and its last.
    """
    first, last = stretches[0], stretches[-1]
    good = last["stretch_no"] - first["stretch_no"]
    bad = last["failures_before"] + last["failures"] - first["failures_before"]
    real = []
    for stretch in stretches:
        share = (bad - stretch["failures"] + 1) / (bad - stretch["failures"] + good + 2)
        if (good + bad) * share ** stretch["failures"] < _BY_CHANCE:
            real.append(stretch)
    return real
