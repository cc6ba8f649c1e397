"""When payouts close: found between the last row of one and the first of the next, in the zone that fits best."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from forensics.analysis.cutoff import Cut, find_cut

Payouts = list[tuple[datetime, datetime]]


def payouts(zone: str, hour: int, minute: int, days: int = 14, slack_min: int = 7) -> Payouts:
    """Daily payouts over the end of summer time in Europe, busy up to the closing."""
    first = datetime(2025, 10, 20, hour, minute, tzinfo=ZoneInfo(zone))
    closings = [(first + timedelta(days=n)).astimezone(UTC) for n in range(days)]
    slack = timedelta(minutes=slack_min)
    return [(begin + slack, end - slack) for begin, end in itertools.pairwise(closings)]


def test_the_time_of_day_and_its_zone_are_found() -> None:
    assert find_cut(payouts("Asia/Seoul", 23, 30), ["Asia/Seoul", "UTC"]) == Cut(1410, "Asia/Seoul", 12)


def test_summer_time_tells_the_zone() -> None:
    found = find_cut(payouts("Europe/Berlin", 0, 0), ["UTC", "Europe/Berlin"])
    assert found is not None
    assert found.words() == "00:00 Europe/Berlin"


def test_the_roundest_time_that_fits_is_named() -> None:
    found = find_cut(payouts("UTC", 16, 50, slack_min=15), ["UTC"])
    assert found is not None
    assert found.words() == "17:00 UTC"


def test_payouts_that_overlap_or_leave_hours_between_them_say_nothing() -> None:
    assert find_cut([(begin, end + timedelta(hours=1)) for begin, end in payouts("UTC", 0, 0)], ["UTC"]) is None
    assert find_cut(payouts("UTC", 0, 0, slack_min=120), ["UTC"]) is None
    assert find_cut(payouts("UTC", 0, 0, days=3), ["UTC"]) is None
