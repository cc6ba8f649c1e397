"""Broken rules of retrying, each as a finding with the lines that show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forensics.detect import rules
from forensics.detect.duplicates import EVIDENCE_CAP
from forensics.model import Conduct, ConductRule, EvidenceRow, Finding
from forensics.runner import Runner

_BY_LINES = "conduct/broken_rules"
_TOLD_ELSEWHERE = frozenset(("no_jitter", "retries_in_layers"))
"""Rules that have a finding of their own, with more in it."""


def find_violations(runner: Runner, conduct: Conduct) -> tuple[Finding, ...]:
    """One finding for each broken rule; what is kept or was not examined is in the table of rules."""
    broken = [r for r in conduct.rules if r.status == "violated" and r.name not in _TOLD_ELSEWHERE]
    if not broken:
        return ()
    lines: Sequence[Mapping[str, Any]] = ()
    if any(rules.rule(r.name).query == _BY_LINES for r in broken):
        lines = runner.run(
            _BY_LINES, tied_by=conduct.tied_by or "request_id", at_hop=conduct.hop, most_lines=EVIDENCE_CAP
        ).records()
    by_rule: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for line in lines:
        by_rule[line["rule"]].append(line)
    for rule in broken:
        if rule.parameters:
            own = runner.run(rules.rule(rule.name).query, most_lines=EVIDENCE_CAP, **rule.parameters).records()
            by_rule[rule.name] = [{**line, "rule": rule.name} for line in own]
    return tuple(_finding(conduct, rule, by_rule[rule.name]) for rule in broken)


def _finding(conduct: Conduct, rule: ConductRule, lines: Sequence[Mapping[str, Any]]) -> Finding:
    meant = rules.rule(rule.name)
    broken = rule.broken or 0
    share = broken / conduct.requests if conduct.requests else 0.0
    why = [f"counted: {conduct.scope}; attempts of a call are tied by: {conduct.basis}"]
    if rule.callers:
        who = ", ".join(f"{caller or '(no user agent)'} {n:,}" for caller, n in rule.callers)
        why.append(f"who: {who}")
    routes = sorted({f"{line['method']} {line['route']}" for line in lines})
    if routes:
        why.append(f"where: {', '.join(routes[:5])}{' ...' if len(routes) > 5 else ''}")
    return Finding(
        id=f"conduct-{rule.name.replace('_', '-')}",
        rule=f"conduct/{rule.name}",
        title=meant.title,
        severity=meant.severity,
        confidence=meant.confidence,
        statement=f"{rule.why[0].upper()}{rule.why[1:]} ({share:.1%} of {conduct.requests:,} requests).",
        why=tuple(why),
        alternatives=(),
        numbers={"broken": broken, "chances": rule.chances, "requests": conduct.requests, "share": share},
        money={},
        query=meant.query,
        parameters=rule.parameters or _parameters(conduct, meant.query),
        evidence=tuple(_evidence(lines)),
        evidence_total=broken if lines else 0,
        next_steps=(meant.next_step,),
    )


def _parameters(conduct: Conduct, query: str) -> Mapping[str, object]:
    if not query.startswith("conduct/"):
        return {}
    if query == "conduct/stretches_without_breaker":
        return {"at_hop": conduct.hop, "breaker_failures": conduct.breaker_failures}
    return {"at_hop": conduct.hop, "tied_by": conduct.tied_by or "request_id"}


def _evidence(lines: Iterable[Mapping[str, Any]]) -> Iterable[EvidenceRow]:
    return (EvidenceRow("requests", line["source_id"], line["line_no"], line["rule"]) for line in lines)
