"""How clients kept to the rules of retrying, and the messages that were given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ConductRule:
    """One rule of retrying, and whether the callers of the log keep it."""

    name: str
    """retried_400, retry_after_ignored, attempts_over_deadline, no_breaker_requests, ..."""
    title: str
    status: str
    """violated | kept | not_examined. No evidence is never kept."""
    broken: int | None
    """How often it was broken; None when it was not examined."""
    chances: int | None
    """How often it could have been broken; None when it was not examined."""
    why: str
    """What was counted, or what was missing."""
    callers: tuple[tuple[str, int], ...]
    """Who broke it and how often, most often first, capped."""
    parameters: Mapping[str, str | int] = field(default_factory=dict)
    """Of the query that returns the lines that broke it, where the rule has such a query of its own."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How callers retry, at one hop."""

    scope: str
    """What was counted."""
    hop: str
    """Empty when the log's file name tells none."""
    basis: str
    """What tied the attempts of a call, in words."""
    tied_by: str | None
    """The same for the queries; None when nothing does."""
    requests: int
    callers: int
    breaker_failures: int
    """Failures in a row after which a breaker is taken to open."""
    retry_after_honoured: int | None
    """None when no answer with Retry-After was followed by another attempt."""
    rules: tuple[ConductRule, ...]

    @property
    def violations(self) -> Mapping[str, int]:
        """How often each examined rule was broken; a rule that was not examined is left out, which is not 0."""
        counts = {rule.name: rule.broken for rule in self.rules if rule.broken is not None}
        if self.retry_after_honoured is not None:
            counts["retry_after_honoured"] = self.retry_after_honoured
        return counts


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One message that was given up, and whether it may be sent again."""

    source_id: int
    line_no: int
    message_id: str | None
    business_key: str | None
    queue: str | None
    family: str
    """system | data | refused | exhausted | never_run | unknown: what kind of fault the reason speaks of."""
    reason: str | None
    """In the source's words; None when it gives none."""
    attempts: int | None
    first_failed_at: datetime | None
    last_failed_at: datetime | None
    verdict: str
    """safe | unsafe | fix_first | ask_source | unknown."""
    why: str
    batch: int | None
    """Number of the batch to replay it in, from 1, small ones first; None when it is not to be replayed."""
    over_cap: bool


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """All dead letters, and the plan to replay them. Nothing is replayed by this tool."""

    letters: tuple[DeadLetter, ...]
    """In the order to replay; after those, the ones that are not to be replayed."""
    missing: Mapping[str, int]
    """Field -> letters without it: original, reason, attempts, first_failed_at, business_key."""
    families: Mapping[str, int]
    """Letters by family of the reason, most first."""
    reasons: tuple[tuple[str, str, int], ...]
    """(family, reason without its numbers, letters), most first, capped."""
    first_at: datetime | None
    """Earliest failure told; None when no letter tells one."""
    last_at: datetime | None
    median_age_s: float | None
    """From a letter's last failure to the newest letter's."""
    repeated_messages: int
    """Letters that repeat a message id of an earlier letter."""
    cap: int | None
    """Attempts that the queue itself stops at, as the letters show it; None when no letter tells its attempts."""
    over_cap: int
    batches: tuple[int, ...]
    """Sizes of the batches to replay."""

    def count(self, verdict: str) -> int:
        """Letters of that verdict."""
        return sum(letter.verdict == verdict for letter in self.letters)
