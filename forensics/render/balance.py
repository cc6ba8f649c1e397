"""The ledger against the settlement, as JSON and as a line of the terminal."""

from __future__ import annotations

from typing import Any

from forensics.amounts import money_words, plain_by_currency
from forensics.model import Settlement
from forensics.render.words import stamp

_SUMS = ("ledger_total", "provider_total", "difference", "explained_by_duplicates", "fees", "cutoff", "other")


def plain_settlement(settlement: Settlement | None) -> dict[str, Any] | None:
    """`settlement` of findings.json; None when not examined."""
    if settlement is None:
        return None
    return {
        **{name: plain_by_currency(getattr(settlement, name)) for name in _SUMS},
        "counts": dict(settlement.counts),
        "cut": settlement.cut,
        "covered_from": stamp(settlement.covered_from) if settlement.covered_from else None,
        "covered_to": stamp(settlement.covered_to) if settlement.covered_to else None,
    }


def render_settlement(settlement: Settlement) -> str:
    """The equation in one line."""
    if not any(any(getattr(settlement, name).values()) for name in _SUMS[2:]):
        return f"the provider paid what the ledger says: {money_words(settlement.ledger_total)}"
    parts = (("duplicates", "explained_by_duplicates"), ("fees", "fees"), ("cut-off", "cutoff"), ("other", "other"))
    said = ", ".join(f"{label} {money_words(getattr(settlement, name))}" for label, name in parts)
    return f"ledger less provider is {money_words(settlement.difference)}: {said}"
