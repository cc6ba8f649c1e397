"""How one column of text or numbers becomes exact amounts of money in major units.

One decimal mark and one unit are decided for the whole column. A cell that does not fit is left unread, never guessed
at: '12,50' in a column of '1,234.50' is not 1250, and a fifth decimal is not rounded away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from forensics.amounts import MINOR_DIGITS
from forensics.schema import MONEY
from forensics.sources.staged import StagedColumn
from forensics.sources.values import Reading, sample

_ZERO_DECIMAL = tuple(code for code, digits in MINOR_DIGITS.items() if digits == 0)
_THREE_DECIMAL = tuple(code for code, digits in MINOR_DIGITS.items() if digits == 3)

_BEFORE = r"^[-+(\s]*(?:[A-Za-z]{3}|[A-Z]{0,3}[€$£¥￥₩₹])?[-+(\s]*"
_AFTER = r"[-+)\s]*(?:[A-Za-z]{3}|[€$£¥￥₩₹원円])?[-+)\s]*$"
_CORE = r"([.,]?\d(?:[\d.,'' ]*\d)?)"
_LEAST = 0.5
"""Share of the cells that must be amounts for the column to be one; the others are rejected row by row."""
_MINOR = re.compile(r"(?<![a-z])(?:in)?(minor|cents?|pence|paise|penny)(?![a-z])", re.IGNORECASE)


def read_money(
    connection: duckdb.DuckDBPyConnection,
    column: StagedColumn,
    currency_sql: str,
    heading: str,
    unit: str | None = None,
) -> Reading | None:
    """How to read a column as exact major units; None when its cells are no amounts.

    Args:
        currency_sql: expression of the row's currency, for the number of its minor digits.
        heading: the column's own name, which may say that it holds minor units.
        unit: 'minor' or 'major' when the caller knows; None to decide by the column.
    """
    whole = False
    if column.type in ("DOUBLE", "FLOAT"):
        number, how = f"TRY_CAST({column.name} AS {MONEY})", "floating point, rounded to 4 digits"
    elif re.match(r"DECIMAL|U?(TINY|SMALL|BIG|HUGE)?INT", column.type):
        number, how, whole = _exactly(column.name), "number", "INT" in column.type
    else:
        decided = _decimal_mark(connection, column, currency_sql)
        if decided is None:
            return None
        whole = decided.whole
        number, how = _money_text(column.name, decided.mark), f"decimal mark {decided.mark!r}{decided.doubt}"
    if unit is None:
        unit, why = _unit(connection, number, heading, whole, currency_sql)
        how = f"{how}, {unit} units ({why})" if why else how
    if unit == "minor":
        scale = f"CASE WHEN {_is_in(currency_sql, _ZERO_DECIMAL)} THEN 1.000 "
        scale += f"WHEN {_is_in(currency_sql, _THREE_DECIMAL)} THEN 0.001 ELSE 0.010 END"
        return Reading(_exactly(f"(CAST({number} AS DECIMAL(22,4)) * CAST({scale} AS DECIMAL(4,3)))"), how)
    return Reading(number, how)


def _exactly(number: str) -> str:
    """The number as money where money can hold it to the last digit."""
    return f"CASE WHEN {number} = TRY_CAST({number} AS {MONEY}) THEN TRY_CAST({number} AS {MONEY}) END"


def _is_in(currency_sql: str, codes: Sequence[str]) -> str:
    return f"coalesce({currency_sql} IN ({', '.join(repr(c) for c in codes)}), false)"


# Text -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mark:
    """The decimal mark of a column."""

    mark: str
    whole: bool
    """No cell has a fraction."""
    doubt: str = ""
    """What else it could be, in words."""


def _decimal_mark(connection: duckdb.DuckDBPyConnection, column: StagedColumn, currency_sql: str) -> _Mark | None:
    """The decimal mark under which nearly every cell is an amount; None when there is none."""
    cells = sample(connection, column)
    as_point, as_comma = (f"{_money_text('cell', mark)} IS NOT NULL" for mark in (".", ","))
    fraction = "regexp_matches(cell, '\\d\\{0}\\d+\\D*$|^\\D*\\{0}\\d')"
    counted = connection.execute(
        f"SELECT count(*) FILTER ({as_point}), count(*) FILTER ({as_comma}), "
        f"count(*) FILTER ({as_point} AND {as_comma}), count(*) FILTER ({fraction.format('.')}), "
        f"count(*) FILTER ({fraction.format(',')}), count(*) FILTER (contains(cell, '.')) "
        "FROM unnest($cells) AS t(cell)",
        {"cells": cells},
    ).fetchall()
    point, comma, both, point_fractions, comma_fractions, with_point = counted[0]
    if not cells or max(point, comma) < _LEAST * len(cells) or (point == comma and both < point):
        return None
    if point != comma:
        return _Mark(".", not point_fractions) if point > comma else _Mark(",", not comma_fractions)
    if not point_fractions:
        return _Mark(".", True)
    # Every point stands before three digits: a price list of 1.250 and 950, or three decimals throughout.
    without_cents, with_mils = _minor_digits(connection, currency_sql)
    if without_cents or not (with_point == len(cells) or with_mils):
        return _Mark(",", True, " (1.250 is 1250: a point always stands before three digits)")
    return _Mark(".", False, " (1.250 is 1.25: every cell has three digits behind the point)")


def _minor_digits(connection: duckdb.DuckDBPyConnection, currency_sql: str) -> tuple[bool, bool]:
    """Whether every row is in a currency without minor units, and whether any is in one with three minor digits."""
    row = connection.execute(
        f"SELECT bool_and({_is_in(currency_sql, _ZERO_DECIMAL)}), bool_or({_is_in(currency_sql, _THREE_DECIMAL)}) "
        "FROM staged"
    ).fetchone()
    return (bool(row[0]), bool(row[1])) if row else (False, False)


def _money_text(name: str, mark: str) -> str:
    """A cell as money: 1,234.50, 1.234,50, 1 234,50, ₩12,000, (12.00), 12.00-, €1.250,50; NULL for anything else."""
    between = "[,'' ]" if mark == "." else "[.'' ]"
    spaces = "\u00a0\u202f\u2009\u2212’"
    text = f"trim(translate(CAST({name} AS VARCHAR), '{spaces}', '   -'''))"
    core = f"regexp_extract({text}, '{_BEFORE}{_CORE}{_AFTER}', 1)"
    whole = f"(?:\\d+|[1-9]\\d{{0,2}}(?:{between}\\d{{2,3}})*{between}\\d{{3}})"
    strict = f"^(?:{whole}(?:\\{mark}\\d{{1,4}}0*)?|\\{mark}\\d{{1,4}}0*)$"
    digits = f"replace(regexp_replace({core}, '{between}', '', 'g'), '{mark}', '.')"
    value = f"CASE WHEN regexp_matches({core}, '{strict}') THEN TRY_CAST({digits} AS {MONEY}) END"
    signs = f"regexp_replace({text}, '[^-+()]', '', 'g')"
    full = f"CASE WHEN {signs} IN ('', '+') THEN {value} WHEN {signs} IN ('-', '()') THEN -{value} END"
    quick = f"replace(CAST({name} AS VARCHAR), '{mark}', '.')"
    return (
        f"CASE WHEN regexp_full_match(CAST({name} AS VARCHAR), '-?\\d+(\\{mark}\\d{{1,4}})?') "
        f"THEN TRY_CAST({quick} AS {MONEY}) ELSE {full} END"
    )


# Units ----------------------------------------------------------------------------------------------------------


def _unit(
    connection: duckdb.DuckDBPyConnection, number: str, heading: str, whole: bool, currency_sql: str
) -> tuple[str, str]:
    """Minor or major units, and why. Whole numbers in a currency with cents are cents when they look like prices."""
    if _MINOR.search(re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", heading)):
        return "minor", f"heading {heading!r}"
    if not whole:
        return "major", ""
    row = connection.execute(
        f"SELECT count(*), median(abs(n)), avg(CASE WHEN n % 100 = 0 THEN 0.0 ELSE 1 END) FROM (SELECT {number} AS n "
        f"FROM staged WHERE {currency_sql} IS NOT NULL AND NOT {_is_in(currency_sql, _ZERO_DECIMAL)}) WHERE n <> 0"
    ).fetchone()
    if not row or not row[0]:
        return "major", ""
    if row[0] >= 20 and row[1] >= 300 and row[2] > 0.2:
        return "minor", "whole numbers of the size of cents in a currency that has them; --unit major if not"
    return "major", "whole numbers, too few or too round to be cents; --unit minor if they are"
