"""Ledger rows of repeated acts, and the money in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

Amounts = Mapping[str, Decimal]
"""Exact sums by ISO 4217 code; sums never cross currencies."""


@dataclass(frozen=True, slots=True)
class RepeatRow:
    """One ledger row of a business act that has more than one effect, and what was made of it."""

    group_id: str
    """The same in every run over the same evidence."""
    business_key: str
    order_id: str | None
    """None only where acts are named by other columns."""
    payment_id: str | None
    created_at: datetime
    amount: Decimal
    currency: str
    """ISO 4217; its own code for no currency, XXX, when the source names none."""
    status: str
    kind: str
    gap_us: int | None
    """Since the previous effect of the act; None for the first and for rows that are no effect."""
    role: str
    """kept | excess | recorded_twice | legitimate | not_an_effect | refunded (an excess that was given back) |
    second_checkout (an equal purchase under another order: never in the sums of the excess)."""
    why: str
    """The reason for the role, in words."""
    cause: str | None
    """For excess and refunded rows; None otherwise."""
    policy: str | None
    """Short text of the retry policy that made it, where the cause is a retry and a policy is named."""
    confidence: float
    """That role and cause are right, 0..1."""
    excess_probability: float | None
    """For excess and refunded rows: that the money really moved once too often, whatever the cause."""
    alternatives: tuple[tuple[str, float], ...]
    """Other causes and their probabilities, likeliest first."""
    kept_payment_id: str | None
    """For excess and refunded rows: the payment that stands."""
    same_key: bool | None
    """Whether it bears the idempotency key of the effect before it; None when either bears none."""
    provider_ref: str | None
    customer_id: str | None
    channel: str | None
    source_id: int
    line_no: int
    held_back: str | None = None
    """Why an excess row is not for refunds.csv although it is beyond doubt; None when nothing holds it back."""
    group_state: str = ""
    """The same as long as the rows and amounts of its group are; what a decision is bound to."""
    lawful_class: str | None = None
    """For legitimate rows: which kind of lawful repeat, see forensics.detect.lawful; None where it repeats nothing."""


@dataclass(frozen=True, slots=True)
class PaymentsSummary:
    """The ledger as a whole. excess_* are gross: what was already given back is in them and told apart."""

    rows: int
    orders: int
    effects: int
    without_order: int
    unknown_status: int
    duplicate_orders: int
    """Orders with more than one effect, lawful ones among them."""
    orders_with_excess: int
    excess_rows: int
    excess_amount: Amounts
    already_refunded_rows: int
    already_refunded_amount: Amounts
    recorded_twice_rows: int
    legitimate_rows: int
    review_rows: int
    """Excess rows that are not beyond doubt and so are not in refunds.csv."""
    refund_rows: int
    refund_amount: Amounts
    """What refunds.csv asks finance to give back."""
    refused_rows: int = 0
    """Excess rows for which the provider holds no money: booked in the ledger only, so nothing can go back."""
    refused_amount: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SecondCheckouts:
    """Equal purchases of one customer under another order soon after, that may be one purchase paid twice."""

    effects: int
    purchases: int
    """Effects that name a customer; the others could not be looked at."""
    within: int
    """Equal purchases within the window, whatever they are."""
    expected: float
    """How many of them chance gives."""
    window_s: float
    suspects: tuple[RepeatRow, ...]
    """Those likely enough for a person to judge, role second_checkout; in no sum of the excess."""
    amount: Amounts
    """Of the suspects, by currency."""
    beside: tuple[RepeatRow, ...]
    """Suspects and the payments before them that stand in no repeated act, for duplicates.csv."""
    members: tuple[RepeatRow, ...] = ()
    """Suspects, each group after the payment that stands, in a repeated act or not: what a decision is bound to."""


@dataclass(frozen=True, slots=True)
class CauseTotal:
    """Excess rows of one cause."""

    cause: str
    rows: int
    amount: Amounts


@dataclass(frozen=True, slots=True)
class Settlement:
    """The ledger against the provider's settlement. Every sum names every currency that either side names.

    difference = explained_by_duplicates + fees + cutoff + other, exactly, in each currency.
    """

    ledger_total: Amounts
    """Effects less what was given back, each payment once (rows recorded twice count once)."""
    provider_total: Amounts
    """What the provider paid: net of its fees and of what it gave back."""
    difference: Amounts
    """ledger_total less provider_total."""
    explained_by_duplicates: Amounts
    """Duplicates that the provider did not settle, less duplicates that only the provider has."""
    fees: Amounts
    """Gross less net over all rows of the settlement."""
    cutoff: Amounts
    """Booked outside the time that the settlement covers, less settled outside the time that the ledger covers."""
    other: Amounts
    """Missing on either side, and amounts that differ."""
    counts: Mapping[str, int]
    """Rows of each class, see forensics.detect.settlement."""
    cut: str | None
    """When payouts close, '23:30 Asia/Seoul'; None when it does not show."""
    covered_from: datetime | None
    """Movements booked from then on must stand in the settlement."""
    covered_to: datetime | None
    """Movements booked until then must stand in the settlement."""
    beside_share: float | None
    """Of the pairs, those settled within an hour of the usual time after booking; None when no pair has both times."""
