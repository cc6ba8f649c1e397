"""Exact amounts as text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from forensics.amounts import money_words, plain, plain_by_currency


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0"),
        ("0.0000", "0"),
        ("-0.0000", "0"),
        ("10000.0000", "10000"),
        ("12.5000", "12.50"),
        ("12.3400", "12.34"),
        ("12.3450", "12.345"),
        ("0.0001", "0.0001"),
        ("-0.1250", "-0.125"),
        ("-5.0000", "-5"),
        ("1E+3", "1000"),
        ("99999999999999.9999", "99999999999999.9999"),
        ("123456789012345678901234567890.1234", "123456789012345678901234567890.1234"),
    ],
)
def test_an_amount_is_written_exactly_and_without_needless_zeros(amount: str, text: str) -> None:
    assert plain(Decimal(amount)) == text


def test_sums_keep_their_currencies_and_their_order() -> None:
    sums = {"KRW": Decimal("30000.0000"), "USD": Decimal("12.5000")}
    assert list(plain_by_currency(sums).items()) == [("KRW", "30000"), ("USD", "12.50")]


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ({}, "nothing"),
        ({"KRW": "30000"}, "30,000 KRW"),
        ({"KRW": "30000", "USD": "12.5"}, "30,000 KRW and 12.50 USD"),
        ({"USD": "-1234.5"}, "-1,234.50 USD"),
        ({"USD": "-0.50"}, "-0.50 USD"),
        ({"USD": "0"}, "0 USD"),
    ],
)
def test_sums_in_words_have_thousands_and_say_nothing_when_there_are_none(amounts: dict[str, str], words: str) -> None:
    assert money_words({currency: Decimal(amount) for currency, amount in amounts.items()}) == words
