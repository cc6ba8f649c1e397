"""Retry conduct, dead letters and deliveries, as findings.json holds them and as the terminal says them."""

from __future__ import annotations

from typing import Any

from forensics.amounts import plain_by_currency
from forensics.model import Conduct, ConductRule, DeadLetters, Deliveries, Scan
from forensics.render import words

_VERDICTS = {
    "safe": "safe_to_replay",
    "unsafe": "unsafe_to_replay",
    "fix_first": "fix_first",
    "ask_source": "ask_source",
    "unknown": "unknown",
}


def plain_violations(found: Conduct | None) -> dict[str, int] | None:
    """`policy_violations` of findings.json: how often each examined rule was broken; None when not examined.

    A rule that was not examined is left out: `conduct` says why. `after_breaker_should_open` is another name of
    `no_breaker_requests`.
    """
    if found is None:
        return None
    counts = dict(found.violations)
    if "no_breaker_requests" in counts:
        counts["after_breaker_should_open"] = counts["no_breaker_requests"]
    return {**counts, "breaker_failures": found.breaker_failures, "clients": found.callers}


def plain_conduct(found: Conduct | None) -> dict[str, Any] | None:
    """`conduct` of findings.json: every rule, kept and unexamined ones among them; None when not examined."""
    if found is None:
        return None
    return {
        "scope": found.scope,
        "basis": found.basis,
        "requests": found.requests,
        "rules": [
            {
                "rule": r.name,
                "title": r.title,
                "status": r.status,
                "broken": r.broken,
                "chances": r.chances,
                "why": r.why,
                "callers": [{"caller": caller, "broken": n} for caller, n in r.callers],
            }
            for r in found.rules
        ],
    }


def plain_keys(scan: Scan) -> dict[str, Any] | None:
    """`keys` of findings.json: orders by key mode over all senders, then by sender; None when not examined.

    Swallowed orders stand in no ledger, so they are of no mode.
    """
    if scan.keys is None:
        return None
    swallowed = sum(f.evidence_total for f in scan.findings if f.rule == "keys/swallowed")
    return {
        **scan.keys.modes,
        **({"orders_told_paid_but_never_paid": swallowed} if swallowed else {}),
        "senders": [
            {
                "channel": h.channel or None,
                "caller": "(others)" if h.caller is None else h.caller or None,
                "mode": h.mode,
                "orders": h.orders,
                "modes": dict(h.modes),
                "payments": h.payments,
                "payments_with_one_key_per_act": h.payments_with_one_key,
                "excess_rows": h.excess,
                "excess_amount": plain_by_currency(h.excess_amount),
            }
            for h in scan.keys.habits
        ],
    }


def plain_letters(found: DeadLetters | None) -> dict[str, Any] | None:
    """`dead_letters` of findings.json; None when not examined."""
    if found is None:
        return None
    return {
        "records": len(found.letters),
        **{f"missing_{name}": n for name, n in found.missing.items()},
        **{name: found.count(verdict) for verdict, name in _VERDICTS.items()},
        "over_cap": found.over_cap,
        "cap": found.cap,
        "first_at": words.stamp(found.first_at) if found.first_at else None,
        "last_at": words.stamp(found.last_at) if found.last_at else None,
        "median_age_s": found.median_age_s,
        "repeated_messages": found.repeated_messages,
        "families": dict(found.families),
        "reasons": [{"family": family, "reason": reason, "letters": n} for family, reason, n in found.reasons],
        "batches": list(found.batches),
    }


def plain_deliveries(found: Deliveries | None) -> dict[str, Any] | None:
    """`deliveries` of findings.json; None when not examined."""
    if found is None:
        return None
    return {
        "deliveries": found.deliveries,
        "messages": found.messages,
        "delivered_again": found.again,
        "flagged": found.flagged,
        "most_times": found.most_times,
        "return_s": found.return_s,
        "visibility_timeout_s": found.visibility_timeout_s,
        "longest_handling_s": found.longest_handling_s,
        "over_timeout": found.over_timeout,
        "acts_paid_again": found.acts_paid_again if found.acts else None,
        "effects_too_many": found.effects_too_many if found.acts else None,
        "acts": [{"messages": a.messages, "again": a.again, "effects": a.effects, "acts": a.acts} for a in found.acts],
    }


_NO_REQUESTS = frozenset(("no_jitter", "retries_in_layers", "idempotent_methods_repeated"))
"""Rules whose count is not one of requests."""


def render_conduct(found: Conduct) -> str:
    """One line for the terminal; empty when every examined rule is kept."""
    broken = [r for r in found.rules if r.status == "violated"]
    counted = [f"{_plain(r)}: {r.broken:,}" for r in broken if r.name not in _NO_REQUESTS]
    named = [_plain(r) for r in broken if r.name in _NO_REQUESTS]
    requests = f"{', '.join(counted)} of {found.requests:,} requests" if counted else ""
    return "; ".join(part for part in (requests, ", ".join(named)) if part)


def _plain(rule: ConductRule) -> str:
    return rule.name.replace("_", " ")


def render_letters(found: DeadLetters) -> str:
    """One line for the terminal."""
    counts = [f"{found.count(v):,} {name.replace('_', ' ')}" for v, name in _VERDICTS.items() if found.count(v)]
    return f"{len(found.letters):,}: {', '.join(counts)} (replay.csv)"
