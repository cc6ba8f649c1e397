"""Numbers into words, and evidence into harmless text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from forensics.render import words


@pytest.mark.parametrize(
    ("value", "currency", "text"),
    [
        ("1234567.0000", "KRW", "1,234,567"),
        ("1234567.0000", "JPY", "1,234,567"),
        ("10.5000", "USD", "10.50"),
        ("10.5000", "BHD", "10.500"),
        ("10.5055", "USD", "10.5055"),
        ("0.25", "KRW", "0.25"),
        ("-1500", "EUR", "−1,500.00"),
        ("99999999999999.9999", "EUR", "99,999,999,999,999.9999"),
        ("1E+3", "KRW", "1,000"),
        ("7", "XXX", "7"),
    ],
)
def test_money_keeps_every_digit_and_the_minor_digits_of_its_currency(value: str, currency: str, text: str) -> None:
    assert words.amount(Decimal(value), currency) == text


def test_sums_of_several_currencies_are_named_in_order() -> None:
    sums = {"USD": Decimal("3.5"), "KRW": Decimal(1200), "XXX": Decimal(1)}
    assert words.money(sums) == "KRW 1,200, USD 3.50 and no currency 1"
    assert words.money({}) == "nothing"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (0.0004, "0.0004 s"),
        (4, "4 s"),
        (59.5, "59.5 s"),
        (125, "2 min 5 s"),
        (120, "2 min"),
        (5760, "1 h 36 min"),
        (266_400, "3 d 2 h"),
        (-4, "−4 s"),
    ],
)
def test_durations_have_two_units_at_most(value: float, text: str) -> None:
    assert words.seconds(value) == text


@pytest.mark.parametrize(
    ("gap_us", "resolution_us", "text"),
    [
        (4_000_000, 1_000_000, "4 s"),
        (4_012_345, 1000, "4.012 s"),
        (412, 1, "0.000412 s"),
        (4_000_000, None, "4.000 s"),
        (5_820_000_000, 1000, "1 h 37 min"),
        (-2_000_000, 1_000_000, "−2 s"),
    ],
)
def test_gaps_are_as_fine_as_the_clock(gap_us: int, resolution_us: int | None, text: str) -> None:
    assert words.gap(gap_us, resolution_us) == text


def test_times_are_utc_and_as_fine_as_their_source() -> None:
    at = datetime(2026, 10, 31, 23, 2, 7, 118_250, tzinfo=timezone(timedelta(hours=9)))
    assert words.clock(at, 1_000_000) == "2026-10-31 14:02:07"
    assert words.clock(at, 1000) == "2026-10-31 14:02:07.118"
    assert words.clock(at) == "2026-10-31 14:02:07.118250"
    assert words.stamp(at) == "2026-10-31T14:02:07.118250Z"


def test_the_end_of_a_span_repeats_the_date_only_where_it_differs() -> None:
    start = datetime(2026, 10, 31, 23, 0, tzinfo=UTC)
    assert words.until(start, start + timedelta(minutes=5)) == "23:05:00"
    assert words.until(start, start + timedelta(hours=2)) == "2026-11-01 01:00:00"


def test_nothing_is_rounded_up_to_certain_or_down_to_impossible() -> None:
    assert words.probability(0.997) == ">0.99"
    assert words.probability(1.0) == "1.00"
    assert words.probability(0.001) == "<0.01"
    assert words.probability(0.0) == "0.00"
    assert words.share(0.9999) == ">99.9%"
    assert words.share(0.0001) == "<0.1%"
    assert words.share(1.0) == "100%"
    assert words.share(0) == "0%"
    assert words.share(None) == "unknown"


def test_confidence_has_a_word_for_every_value() -> None:
    assert [words.sure(v) for v in (1.0, 0.96, 0.85, 0.7, 0.5, 0.1, 0.0)] == [
        "as good as certain",
        "very likely",
        "likely",
        "more likely than not",
        "a toss-up",
        "a guess",
        "a guess",
    ]


def test_numbers_take_their_unit_from_their_name() -> None:
    assert words.number(4.183, "gap_median_s") == "4.183 s"
    assert words.number(1_500_000, "gap_us") == "1.5 s"
    assert words.number(0.6634, "retry_share") == "66.3%"
    assert words.number(2.9, "requests_ratio") == "×2.90"
    assert words.number(12_345, "orders") == "12,345"
    assert words.number(None, "orders") == "not known"
    assert words.label("gap_median_s") == "gap median"
    assert words.label("retry_share") == "retry share"


def test_long_text_is_cut_with_a_mark_and_invisible_text_is_spelled_out() -> None:
    assert words.clean("x" * 1_000_000, 10) == "xxxxxxxxx…"
    assert words.clean("a\u202eb\u200bc\x00\n\ud800") == "a\\u{202e}b\\u{200b}c␀⏎\\u{d800}"
    assert words.clean("주문 1") == "주문 1"
    assert words.clean_lines("SELECT 1\n\tFROM \x1b[31mt") == "SELECT 1\n    FROM \\u{1b}[31mt"


def test_anchors_are_plain_stable_and_tell_names_apart() -> None:
    assert words.anchor("finding", "duplicates-7d31c0") == "finding-duplicates-7d31c0"
    odd, other = words.anchor("order", '"><script>'), words.anchor("order", '"><script>!')
    assert odd != other
    assert words.anchor("order", '"><script>') == odd
    assert all(c.isalnum() or c in "-_" for c in odd + words.anchor("order", "\ud800"))


def test_a_schedule_is_a_list_with_one_unit() -> None:
    assert words.waits((1.0, 2.0, 4.0)) == "1, 2, 4 s"
    assert words.waits(tuple(float(i) for i in range(1, 9))) == "1, 2, 3, 4, 5, 6, … s"
    assert words.resolution(1_000_000) == "whole seconds"
    assert words.resolution(None) == "not known"
