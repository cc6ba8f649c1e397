"""The zone of a settlement whose times carry no offset, measured: its rows beside the ledger rows that they are about.

A window says within an hour or two where a file belongs; matched rows say it to the quarter of an hour. For each day
of the file the median of 'time as written less time in the ledger' is the zone's offset on that day, if the provider
writes movements when they happen; where the rows scatter more than that (a date, a batch), nothing is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb

from forensics.model import Source
from forensics.sources import zones
from forensics.sources.zones import Zone

_DAY_US = 86_400_000_000
_FEWEST_PAIRS = 5
_SHARE_BESIDE = 0.6
"""Of the pairs, those that must lie within a quarter of an hour of their day's median."""
_SHARE_FITTING = 0.95
"""Of the pairs, those on whose day a zone must have the offset that was measured."""
_SAMPLE_ROWS = 50_000
_OF_CURRENCY = {
    "AUD": "Australia/Sydney",
    "BRL": "America/Sao_Paulo",
    "CNY": "Asia/Shanghai",
    "EUR": "Europe/Berlin",
    "GBP": "Europe/London",
    "INR": "Asia/Kolkata",
    "JPY": "Asia/Tokyo",
    "KRW": "Asia/Seoul",
    "NZD": "Pacific/Auckland",
    "SGD": "Asia/Singapore",
    "USD": "America/New_York",
}
_WITH_SUMMER_TIME = (
    *("Europe/Berlin", "Europe/London", "Europe/Helsinki", "America/New_York", "America/Chicago"),
    *("America/Denver", "America/Los_Angeles", "Australia/Sydney", "Pacific/Auckland"),
)
_PAIRS = """
    WITH sampled AS (
        SELECT * FROM settlements WHERE source_id = $id ORDER BY hash(line_no), line_no LIMIT $most
    ),
    pairs AS (
        SELECT s.line_no, s.settled_at, p.created_at
        FROM sampled AS s JOIN payments AS p ON s.provider_ref = p.provider_ref
        UNION ALL
        SELECT s.line_no, s.settled_at, p.created_at
        FROM sampled AS s JOIN payments AS p ON s.provider_ref = p.payment_id
        UNION ALL
        SELECT s.line_no, s.settled_at, p.created_at
        FROM (SELECT * FROM sampled QUALIFY count(*) OVER (PARTITION BY order_id) = 1) AS s
        JOIN payments AS p ON s.order_id = p.order_id AND abs(s.amount) = abs(p.amount)
    ),
    single AS (
        SELECT timezone($zone, timezone('UTC', any_value(settled_at))) AS written,
            epoch_us(timezone($zone, timezone('UTC', any_value(settled_at)))) - epoch_us(min(created_at)) AS lag_us
        FROM pairs GROUP BY line_no HAVING min(created_at) = max(created_at)
    ),
    measured AS (
        SELECT date_trunc('day', written) AS day, lag_us, median(lag_us) OVER (PARTITION BY date_trunc('day', written))
            AS typical_us
        FROM single
    )
    SELECT day, count(*), count(*) FILTER (abs(lag_us - typical_us) <= 900000000),
        CAST(round(any_value(typical_us) / 900000000) AS BIGINT)
    FROM measured GROUP BY day ORDER BY day
"""


@dataclass(frozen=True, slots=True)
class Day:
    """What the matched rows of one day say."""

    noon: datetime
    """Naive, as the file writes times."""
    pairs: int
    beside: int
    """Pairs within a quarter of an hour of the day's median."""
    offset: timedelta
    """That median: time as written less time in the ledger, to the quarter of an hour."""


def align_settlements(connection: duckdb.DuckDBPyConnection, sources: Iterable[Source]) -> tuple[Source, ...]:
    """Move settlements that were read in a guessed zone to the zone their rows speak for; the sources as they now are.

    All settlements of the case are looked at, because the ledger may come after them.
    """
    guessed = connection.execute(
        "SELECT source_id, zone FROM sources WHERE kind = 'settlements' AND zone IS NOT NULL AND resolution_us < $day "
        "AND NOT list_contains($known, zone_reason) AND NOT contains(CAST(mapping AS VARCHAR), 'some with offset') "
        "ORDER BY source_id",
        {"known": list(zones.KNOWN), "day": _DAY_US},
    ).fetchall()
    changed: dict[int, tuple[Zone, datetime, datetime]] = {}
    for source_id, zone in guessed:
        days = _measure(connection, source_id, zone)
        found = choose(days, _candidates(connection, source_id, zone))
        if found:
            changed[source_id] = _move(connection, source_id, zone, found)
    return tuple(_as_it_stands(source, changed) for source in sources)


