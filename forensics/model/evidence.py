"""What was read, and what became of each question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath


@dataclass(frozen=True, slots=True)
class Source:
    """One evidence file of a case, as read."""

    source_id: int
    path: str
    sha256: str
    kind: str
    format: str
    mapping: Mapping[str, str]
    """Canonical column -> 'heading (why)'."""
    encoding: str | None
    zone: str | None
    """Zone in which times without an offset were read; None when all carry one."""
    zone_reason: str | None
    resolution_us: int | None
    hop: str | None
    notes: tuple[str, ...]
    rows_read: int
    rows_loaded: int
    rows_rejected: int
    first_at: datetime | None
    last_at: datetime | None

    @property
    def name(self) -> str:
        """Base name of the file."""
        return PurePath(self.path).name


@dataclass(frozen=True, slots=True)
class SettingsUsed:
    """The settings file of a run."""

    file: str
    says: tuple[str, ...]
    """The keys that it holds."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Evidence that could not be used, and why."""

    path: str
    message: str
    hint: str | None


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of one question. No evidence is never the same as nothing found."""

    question: str
    status: str
    """ran | not_examined | failed."""
    why: str | None
    """For not_examined and failed: what was missing or went wrong; None when it ran."""


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """Where a finding can be looked up."""

    table: str
    source_id: int
    line_no: int
    role: str
