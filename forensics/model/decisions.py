"""What people decided about groups of payments, and what became of each decision."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from forensics.model.payments import Amounts


@dataclass(frozen=True, slots=True)
class Decision:
    """One group of payments is, or is not, a duplicate: by whom, why, and until when."""

    group_id: str | None
    """None where the group is named by its business key alone."""
    business_key: str | None
    """None where it is named by its id."""
    group_state: str
    """The group's state when it was decided; a decision about another state is not applied."""
    is_duplicate: bool
    by: str
    why: str
    until: date | None
    """Last day on which it counts; None: no end."""
    where: str
    """Where it stands, as a reader finds it: decisions.csv:3."""


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """What became of one decision in a scan."""

    decision: Decision
    status: str
    """applied | expired | gone (no such group in the evidence) | changed (other rows or amounts) | contradicted."""
    why: str
    """The status in words."""
    group_id: str | None
    """Group that it was applied to, or would be; None when there is none."""
    business_key: str | None
    """Of that group; None when there is none."""
    rows: int
    """Payments whose role or list it changed; 0 unless applied."""
    amount: Amounts
    """Their money."""