def choose(days: Sequence[Day], candidates: Iterable[str]) -> Zone | None:
    """The first zone whose offsets are those measured; None when the rows say nothing or no zone fits."""
    pairs = sum(day.pairs for day in days)
    if pairs < _FEWEST_PAIRS or sum(day.beside for day in days) < _SHARE_BESIDE * pairs:
        return None
    for name in candidates:
        zone = ZoneInfo(name)
        fitting = sum(day.pairs for day in days if day.noon.replace(tzinfo=zone).utcoffset() == day.offset)
        if fitting >= _SHARE_FITTING * pairs:
            return Zone(name, f"so read, {fitting} settled rows stand beside their ledger rows")
    return None


def _measure(connection: duckdb.DuckDBPyConnection, source_id: int, zone: str) -> list[Day]:
    rows = connection.execute(_PAIRS, {"id": source_id, "zone": zone, "most": _SAMPLE_ROWS}).fetchall()
    return [
        Day(day + timedelta(hours=12), pairs, beside, quarters * timedelta(minutes=15))
        for day, pairs, beside, quarters in rows
    ]


def _candidates(connection: duckdb.DuckDBPyConnection, source_id: int, zone: str) -> list[str]:
    """The ledger's zones, the one guessed, that of the currency, plain UTC and offsets, zones with summer time."""
    ledger = connection.execute(
        "SELECT DISTINCT zone FROM sources WHERE kind = 'payments' AND zone IS NOT NULL ORDER BY zone"
    ).fetchall()
    currencies = connection.execute(
        "SELECT currency FROM (SELECT currency, 1 AS place FROM settlements WHERE source_id = $id "
        "UNION ALL SELECT currency, 2 FROM payments) WHERE currency IS NOT NULL GROUP BY currency "
        "ORDER BY min(place), count(*) DESC, currency LIMIT 1",
        {"id": source_id},
    ).fetchall()
    names = [name for (name,) in ledger] + [zone]
    names += [_OF_CURRENCY[code] for (code,) in currencies if code in _OF_CURRENCY]
    names += ["UTC", *(f"Etc/GMT{-h:+d}" for h in (*range(1, 15), *range(-1, -13, -1)))]
    return list(dict.fromkeys([*names, *_WITH_SUMMER_TIME, "Asia/Kolkata", "Australia/Adelaide"]))


def _move(
    connection: duckdb.DuckDBPyConnection, source_id: int, before: str, zone: Zone
) -> tuple[Zone, datetime, datetime]:
    """Read the times of a source again in another zone, and write down that they were."""
    if zone.name != before:
        connection.execute(
            "UPDATE settlements SET settled_at = timezone('UTC', timezone($zone, timezone($before, "
            "timezone('UTC', settled_at)))) WHERE source_id = $id",
            {"zone": zone.name, "before": before, "id": source_id},
        )
    row = connection.execute(
        "SELECT min(settled_at), max(settled_at) FROM settlements WHERE source_id = $id", {"id": source_id}
    ).fetchone()
    if row is None:  # an aggregate always gives one row
        raise AssertionError
    connection.execute(
        "UPDATE sources SET zone = $zone, zone_reason = $why, first_at = $first, last_at = $last WHERE source_id = $id",
        {"zone": zone.name, "why": zone.why, "first": row[0], "last": row[1], "id": source_id},
    )
    return zone, row[0], row[1]


def _as_it_stands(source: Source, changed: dict[int, tuple[Zone, datetime, datetime]]) -> Source:
    if source.source_id not in changed:
        return source
    zone, first, last = changed[source.source_id]
    return replace(source, zone=zone.name, zone_reason=zone.why, first_at=first, last_at=last)
