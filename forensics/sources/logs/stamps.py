"""SQL that reads the stamp of a line, in whatever form, as microseconds since 1970 UTC; NULL where it is none."""

from __future__ import annotations

from datetime import datetime

from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.logs.fields import Field
from forensics.sources.logs.parameters import Parameters

_LATEST_S = 4_102_444_800  # the year 2100: what is later is no time


def time_us(log_format: LogFormat, zone: str, parameters: Parameters) -> str:
    """The stamp as microseconds since 1970 UTC, whatever the session's TimeZone; NULL when it is no time.

    Args:
        log_format: has a `time`, or a `date` and a `clock`.
        zone: IANA name, for stamps without an offset.
        parameters: takes the zone and the stamp's own format.
    """
    found = log_format.field("time")
    date, clock = log_format.field("date"), log_format.field("clock")
    if found is None and date is not None and clock is not None:
        text = f"(f{date[0]} || ' ' || f{clock[0]})"
        guard = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.]\d+)?$"
        return f"CASE WHEN regexp_matches({text}, '{guard}') THEN epoch_us(TRY_CAST({text} AS TIMESTAMP)) END"
    if found is not None:
        return _stamp_us(f"f{found[0]}", found[1], log_format, zone, parameters)
    if log_format.stamp is None:
        return "CAST(NULL AS BIGINT)"
    return _stamp_us("stamp", log_format.stamp, log_format, zone, parameters)


def _stamp_us(x: str, field: Field, log_format: LogFormat, zone: str, parameters: Parameters) -> str:
    """A whole stamp, by its unit."""
    if field.unit == "clf":
        # Cut at blanks, a stamp still has its brackets; to take them off costs four times as much as to read them.
        moment = f"try_strptime({x}, '%d/%b/%Y:%H:%M:%S %z')"
        in_brackets = f"try_strptime({x}, '[%d/%b/%Y:%H:%M:%S %z]')"
        return f"epoch_us(CASE WHEN starts_with({x}, '[') THEN {in_brackets} ELSE {moment} END)"
    if field.unit == "clf_local":
        local = f"try_strptime({x}, ['%d/%b/%Y:%H:%M:%S.%f', '%d/%b/%Y:%H:%M:%S'])"
        return f"epoch_us(timezone({parameters.bind(zone)}, {local}))"
    if field.unit == "epoch":
        return epoch_us(x)
    if field.unit.startswith("%"):
        shape = parameters.bind(field.unit)
        stamp = f"try_strptime({x}, {shape})"
        offset = "%z" in field.unit.casefold()
        return f"epoch_us({stamp})" if offset else f"epoch_us(timezone({parameters.bind(zone)}, {stamp}))"
    if field.unit == "no_year":
        return _without_year_us(x, log_format.latest, zone, parameters)
    return _iso_us(x, zone, parameters)


def _without_year_us(x: str, latest: datetime | None, zone: str, parameters: Parameters) -> str:
    """`Nov 30 13:37:16`, of the last year in which it is not after `latest`; NULL when that is not known."""
    if latest is None:
        return "CAST(NULL AS BIGINT)"
    shape = "['%Y %b %d %H:%M:%S.%f', '%Y %b %d %H:%M:%S']"
    plain = f"regexp_replace({x}, ' +', ' ')"
    # Back to the last leap year, for the 29th of February.
    years = [f"try_strptime('{latest.year - back} ' || {plain}, {shape})" for back in range(9)]
    limit = f"CAST({parameters.bind(latest)} AS TIMESTAMP)"
    last = f"list_max(list_filter([{', '.join(years)}], lambda t: t <= {limit}))"
    return f"epoch_us(timezone({parameters.bind(zone)}, {last}))"


def _iso_us(x: str, zone: str, parameters: Parameters) -> str:
    """ISO 8601 with or without an offset; a comma before the fraction and a space before the offset are common."""
    date = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?"
    text = f"replace(replace(replace({x}, ',', '.'), ' +', '+'), ' -', '-')"
    return (
        rf"CASE WHEN regexp_matches({x}, '{date}(?:Z|z| ?[+-]\d\d:?\d\d)$') "
        f"THEN epoch_us(TRY_CAST({text} AS TIMESTAMPTZ)) "
        f"WHEN regexp_matches({x}, '{date}$') "
        f"THEN epoch_us(timezone({parameters.bind(zone)}, TRY_CAST({text} AS TIMESTAMP))) END"
    )


def epoch_us(x: str) -> str:
    """A count since 1970 in s, ms, us or ns: which of them, its size tells. NULL before 1970 and after 2100."""
    number = f"TRY_CAST({x} AS DECIMAL(38,9))"
    return (
        f"CASE WHEN {number} BETWEEN 0 AND {_LATEST_S} THEN CAST({number} * 1000000 AS BIGINT) "
        f"WHEN {number} BETWEEN 0 AND {_LATEST_S}000 THEN CAST({number} * 1000 AS BIGINT) "
        f"WHEN {number} BETWEEN 0 AND {_LATEST_S}000000 THEN CAST({number} AS BIGINT) "
        f"WHEN {number} BETWEEN 0 AND {_LATEST_S}000000000 THEN CAST({number} / 1000 AS BIGINT) END"
    )
