"""Which year stamps without one are of (`Nov 30 13:37:16`, as syslog writes them)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from forensics.sources.logs.catalogue import LogFormat
from forensics.sources.urls import Url

_HALF_A_YEAR = timedelta(days=183)
_DAY = timedelta(days=1)  # a stamp is local time, the limit UTC


def dated(
    log_format: LogFormat, path: Path | Url, windows: Sequence[tuple[datetime, datetime]]
) -> tuple[LogFormat, str | None]:
    """The format with the moment that none of its stamps is after, and what must be said of it.

    Args:
        log_format: as recognised; one whose stamps have their year comes back as it is.
        path: the file as given; no line of it was written after it was.
        windows: what the other evidence of the case covers, in UTC.
    """
    if log_format.stamp is None or log_format.stamp.unit != "no_year":
        return log_format, None
    if windows:
        last = max(end for _, end in windows)
        return replace(log_format, latest=last + _HALF_A_YEAR), (
            "the stamps name no year: read as the year that lies nearest to the other evidence"
        )
    try:
        written = datetime.fromtimestamp(Path(str(path)).stat().st_mtime, UTC).replace(tzinfo=None)
    except (OSError, ValueError, OverflowError):
        return log_format, None
    return replace(log_format, latest=written + _DAY), (
        f"the stamps name no year: read as the last one before the date of the file itself, {written:%Y-%m-%d}; "
        "load it beside evidence that names its year, or set the date of the file (touch -d), where that is wrong"
    )
