"""Two runs held against each other: groups, findings and money, old and new."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from forensics.model.payments import Amounts


@dataclass(frozen=True, slots=True)
class PastRow:
    """One row of a run's duplicates.csv."""

    name: str
    """The payment's id, or its file and line where it has none."""
    role: str
    cause: str
    """Empty where it has none."""
    amount: Decimal
    currency: str
    status: str


@dataclass(frozen=True, slots=True)
class PastGroup:
    """One group of a run, its rows in order of name."""

    business_key: str
    rows: tuple[PastRow, ...]


@dataclass(frozen=True, slots=True)
class PastRun:
    """What a run said, as far as two runs are held against each other."""

    name: str
    key: tuple[str, ...]
    """Columns that named an act; empty where the run does not say."""
    evidence: Mapping[str, str]
    """sha256 of each source -> its name."""
    groups: Mapping[str, PastGroup]
    findings: Mapping[str, tuple[str, str]]
    """id -> (severity, title)."""
    counts: Mapping[str, int]
    money: Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One group with excess in either run that is not the same in both."""

    group_id: str
    business_key: str
    kind: str
    """new | gone | changed."""
    what: tuple[str, ...]
    """In words."""
    old_excess: Amounts
    new_excess: Amounts
    """Gross: what went back is in them."""


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One finding that is not the same in both."""

    id: str
    kind: str
    """new | gone | changed."""
    what: str


@dataclass(frozen=True, slots=True)
class Moved:
    """One figure of both runs; a sum of money where a currency is named."""

    name: str
    currency: str | None
    old: Decimal
    new: Decimal


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two runs."""

    old: str
    new: str
    notes: tuple[str, ...]
    """What the reader should know: other evidence, another business key."""
    groups: tuple[GroupChange, ...]
    findings: tuple[FindingChange, ...]
    figures: tuple[Moved, ...]
    """All of them, also those that are the same."""

    @property
    def same(self) -> bool:
        """Whether nothing differs that was found."""
        return not (self.groups or self.findings or any(f.old != f.new for f in self.figures))
