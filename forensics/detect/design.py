"""Rules of the whole design: what one hop's log alone does not show.

Layers, jitter and repeated effects were measured before; here they are held against the rules, so that the table of
rules is whole. What was not measured is not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from forensics.detect import rules
from forensics.model import CohortPolicy, ConductRule, Herd, Layers, RepeatRow
from forensics.runner import Runner

_MOST_CALLERS = 5
_SURE = 0.5
_IDS: Mapping[str, str] = {
    "trace id": "trace_id",
    "request id": "request_id",
    "idempotency key": "idempotency_key",
    "order in the path": "order_id",
}


def judge_design(
    runner: Runner,
    rows: Sequence[RepeatRow],
    policies: Sequence[CohortPolicy],
    layers: Layers | None,
    herd: Herd | None,
    clock_us: int,
) -> tuple[ConductRule, ...]:
    """The rules that rest on other answers, each violated, kept, or not examined and why.

    Args:
        clock_us: the coarsest clock of the logs: how far two hops may be apart.
    """
    return (
        _jitter(policies, herd),
        _layers(layers),
        _hang_up(runner, layers, clock_us),
        _methods(runner, rows),
    )


def _jitter(policies: Sequence[CohortPolicy], herd: Herd | None) -> ConductRule:
    name = "no_jitter"
    if herd is not None and herd.synchronised:
        why = f"calls that ended together came back in {len(herd.waves)} waves: {herd.why}"
        return _rule(name, herd.clients, herd.clients, why)
    policies = [p for p in policies if not p.of_broker]  # a broker does not wait by a schedule of the callers
    if not policies or policies[0].ranked.probability < _SURE:
        return _unseen(name, "no policy is named with a probability of a half, and no calls ended together")
    policy = policies[0].ranked.policy
    groups = policies[0].groups
    if policy.jitter == "none" and not policy.base_s:
        return _unseen(name, "the strongest policy does not wait at all: there is nothing to jitter")
    words = f"the strongest policy waits {'without' if policy.jitter == 'none' else f'with {policy.jitter}'} jitter"
    return _rule(name, groups if policy.jitter == "none" else 0, groups, words)


def _layers(layers: Layers | None) -> ConductRule:
    name = "retries_in_layers"
    if layers is None:
        return _unseen(name, "the logs show no chain of hops")
    trying = [hop for hop in layers.hops if (hop.attempts_per_request or 1) > 1]
    known = sum(hop.attempts_per_request is not None for hop in layers.hops)
    if not known:
        return _unseen(name, "no hop had to show how often it tries")
    who = ", ".join(f"{hop.hop} {hop.attempts_per_request:g}" for hop in trying) or "none"
    why = f"hops that try more than once: {who}; together {layers.product:g} requests at the last hop for one"
    return _rule(name, len(trying) if len(trying) > 1 else 0, known, why)


def _hang_up(runner: Runner, layers: Layers | None, clock_us: int) -> ConductRule:
    name = "attempts_after_hang_up"
    tied_by = _IDS.get(layers.tied_by) if layers else None
    if layers is None or tied_by is None:
        return _unseen(
            name, "it takes the logs of two hops that share an id: one shows who hung up, the next what came"
        )
    callers = Counter[str]()
    broken, chances, worst = 0, 0, 0
    shown: Mapping[str, str | int] = {}
    for outer, inner in pairwise(layers.hops):
        pair: dict[str, str | int] = {"outer_hop": outer.hop, "inner_hop": inner.hop, "tied_by": tied_by}
        pair["clock_us"] = clock_us
        found = runner.run("conduct/after_hang_up", **pair).records()
        late = found[0]["broken"] if found else 0
        chances, broken = chances + inner.requests, broken + late
        if late > worst:
            worst, shown = late, pair
        for caller, count in {r["caller"]: r["by_caller"] for r in found}.items():
            callers[caller] += count
    why = f"{broken} of {chances} requests behind the edge began after everyone who waited for the call had hung up"
    return replace(_rule(name, broken, chances, why, callers), parameters=shown)


def _methods(runner: Runner, rows: Sequence[RepeatRow]) -> ConductRule:
    name = "idempotent_methods_repeated"
    excess = {(r.source_id, r.line_no) for r in rows if r.role in ("excess", "refunded")}
    records = runner.run("duplicates/requests_of_repeated_orders").records() if rows else []
    behind = {(r["row_source_id"], r["row_line_no"]) for r in records if r["method"] in ("PUT", "DELETE")}
    if not behind:
        return _unseen(name, "no effect of a repeated act came of a PUT or DELETE that the log shows")
    broken = len(behind & excess)
    why = f"{broken} of {len(behind)} effects of repeated acts that came of PUT or DELETE are excess"
    return _rule(name, broken, len(behind), why)


def _rule(name: str, broken: int, chances: int, why: str, callers: Mapping[str, int] | None = None) -> ConductRule:
    most = sorted(((c, n) for c, n in (callers or {}).items() if n), key=lambda c: (-c[1], c[0]))
    status = "violated" if broken else "kept"
    return ConductRule(name, rules.rule(name).title, status, broken, chances, why, tuple(most[:_MOST_CALLERS]))


def _unseen(name: str, why: str) -> ConductRule:
    return ConductRule(name, rules.rule(name).title, "not_examined", None, None, why, ())
