"""Times as people and spreadsheets spell them, respelt so that the usual formats read them.

오후 10:29, 午後10時29分, 10:29 p.m.         ->  10:29 PM
2026년 11월 30일 22시 29분, 令和8年11月30日  ->  2026-11-30 22:29, 2026-11-30
46356.5 under a heading that says date     ->  days since 1899-12-30, as Excel counts them
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ERAS = (("令和", 2018), ("平成", 1988), ("昭和", 1925))
"""Japanese eras, and the year before their first."""
_ERA = r"(?:令和|平成|昭和)\s*(\d{1,2}|元)\s*年"
_CLOCK = r"\d{1,2}(?::\d{1,2}){0,2}"
_STEPS = (
    (r"[\x{00A0}\x{202F}\x{3000}]", " "),
    (r"\s*[(（][월화수목금토일月火水木金土日](?:曜日?|요일)?[)）]", ""),
    (r"(\d{4})\s*[년年]\s*(\d{1,2})\s*[월月]\s*(\d{1,2})\s*[일日]\s*", r"\1-\2-\3 "),
    (r"(\d{1,2})\s*[시時]\s*(\d{1,2})\s*[분分]\s*(\d{1,2})\s*[초秒]", r"\1:\2:\3"),
    (r"(\d{1,2})\s*[시時]\s*(\d{1,2})\s*[분分]", r"\1:\2"),
    (r",\s+(\d{1,2}:)", r" \1"),
    (rf"(?:오전|午前|上午)\s*({_CLOCK})", r" \1 AM"),
    (rf"(?:오후|午後|下午)\s*({_CLOCK})", r" \1 PM"),
    (r"(?i)(\d)\s*([ap])\.?\s?m\.?$", r"\1 \2M"),
    (r"\s+", " "),
)
_NAMED = re.compile(r"date|time|datum|zeit|_at$|일시|일자|시각|날짜|日時|日付|年月日", re.IGNORECASE)
SERIAL = r"[2-5]\d{4}(\.\d+)?"
"""Days from 1954 to 2064."""


def respelt(text: str) -> str:
    """The SQL expression of a text with its time respelt; text without such words is left as it is."""
    first = " ".join(f"WHEN contains({text}, '{era}') THEN {year}" for era, year in _ERAS)
    number = f"coalesce(TRY_CAST(regexp_extract({text}, '{_ERA}', 1) AS INTEGER), 1)"
    year = f"coalesce(CAST(CASE {first} END + {number} AS VARCHAR), '')"
    western = f"regexp_replace({text}, '{_ERA}', {year} || '年')"
    text = f"CASE WHEN regexp_matches({text}, '{_ERA}') THEN {western} ELSE {text} END"
    for pattern, into in _STEPS:
        text = f"regexp_replace({text}, '{pattern}', '{into}', 'g')"
    return f"trim({text})"


def is_serial(heading: str, cells: Sequence[str]) -> float:
    """The share of the cells that can be Excel's days; 0 under a heading that says nothing of a time."""
    if not _NAMED.search(heading):
        return 0.0
    return sum(bool(re.fullmatch(SERIAL, cell)) for cell in cells) / len(cells)


def serial_sql(text: str) -> str:
    """Excel's days as TIMESTAMP, to the millisecond that fifteen digits hold."""
    days = f"TRY_CAST({text} AS DECIMAL(20, 14)) - 25569"
    ms = f"CAST(round(CAST({days} AS DECIMAL(20, 14)) * CAST(86400000 AS DECIMAL(8, 0))) AS BIGINT)"
    return f"CASE WHEN regexp_full_match({text}, '{SERIAL}') THEN make_timestamp({ms} * 1000) END"
