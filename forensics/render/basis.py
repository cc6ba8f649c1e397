"""What a run rests on, as findings.json has it: settings, decisions of people, and what names an act."""

from __future__ import annotations

from typing import Any

from forensics.amounts import plain_by_currency
from forensics.model import BusinessKey, DecisionOutcome, SettingsUsed


def plain_settings(used: SettingsUsed | None) -> dict[str, Any] | None:
    """The settings file of the run; null where there was none."""
    return {"file": used.file, "says": list(used.says)} if used else None


def plain_decision(outcome: DecisionOutcome) -> dict[str, Any]:
    """One decision and what became of it."""
    decision = outcome.decision
    return {
        "group_id": outcome.group_id or decision.group_id,
        "business_key": outcome.business_key or decision.business_key,
        "group_state": decision.group_state,
        "decision": "duplicate" if decision.is_duplicate else "not a duplicate",
        "by": decision.by,
        "why": decision.why,
        "until": decision.until.isoformat() if decision.until else None,
        "where": decision.where,
        "status": outcome.status,
        "status_why": outcome.why,
        "rows": outcome.rows,
        "amount": plain_by_currency(outcome.amount),
    }


def plain_business_key(key: BusinessKey | None) -> dict[str, Any] | None:
    """What names an act, and the candidates, the chosen one first; null without a ledger."""
    if key is None:
        return None
    return {
        "columns": list(key.columns),
        "given": key.given,
        "why": key.why,
        "cautions": list(key.cautions),
        "day_zone": key.day_zone,
        "candidates": [
            {
                "columns": list(c.columns),
                "coverage": round(c.coverage, 4),
                "named": c.named,
                "unnamed": c.effects - c.named,
                "acts": c.acts,
                "repeated": c.repeated,
                "repeating": c.repeating,
                "most": c.most,
                "other_amounts": c.other_amounts,
            }
            for c in key.candidates
        ],
    }
