"""How those who send business acts use idempotency keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from forensics.model.payments import Amounts

KEY_MODES = ("none", "one_key", "key_per_attempt", "key_reused", "expired", "race")


@dataclass(frozen=True, slots=True)
class KeyHabit:
    """One sender's orders by key mode, and what came of them."""

    channel: str
    """The ledger's word; empty when it does not say."""
    caller: str | None
    """User agent; empty when no log tells, None for all the rarer callers of the channel together."""
    modes: Mapping[str, int]
    """Orders by key mode, every mode present."""
    payments: int
    """Rows that moved money."""
    acts_with_excess: int
    excess: int
    """Rows that moved money once too often, those already given back among them."""
    excess_amount: Amounts

    @property
    def sender(self) -> str:
        """Channel and caller in words, as 'app (shop/1.0)'; empty where the evidence names neither."""
        caller = "other callers" if self.caller is None else self.caller
        return f"{self.channel} ({caller})" if self.channel and caller else self.channel or caller

    @property
    def orders(self) -> int:
        """All of the sender's orders."""
        return sum(self.modes.values())

    @property
    def mode(self) -> str:
        """What the sender does: the mode of most orders; the first of KEY_MODES among equals."""
        return max(KEY_MODES, key=lambda mode: self.modes[mode])

    @property
    def payments_with_one_key(self) -> int:
        """Rows that would have moved money with one key per business act and a unique constraint behind it."""
        return self.payments - self.excess

    @staticmethod
    def together(habits: Sequence[KeyHabit], channel: str = "", caller: str | None = None) -> KeyHabit:
        """Several senders as one, under the name given."""
        modes = Counter[str](dict.fromkeys(KEY_MODES, 0))
        amounts: dict[str, Decimal] = {}
        for habit in habits:
            modes.update(habit.modes)
            for currency, amount in habit.excess_amount.items():
                amounts[currency] = amounts.get(currency, Decimal()) + amount
        return KeyHabit(
            channel,
            caller,
            modes,
            sum(h.payments for h in habits),
            sum(h.acts_with_excess for h in habits),
            sum(h.excess for h in habits),
            {currency: amounts[currency] for currency in sorted(amounts)},
        )


@dataclass(frozen=True, slots=True)
class KeyUse:
    """The habits of all senders, by channel and caller."""

    habits: tuple[KeyHabit, ...]

    @property
    def modes(self) -> Mapping[str, int]:
        """Orders by key mode over all senders, every mode present."""
        return KeyHabit.together(self.habits).modes

    def senders(self, mode: str) -> tuple[KeyHabit, ...]:
        """Those whose habit is that mode."""
        return tuple(h for h in self.habits if h.mode == mode)
