"""From which number callers count their tries: learned from the whole column, once it is loaded.

Home-made retry headers follow no convention. Some count from 1, some from 0, some send a number on retries only, so
that their 1 is the second try.
"""

from __future__ import annotations

import duckdb

from forensics.sources.logs.catalogue import LogFormat

_LINKS = ("idempotency_key", "request_id", "trace_id", "order_id")
_WINDOW_US = 15 * 60 * 1_000_000


def settle_attempts(
    connection: duckdb.DuckDBPyConnection, source_id: int, log_format: LogFormat | None = None
) -> str | None:
    """Makes `requests.attempt` of one source count from 1.

    Args:
        connection: a case; its `requests` hold the numbers as sent, or from 1 where the header's convention is known.
        source_id: the log to settle.
        log_format: as read; tells whether it is known.

    Returns:
        What was found, in words, for `sources.notes`; None when no line carries a number.
    """
    row = connection.execute(
        "SELECT count(attempt), count(*) FILTER (attempt = 0), count(*) FILTER (attempt = 1), "
        "count(*) FILTER (attempt > 1), "
        "count(*) FILTER (attempt IS NULL AND method NOT IN ('GET', 'HEAD', 'OPTIONS')), "
        "min(attempt_source) FROM requests WHERE source_id = ?",
        [source_id],
    ).fetchone()
    if row is None or not row[0]:
        return None
    _, zeros, ones, more, silent, name = row
    found = log_format.field("attempt") if log_format is not None else None
    if found is not None and found[1].base is not None:
        return f"{name} counts tries from {found[1].base}, as it is known to"
    if zeros and zeros * 20 >= ones:
        _add(connection, source_id, 1)
        return f"{name} counts tries from 0: 1 was added"
    if zeros:
        connection.execute("UPDATE requests SET attempt = NULL WHERE source_id = ? AND attempt = 0", [source_id])
        return f"{name} counts tries from 1; {zeros} lines with 0 count as without a number"
    if ones and silent and _only_on_retries(connection, source_id):
        _add(connection, source_id, 1)
        return f"{name} is sent on retries only, so its 1 is the second try: 1 was added"
    if not ones and more:
        return f"{name} is sent from the second try on"
    return f"{name} counts tries from 1"


def _add(connection: duckdb.DuckDBPyConnection, source_id: int, number: int) -> None:
    connection.execute(
        "UPDATE requests SET attempt = attempt + ? WHERE source_id = ? AND attempt IS NOT NULL", [number, source_id]
    )


def _only_on_retries(connection: duckdb.DuckDBPyConnection, source_id: int) -> bool:
    """Whether most lines that say 1 follow a line of the same act that says nothing.

    Acts are told by the first id that lines saying 1 share with an earlier line; without any, by caller and path.
    Numbers learned from a header with a known base are at least 2 on retries and never come here with a 1 that is one.
    """
    for link in (*_LINKS, None):
        act = link if link else "client || ' ' || coalesce(user_agent, '') || ' ' || method || ' ' || path"
        row = connection.execute(
            f"WITH acts AS (SELECT {act} AS act, attempt, started_at, line_no FROM requests "
            "WHERE source_id = ? AND method NOT IN ('GET', 'HEAD', 'OPTIONS')), "
            "steps AS (SELECT attempt, lag(attempt) OVER w AS before, lag(started_at) OVER w AS since, started_at "
            "FROM acts WHERE act IS NOT NULL WINDOW w AS (PARTITION BY act ORDER BY started_at, line_no)) "
            "SELECT count(*), count(*) FILTER (since IS NOT NULL AND before IS NULL "
            "AND epoch_us(started_at) - epoch_us(since) < ?) FROM steps WHERE attempt = 1",
            [source_id, _WINDOW_US],
        ).fetchone()
        ones, after_silence = row if row else (0, 0)
        if after_silence * 2 > ones:
            return True
    return False
