"""The nouns of a case: frozen records that every layer above may read and none may change.

Money is `Decimal`, times are timezone-aware UTC datetimes, durations carry their unit in the name
(`_us` integer microseconds, `_s` seconds). None has one meaning per field, said beside it.
"""

from __future__ import annotations

from forensics.model.business_key import BusinessKey, KeyCandidate
from forensics.model.conduct import Conduct, ConductRule, DeadLetter, DeadLetters
from forensics.model.decisions import Decision, DecisionOutcome
from forensics.model.deliveries import ActsDelivered, Deliveries
from forensics.model.evidence import EvidenceRow, Examined, Refused, SettingsUsed, Source
from forensics.model.findings import SEVERITIES, Finding, Scan
from forensics.model.keys import KEY_MODES, KeyHabit, KeyUse
from forensics.model.payments import Amounts, CauseTotal, PaymentsSummary, RepeatRow, SecondCheckouts, Settlement
from forensics.model.policies import (
    BROKER_COHORT,
    CatalogueEntry,
    CohortPolicy,
    GapFit,
    GapNoise,
    GapPicture,
    MatchResult,
    Policy,
    RankedPolicy,
)
from forensics.model.traffic import (
    Herd,
    HerdBin,
    HerdWave,
    LayerHop,
    Layers,
    Probe,
    Supposed,
    Traffic,
    TrafficBin,
    TrafficPart,
    TrafficSplit,
    WhatIf,
)

__all__ = [
    "BROKER_COHORT",
    "KEY_MODES",
    "SEVERITIES",
    "ActsDelivered",
    "Amounts",
    "BusinessKey",
    "CatalogueEntry",
    "CauseTotal",
    "CohortPolicy",
    "Conduct",
    "ConductRule",
    "DeadLetter",
    "DeadLetters",
    "Decision",
    "DecisionOutcome",
    "Deliveries",
    "EvidenceRow",
    "Examined",
    "Finding",
    "GapFit",
    "GapNoise",
    "GapPicture",
    "Herd",
    "HerdBin",
    "HerdWave",
    "KeyCandidate",
    "KeyHabit",
    "KeyUse",
    "LayerHop",
    "Layers",
    "MatchResult",
    "PaymentsSummary",
    "Policy",
    "Probe",
    "RankedPolicy",
    "Refused",
    "RepeatRow",
    "Scan",
    "SecondCheckouts",
    "SettingsUsed",
    "Settlement",
    "Source",
    "Supposed",
    "Traffic",
    "TrafficBin",
    "TrafficPart",
    "TrafficSplit",
    "WhatIf",
]
