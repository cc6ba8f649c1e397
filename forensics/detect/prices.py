"""How the prices of a ledger end, and how its customers pay in two parts: what tells half of a bill from a repeat."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby, pairwise

from forensics.detect.rows import Judged
from forensics.runner import Runner

_COARSER = Decimal(10)
_FEWEST_EACH = 20
_MOST_ODDS = 100.0
_LONGEST_SPLIT_S = 600.0
_PARTS = frozenset(("split_tender", "part_payment"))


@dataclass(frozen=True, slots=True)
class PriceEndings:
    """How often amounts of orders paid once end how, by currency."""

    moduli: Mapping[str, Decimal]
    """What the amounts of each currency are divided by: the remainder is the ending."""
    orders: Mapping[str, Mapping[Decimal, int]]
    """Orders by ending, of each currency."""

    def half_odds(self, amount: Decimal, currency: str) -> float | None:
        """Odds of the amount as half of a price against a price of its own; None where the currency has no prices.

        Half of a price that ends in e ends in e/2 or, as often, in e/2 and half a modulus: so the odds are half of how
        often prices end like twice the amount, over how often they end like the amount (both and a half, for what
        was never seen is not impossible).
        """
        modulus = self.moduli.get(currency)
        if modulus is None:
            return None
        counts = self.orders[currency]
        as_half = (counts.get((2 * amount) % modulus, 0) + 0.5) / 2
        odds = as_half / (counts.get(amount % modulus, 0) + 0.5)
        return min(max(odds, 1 / _MOST_ODDS), _MOST_ODDS)


def price_endings(runner: Runner) -> PriceEndings:
    """The endings of a ledger: finer where each is seen often enough, else by one figure fewer."""
    moduli: dict[str, Decimal] = {}
    orders: dict[str, Counter[Decimal]] = defaultdict(Counter)
    for record in runner.run("duplicates/price_endings").records():
        moduli[record["currency"]] = record["modulus"]
        orders[record["currency"]][record["ending"]] = record["orders"]
    for currency, counts in orders.items():
        if counts.total() < _FEWEST_EACH * len(counts):
            moduli[currency] /= _COARSER
            coarser: Counter[Decimal] = Counter()
            for ending, n in counts.items():
                coarser[ending % moduli[currency]] += n
            orders[currency] = coarser
    return PriceEndings(moduli, dict(orders))


def split_gaps_s(rows: Sequence[Judged]) -> tuple[float, ...]:
    """Seconds between the parts of each payment in unequal parts, or by two instruments, made within ten minutes.

    `rows` come by act and time.
    """
    found = []
    for _, items in groupby(rows, key=lambda j: j.row.business_key):
        parts = sorted(j.row.created_at for j in items if j.lawful_class in _PARTS)
        gaps = ((later - before).total_seconds() for before, later in pairwise(parts))
        found += [gap for gap in gaps if gap <= _LONGEST_SPLIT_S]
    return tuple(found)
