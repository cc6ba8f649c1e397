"""Findings, and the scan that the reports are views of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from forensics.model.business_key import BusinessKey
from forensics.model.conduct import Conduct, DeadLetters
from forensics.model.decisions import DecisionOutcome
from forensics.model.deliveries import Deliveries
from forensics.model.evidence import EvidenceRow, Examined, Refused, SettingsUsed, Source
from forensics.model.keys import KeyUse
from forensics.model.payments import Amounts, CauseTotal, PaymentsSummary, RepeatRow, SecondCheckouts, Settlement
from forensics.model.policies import CohortPolicy, GapPicture
from forensics.model.traffic import Herd, Layers, Traffic, TrafficBin, WhatIf

SEVERITIES = ("note", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Finding:
    """One answer, with what speaks for it and against it."""

    id: str
    """Stable between runs over the same evidence."""
    rule: str
    title: str
    severity: str
    """note | low | medium | high."""
    confidence: float
    statement: str
    why: tuple[str, ...]
    alternatives: tuple[tuple[str, float], ...]
    numbers: Mapping[str, float | int | str | None]
    money: Mapping[str, Amounts]
    query: str | None
    """Name of the query that gives the rows; None when no single query does."""
    parameters: Mapping[str, object]
    evidence: tuple[EvidenceRow, ...]
    """Capped; evidence_total says how many there are."""
    evidence_total: int
    next_steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything one scan of a case found: the reports are views of this."""

    case_name: str
    sources: tuple[Source, ...]
    refused: tuple[Refused, ...]
    """Files named in the same call that could not be used."""
    examined: tuple[Examined, ...]
    payments: PaymentsSummary | None
    """None when there is no payment table."""
    rows: tuple[RepeatRow, ...]
    causes: tuple[CauseTotal, ...]
    policies: tuple[CohortPolicy, ...]
    gap_picture: GapPicture | None
    traffic: Traffic | None
    timeline: tuple[TrafficBin, ...]
    timeline_step_s: float | None
    keys: KeyUse | None
    """None when not examined."""
    findings: tuple[Finding, ...]
    refund_confidence: float
    """Least excess_probability of a row in refunds.csv."""
    business_key: BusinessKey | None = None
    """None when there is no payment table."""
    decisions: tuple[DecisionOutcome, ...] = ()
    """What became of each decision, in the order given."""
    settings: SettingsUsed | None = None
    """None when no settings file was found or given."""
    layers: Layers | None = None
    """None when not examined."""
    herd: Herd | None = None
    """None when not examined."""
    conduct: Conduct | None = None
    """None when not examined."""
    dead_letters: DeadLetters | None = None
    """None when not examined."""
    deliveries: Deliveries | None = None
    """None when not examined."""
    settlement: Settlement | None = None
    """None when not examined."""
    second_checkouts: SecondCheckouts | None = None
    """None when not examined."""
    what_if: WhatIf | None = None
    """None when requests were not examined, none stood out, or first attempts cannot be told."""

    @property
    def failed(self) -> bool:
        """Whether a question that had evidence could not be answered."""
        return any(e.status == "failed" for e in self.examined)
