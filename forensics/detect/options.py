"""What the user says about the questions, apart from them: no command line need load them to be read."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from forensics.detect.duplicates import REFUND_PROBABILITY
from forensics.model import CatalogueEntry, Decision, SettingsUsed


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """What the user says about the questions; everything else is found."""

    incident: tuple[datetime, datetime] | None = None
    baseline: tuple[datetime, datetime] | None = None
    timeout_s: float | None = None
    """The client's timeout, where it is known."""
    refund_confidence: float = REFUND_PROBABILITY
    key: tuple[str, ...] = ()
    """Columns of the ledger that name a business act; empty: measured and chosen."""
    policies: tuple[CatalogueEntry, ...] = ()
    """The users' own retry policies."""
    decisions: tuple[Decision, ...] = ()
    today: date | None = None
    """What the end of a decision is held against; None: none counts as expired."""
    settings: SettingsUsed | None = None
    """The settings file that some of this came from, to be told."""
    holidays: tuple[date, ...] = ()
    """Local days on which traffic is not compared with others."""
    zone: str | None = None
    """Zone in which the days of a key are cut; None: where the ledger's times were read, else UTC."""
