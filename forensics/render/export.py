"""findings.json and duplicates.csv: the contract that others build on.

Equal input gives equal bytes: keys sorted, rows in a total order, money as decimal text, times in UTC with Z. A cell
that a spreadsheet would run as a formula is made text with a leading apostrophe.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from forensics.amounts import plain, plain_by_currency
from forensics.model import CohortPolicy, Finding, RepeatRow, Scan, Source
from forensics.render.again import plain_second_checkouts
from forensics.render.balance import plain_settlement
from forensics.render.basis import plain_business_key, plain_decision, plain_settings
from forensics.render.conduct import plain_conduct, plain_deliveries, plain_keys, plain_letters, plain_violations
from forensics.render.flow import plain_traffic, plain_what_if
from forensics.render.hops import plain_herd, plain_layers
from forensics.render.words import iso

SCHEMA = "forensics/1"
_FORMULA = re.compile(r"^\s*[=+\-@\t\r|%＝＋－＠]")
# Control characters, and those that turn the direction of the text after them: a cell must read as it is.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def render_findings(scan: Scan, version: str) -> str:
    """findings.json."""
    document = {
        "schema": SCHEMA,
        "tool": {"name": "forensics", "version": version},
        "sources": [_source(s) for s in scan.sources],
        "refused": [
            {"path": r.path.replace("\\", "/").rsplit("/", 1)[-1], "message": r.message, "hint": r.hint}
            for r in scan.refused
        ],
        "examined": [{"question": e.question, "status": e.status, "why": e.why} for e in scan.examined],
        "payments": _payments(scan),
        "settings": plain_settings(scan.settings),
        "decisions": [plain_decision(o) for o in scan.decisions],
        "business_key": plain_business_key(scan.business_key),
        "second_checkouts": plain_second_checkouts(scan.second_checkouts),
        "causes": {c.cause: {"rows": c.rows, "amount": plain_by_currency(c.amount)} for c in scan.causes},
        "policies": [_policy(p) for p in scan.policies],
        "traffic": plain_traffic(scan),
        "what_if": plain_what_if(scan),
        "layers": plain_layers(scan.layers),
        "herd": plain_herd(scan.herd),
        "policy_violations": plain_violations(scan.conduct),
        "conduct": plain_conduct(scan.conduct),
        "keys": plain_keys(scan),
        "dead_letters": plain_letters(scan.dead_letters),
        "deliveries": plain_deliveries(scan.deliveries),
        "settlement": plain_settlement(scan.settlement),
        "findings": [_finding(f) for f in scan.findings],
    }
    return json.dumps(document, sort_keys=True, ensure_ascii=False, indent=1) + "\n"


def _source(source: Source) -> dict[str, Any]:
    return {
        "source_id": source.source_id,
        "path": source.name,
        "sha256": source.sha256,
        "kind": source.kind,
        "format": source.format,
        "zone": source.zone,
        "zone_reason": source.zone_reason,
        "resolution": source.resolution_us,
        "mapping": dict(source.mapping),
        "notes": list(source.notes),
        "rows_read": source.rows_read,
        "rows_loaded": source.rows_loaded,
        "rows_rejected": source.rows_rejected,
        "first_at": iso(source.first_at),
        "last_at": iso(source.last_at),
    }


def _payments(scan: Scan) -> dict[str, Any] | None:
    p = scan.payments
    if p is None:
        return None
    return {
        "rows": p.rows,
        "orders": p.orders,
        "effects": p.effects,
        "without_order": p.without_order,
        "unknown_status": p.unknown_status,
        "duplicate_orders": p.duplicate_orders,
        "orders_with_excess": p.orders_with_excess,
        "excess_rows": p.excess_rows,
        "excess_amount": plain_by_currency(p.excess_amount),
        "already_refunded_rows": p.already_refunded_rows,
        "already_refunded_amount": plain_by_currency(p.already_refunded_amount),
        "recorded_twice_rows": p.recorded_twice_rows,
        "legitimate_rows": p.legitimate_rows,
        "review_rows": p.review_rows,
        "refund_rows": p.refund_rows,
        "refund_amount": plain_by_currency(p.refund_amount),
        "refused_rows": p.refused_rows,
        "refused_amount": plain_by_currency(p.refused_amount),
    }


def _policy(found: CohortPolicy) -> dict[str, Any]:
    policy = found.ranked.policy
    return {
        "cohort": found.cohort,
        "groups": found.groups,
        "share": round(found.share, 4),
        "explained_share": round(found.explained_share, 4),
        "shape": policy.shape,
        "base_s": policy.base_s,
        "factor": policy.factor,
        "cap_s": policy.cap_s,
        "schedule_s": list(policy.schedule_s),
        "jitter": policy.jitter,
        "jitter_amount": policy.jitter_amount,
        "timeout_s": policy.timeout_s,
        "max_attempts": policy.max_attempts,
        "policy_ids": list(found.ranked.policy_ids),
        "probability": round(found.ranked.probability, 4),
        "tied": found.ranked.tied,
        "cannot_tell_from": list(found.ranked.cannot_tell_from),
        "residual_s": list(found.residual_s) if found.residual_s else None,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "rule": finding.rule,
        "title": finding.title,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "statement": finding.statement,
        "why": list(finding.why),
        "alternatives": [{"cause": cause, "probability": p} for cause, p in finding.alternatives],
        "numbers": {k: round(v, 4) if isinstance(v, float) else v for k, v in finding.numbers.items()},
        "money": {name: plain_by_currency(amounts) for name, amounts in finding.money.items()},
        "query": {"name": finding.query, "params": dict(finding.parameters)} if finding.query else None,
        "evidence": [
            {"table": e.table, "source_id": e.source_id, "line_no": e.line_no, "role": e.role} for e in finding.evidence
        ],
        "evidence_total": finding.evidence_total,
        "next_steps": list(finding.next_steps),
    }


# CSV ------------------------------------------------------------------------------------------------------------


def neutral(cell: object) -> str:
    """A cell that no spreadsheet or terminal obeys: formulas become text, controls a mark, line ends spaces.

    >>> neutral("=cmd()"), neutral("-12.50"), neutral(None)
    ("'=cmd()", '-12.50', '')
    """
    text = "" if cell is None else str(cell)
    text = _CONTROL.sub("\ufffd", text.replace("\r", " ").replace("\n", " "))
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def render_csv(headings: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """Rows under their headings, every cell neutralised."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([neutral(row[h]) for h in headings] for row in rows)
    return out.getvalue()


