"""What a broker delivered, and how often."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.model.evidence import EvidenceRow


@dataclass(frozen=True, slots=True)
class ActsDelivered:
    """Acts that were delivered, and took effect, equally often."""

    messages: int
    """Messages about each of them."""
    again: bool
    """Whether any of those was delivered more than once."""
    effects: int
    acts: int


@dataclass(frozen=True, slots=True)
class Deliveries:
    """At-least-once delivery in figures."""

    deliveries: int
    messages: int
    again: int
    """Messages that were delivered more than once."""
    flagged: int
    """Deliveries that the broker itself marks as redelivered."""
    most_times: int
    """Most deliveries of one message."""
    return_s: float | None
    """Median time until a message came back; None when none did."""
    visibility_timeout_s: float | None
    """The wait that most returns share to within a tenth; None when they share none."""
    returns_alike: float | None
    """Share of the returns that lie within a tenth of their median; None when none came back."""
    longest_handling_s: float | None
    """Longest time from a delivery to its acknowledgement; None when acknowledgements are not known."""
    over_timeout: int | None
    """Of the deliveries that came back, those that were still being worked on then; None when that is not known."""
    acts: tuple[ActsDelivered, ...]
    """Empty when the messages name no act, or there is no ledger."""
    returned: tuple[EvidenceRow, ...]
    """The second deliveries, capped."""

    @property
    def acts_paid_again(self) -> int:
        """Acts that were delivered again, with more effects than messages."""
        return sum(a.acts for a in self.acts if a.again and a.effects > a.messages)

    @property
    def effects_too_many(self) -> int:
        """Their effects beyond one for each message."""
        return sum((a.effects - a.messages) * a.acts for a in self.acts if a.again and a.effects > a.messages)
