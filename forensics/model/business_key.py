"""What names a business act: the columns that were chosen, and how the candidates measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DEFAULT_KEY = ("order_id",)
_WORDS = {
    "order_id": "order number",
    "payment_id": "payment id",
    "idempotency_key": "idempotency key",
    "provider_ref": "provider reference",
    "sender": "sender",
    "message_no": "message number",
    "customer_id": "customer",
    "instrument": "instrument",
    "channel": "channel",
    "batch_id": "batch",
    "request_id": "request id",
    "instalment": "instalment",
    "original_ref": "original reference",
    "memo": "memo",
    "day": "day",
}
KEY_COLUMNS = tuple(_WORDS)
"""Columns of the ledger that may name an act; `day` is the calendar day of created_at."""


def key_words(columns: Sequence[str]) -> str:
    """The columns of a key in words.

    >>> key_words(("sender", "message_no", "day"))
    'sender, message number and day'
    """
    words = [_WORDS[c] for c in columns]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


@dataclass(frozen=True, slots=True)
class KeyCandidate:
    """Columns that may name a business act, measured over the effects of the ledger."""

    columns: tuple[str, ...]
    effects: int
    """Effects of the ledger."""
    named: int
    """Effects that bear all of its columns; the others bear NULL or a blank."""
    acts: int
    """Distinct names."""
    repeated: int
    """Names that more than one effect bears."""
    repeating: int
    """Effects under those names."""
    most: int
    """Effects under the name that most bear."""
    other_amounts: int
    """Repeated names whose effects differ in amount: part payments, amendments, or acts that share a name."""

    @property
    def words(self) -> str:
        """Its columns in words."""
        return key_words(self.columns)

    @property
    def repeats(self) -> int:
        """Effects beyond the first of each name."""
        return self.repeating - self.repeated

    @property
    def coverage(self) -> float:
        """Share of the effects that it names."""
        return self.named / self.effects if self.effects else 0.0


@dataclass(frozen=True, slots=True)
class BusinessKey:
    """What names a business act in this scan, and why."""

    columns: tuple[str, ...]
    given: bool
    """Whether the user named it; else it was chosen by what was measured."""
    why: str
    cautions: tuple[str, ...]
    """What the choice may get wrong, in words."""
    candidates: tuple[KeyCandidate, ...]
    """All that name any effect, the chosen one first."""
    day_zone: str | None
    """Zone in which days are cut; None where the key has no day."""

    @property
    def noun(self) -> str:
        """What an act is called: an order, or a business act where other columns name it."""
        return "order" if self.columns == DEFAULT_KEY else "business act"

    @property
    def named(self) -> str:
        """What repeats of an act share: 'order', or the columns in words."""
        return "order" if self.columns == DEFAULT_KEY else self.words

    @property
    def words(self) -> str:
        """The columns in words."""
        return key_words(self.columns)
