"""Exact amounts as text, and the digits that a currency has."""

from __future__ import annotations

from decimal import Decimal

from forensics.model import Amounts

MINOR_DIGITS = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI"), 0),
    **dict.fromkeys(("VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
    **dict.fromkeys(("CLF", "UYW"), 4),
}
"""Digits after the decimal mark, by currency, where they are not 2 (ISO 4217, list one)."""


def many(n: int, one: str, more: str | None = None) -> str:
    """A count in words: '1 order', '4,578 orders'."""
    return f"{n:,} {one if n == 1 else (more or one + 's')}"


def plain(amount: Decimal) -> str:
    """A decimal as text, exact, without exponent and needless zeros: 10000.0000 -> 10000, 12.5000 -> 12.50.

    >>> plain(Decimal("10000.0000")), plain(Decimal("12.5000")), plain(Decimal("-0.1250"))
    ('10000', '12.50', '-0.125')
    """
    whole, _, fraction = f"{amount:f}".partition(".")  # normalize() would round to 28 digits
    fraction = fraction.rstrip("0")
    if not amount:
        return "0"
    return f"{whole}.{fraction.ljust(2, '0')}" if fraction else whole


def plain_by_currency(amounts: Amounts) -> dict[str, str]:
    """Sums as text, by currency."""
    return {currency: plain(amount) for currency, amount in amounts.items()}


def money_words(amounts: Amounts) -> str:
    """Sums in words: '30,000 KRW and 12.50 USD'; 'nothing' when there are none."""
    parts = []
    for currency, amount in amounts.items():
        whole, dot, fraction = plain(amount).partition(".")
        parts.append(
            f"{int(whole):,}{dot}{fraction} {currency}" if whole != "-0" else f"{whole}{dot}{fraction} {currency}"
        )
    return " and ".join(parts) if parts else "nothing"
