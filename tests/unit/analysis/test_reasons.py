"""Reasons of dead letters by the kind of fault they speak of."""

from __future__ import annotations

import pytest

from forensics.analysis.reasons import family_of, family_words, kind_of_reason


@pytest.mark.parametrize(
    ("reason", "family"),
    [
        ("503", "system"),
        ("HTTP/1.1 502 Bad Gateway", "system"),
        ("java.net.SocketTimeoutException: Read timed out", "system"),
        ("status code 429", "system"),
        ("Connection refused (ECONNREFUSED)", "system"),
        ("連携先への接続に失敗", "system"),
        ("400 Bad Request: amount must be positive", "data"),
        ("HTTP 422: card token expired", "data"),
        ("JSON parse error at line 1", "data"),
        ("KeyError: 'order_id'", "data"),
        ("잘못된 금액 형식", "data"),
        ("duplicate key value violates unique constraint", "done"),
        ("409 Conflict", "done"),
        ("expired", "never_run"),
        ("TTLExpiredException", "never_run"),
        ("delivery_limit", "exhausted"),
        ("MaxDeliveryCountExceeded: Message could not be consumed after 10 delivery attempts.", "exhausted"),
        ("rejected", "refused"),
        ("sorry", "unknown"),
        ("", "unknown"),
        (None, "unknown"),
    ],
)
def test_a_reason_is_of_the_family_that_its_status_or_words_name(reason: str | None, family: str) -> None:
    assert family_of(reason) == family


def test_a_status_comes_before_words() -> None:
    assert family_of("HTTP 503: invalid response from upstream") == "system"
    assert family_of("400: gateway says no") == "data"


def test_a_number_that_is_no_status_is_none() -> None:
    assert family_of("order 503 is odd") == "unknown"


def test_every_family_has_words() -> None:
    families = ("done", "never_run", "exhausted", "refused", "system", "data", "unknown")
    assert len({family_words(f) for f in families}) == len(families)


def test_reasons_that_differ_by_numbers_are_one_kind() -> None:
    assert kind_of_reason("timeout after 10000 ms for 1a2b3c4d-0000-4000-8000-000000000000\n at x") == (
        kind_of_reason("timeout after 3000 ms for 9f8e7d6c-0000-4000-8000-000000000001")
    )


def test_the_status_stays_in_the_kind_of_a_reason() -> None:
    assert kind_of_reason("503 for order 17") == "503 for order #"
    assert kind_of_reason(None) == ""
