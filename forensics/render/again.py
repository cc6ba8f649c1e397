"""Probable second checkouts as JSON and as a line of the terminal."""

from __future__ import annotations

from typing import Any

from forensics.amounts import many, money_words, plain_by_currency
from forensics.model import SecondCheckouts


def plain_second_checkouts(found: SecondCheckouts | None) -> dict[str, Any] | None:
    """`second_checkouts` of findings.json; None when not examined."""
    if found is None:
        return None
    return {
        "purchases": found.purchases,
        "without_customer": found.effects - found.purchases,
        "window_s": found.window_s,
        "equal_purchases": found.within,
        "expected_by_chance": found.expected,
        "suspected_rows": len(found.suspects),
        "suspected_amount": plain_by_currency(found.amount),
    }


def render_second_checkouts(found: SecondCheckouts | None) -> str:
    """How many there may be, and where to look; empty where there is none."""
    if found is None or not found.suspects:
        return ""
    text = f"{many(len(found.suspects), 'payment')} may be a second checkout under another order"
    return f"{text}: {money_words(found.amount)}, in no sum above; review.csv"