DUPLICATE_COLUMNS = (
    "group_id",
    "business_key",
    "order_id",
    "payment_id",
    "created_at",
    "amount",
    "currency",
    "status",
    "gap_s",
    "role",
    "cause",
    "policy",
    "confidence",
    "source",
    "line_no",
    "why",
    "lawful_class",
    "group_state",
)


def render_duplicates(scan: Scan) -> str:
    """duplicates.csv: every ledger row of every act with more than one effect, then purchases made twice."""
    names = {s.source_id: s.name for s in scan.sources}
    beside = scan.second_checkouts.beside if scan.second_checkouts else ()
    return render_csv(DUPLICATE_COLUMNS, (_duplicate(row, names) for row in (*scan.rows, *beside)))


def _duplicate(row: RepeatRow, names: Mapping[int, str]) -> dict[str, object]:
    return {
        "group_id": row.group_id,
        "business_key": row.business_key,
        "order_id": row.order_id,
        "payment_id": row.payment_id,
        "created_at": iso(row.created_at),
        "amount": plain(row.amount),
        "currency": row.currency,
        "status": row.status,
        "gap_s": "" if row.gap_us is None else f"{row.gap_us / 1e6:.6f}".rstrip("0").rstrip("."),
        "role": row.role,
        "cause": row.cause,
        "policy": row.policy,
        "confidence": row.confidence,
        "source": names.get(row.source_id, row.source_id),
        "line_no": row.line_no,
        "why": row.why,
        "lawful_class": row.lawful_class,
        "group_state": row.group_state,
    }
