"""What may be asked of a database: one SELECT that only reads.

The session is read-only anyway; this check is there to say in one sentence what the database would say in ten, and to
refuse what a read-only transaction lets through (SELECT ... INTO OUTFILE, row locks, a second statement).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo

from forensics.errors import UsageError
from forensics.sources.urls import Engine

_WRITES = frozenset(("INTO", "INSERT", "UPDATE", "DELETE", "MERGE", "SHARE", "OUTFILE", "DUMPFILE"))
_HOW = "for example --query 'SELECT * FROM payments WHERE shop = 7'"


@cache
def _pieces(engine: Engine) -> re.Pattern[str]:
    """What a query is made of, in the spelling of one engine.

    MySQL alone takes backslashes in every string, # as a comment, and runs what stands in /*! */; PostgreSQL alone
    quotes with dollars and has operators of #.
    """
    escaped, plain = r"'(?:[^'\\]|''|\\.)*'", r"'(?:[^']|'')*'"
    if engine == "mysql":
        special = rf"(?P<text>{escaped}|\"(?:[^\"\\]|\"\"|\\.)*\")|(?P<note>\#[^\n]*|/\*(?!!|M!).*?\*/)"
    elif engine == "postgresql":
        special = (
            rf"(?P<text>\b[eE]{escaped}|{plain}|\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?\$(?P=tag)\$)|(?P<note>/\*.*?\*/)"
        )
    else:
        special = rf"(?P<text>{plain}|\[[^\]]*\])|(?P<note>/\*.*?\*/)"
    quoted = r"(?P<name>\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`)"
    return re.compile(rf"{special}|{quoted}|(?P<line>--[^\n]*)|(?P<word>[^\W\d][\w$]*)|(?P<mark>\S)", re.DOTALL)


def check_query(text: str, engine: Engine) -> str:
    """The query without what ends it, if it is one SELECT (or WITH ... SELECT) that only reads.

    Strings, quoted names and comments are passed over.

    Raises:
        UsageError: anything else.
    """
    query = text.strip().rstrip(";").rstrip()
    first, depth = "", 0
    for piece in _pieces(engine).finditer(query):
        word, mark = (piece["word"] or "").upper(), piece["mark"]
        first = first or word
        if first and first not in ("SELECT", "WITH"):
            raise UsageError(f"--query begins with {first}; expected SELECT or WITH", _HOW)
        if word in _WRITES:
            raise UsageError(
                f"--query holds {word}; expected one SELECT that only reads",
                f"if it is the name of a column, put it in quotes; {_HOW}",
            )
        if mark:
            depth += {"(": 1, ")": -1}.get(mark, 0)
            _check_mark(mark, depth, query[piece.start() : piece.start() + 2])
    if not first:
        raise UsageError("--query holds no SELECT", _HOW)
    if depth:
        raise UsageError("--query opens a bracket that it does not close", _HOW)
    return query


def _check_mark(mark: str, depth: int, ahead: str) -> None:
    if mark == ";":
        raise UsageError("--query holds more than one statement; expected one SELECT", _HOW)
    if depth < 0:
        raise UsageError("--query closes a bracket that it does not open", _HOW)
    if mark in "'\"`" or ahead == "/*":
        raise UsageError(
            "--query opens a quote or comment that it does not close", f"double a quote inside a string; {_HOW}"
        )


def read_since(text: str, zone: str | None) -> datetime:
    """The moment of --since in UTC; without an offset it is read in the zone of --zone, else in UTC.

    Raises:
        UsageError: it is no time.
    """
    try:
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(zone or "UTC"))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise UsageError(
            f"--since {text}: expected a day or time",
            "for example --since 2026-11-01 or --since 2026-11-01T09:00+09:00",
        ) from exc
