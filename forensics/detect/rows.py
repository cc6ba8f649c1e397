"""The rows of repeated orders, as read and as judged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

EFFECT_KINDS = ("charge", "capture", "topup")
EFFECT_STATUSES = ("captured", "refunded")


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One row of the query duplicates/rows_of_repeated_orders."""

    business_key: str
    order_id: str | None
    """None only where acts are named by other columns."""
    created_at: datetime
    source_id: int
    line_no: int
    payment_id: str | None
    amount: Decimal
    currency: str
    status: str
    kind: str
    customer_id: str | None
    instrument: str | None
    idempotency_key: str | None
    request_id: str | None
    channel: str | None
    sender: str | None
    message_no: str | None
    batch_id: str | None
    operator: str | None
    instalment: str | None
    memo: str | None
    provider_ref: str | None
    original_ref: str | None

    @property
    def is_effect(self) -> bool:
        """Whether the row moved money (the view `effects`, row by row)."""
        return self.status in EFFECT_STATUSES and self.kind in EFFECT_KINDS and self.amount > 0

    @property
    def is_refund(self) -> bool:
        """Whether the row gave money back."""
        return self.kind in ("refund", "void", "chargeback") and self.status not in ("failed", "pending")

    @property
    def names(self) -> frozenset[str]:
        """What a refund may call it by."""
        return frozenset(name for name in (self.payment_id, self.provider_ref) if name)


@dataclass(frozen=True, slots=True)
class Judged:
    """A row with its role; the cause of an excess is found elsewhere."""

    row: LedgerRow
    group_id: str
    role: str
    why: str
    beyond_doubt: bool
    """Whether the rows alone settle the role."""
    gap_us: int | None
    """Since the previous effect of the same act."""
    previous: LedgerRow | None
    """That effect."""
    kept: LedgerRow | None
    """For excess and refunded rows: the effect that stands."""
    lawful_class: str | None = None
    """For legitimate rows: the class, see forensics.detect.lawful."""
    doubt: float = 0.0
    """For legitimate rows: that it is one payment too many all the same."""
