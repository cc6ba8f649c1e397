"""refunds.csv and review.csv: what finance may act on, and what a person must judge first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forensics.amounts import plain
from forensics.model import RepeatRow, Scan
from forensics.render.export import render_csv
from forensics.render.words import iso

_PAYMENT = ("amount", "currency", "provider_ref", "charged_at", "kept_payment_id")
_TO_CHECK = (
    *("why", "source", "line_no"),
    *("checked_by", "checked_at", "decision"),  # left empty for the second pair of eyes
    *("business_key", "group_id", "group_state"),
)
REFUND_COLUMNS = (
    "order_id",
    "payment_id_to_refund",
    *_PAYMENT,
    "cause",
    "confidence",
    *_TO_CHECK,
)


def render_refunds(scan: Scan, refundable: Iterable[RepeatRow]) -> str:
    """refunds.csv: one line per payment to give back, with room for the second pair of eyes."""
    names = {s.source_id: s.name for s in scan.sources}
    return render_csv(
        REFUND_COLUMNS,
        (
            {**_payment(row, names), "payment_id_to_refund": row.payment_id, "confidence": row.excess_probability}
            for row in refundable
        ),
    )


REVIEW_COLUMNS = (
    "order_id",
    "payment_id",
    *_PAYMENT,
    "excess_probability",
    "reading",
    "reading_probability",
    "other_reading",
    "other_probability",
    *_TO_CHECK,
)


def render_review(scan: Scan, doubtful: Iterable[RepeatRow]) -> str:
    """review.csv: one line per payment that is not beyond doubt, with both readings of it."""
    names = {s.source_id: s.name for s in scan.sources}
    return render_csv(REVIEW_COLUMNS, (_readings(row, names) for row in doubtful))


def _readings(row: RepeatRow, names: Mapping[int, str]) -> dict[str, object]:
    other, probability = row.alternatives[0] if row.alternatives else (None, None)
    return {
        **_payment(row, names),
        "payment_id": row.payment_id,
        "excess_probability": row.excess_probability,
        "reading": row.cause or "legitimate",
        "reading_probability": row.confidence,
        "other_reading": other,
        "other_probability": probability,
    }


def _payment(row: RepeatRow, names: Mapping[int, str]) -> dict[str, object]:
    """What both lists say of a payment, with room for the second pair of eyes."""
    return {
        "order_id": row.order_id,
        "amount": plain(row.amount),
        "currency": row.currency,
        "provider_ref": row.provider_ref,
        "charged_at": iso(row.created_at),
        "kept_payment_id": row.kept_payment_id,
        "cause": row.cause,
        "why": row.why,
        "source": names.get(row.source_id, row.source_id),
        "line_no": row.line_no,
        "checked_by": "",
        "checked_at": "",
        "decision": "",
        "business_key": row.business_key,
        "group_id": row.group_id,
        "group_state": row.group_state,
    }
