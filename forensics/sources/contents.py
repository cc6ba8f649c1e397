"""What a column may be by its cells alone, for columns whose heading says nothing."""

from __future__ import annotations

import re

import duckdb

from forensics.sources import values
from forensics.sources.staged import StagedColumn

_SAMPLE = 200
_MOST_WORDS = 12
_SAME_AMOUNT = 0.6
_CURRENCIES = frozenset(
    (
        *(
            "AED",
            "ARS",
            "AUD",
            "BGN",
            "BHD",
            "BRL",
            "CAD",
            "CHF",
            "CLP",
            "CNY",
            "COP",
            "CZK",
            "DKK",
            "EGP",
            "EUR",
            "GBP",
        ),
        *(
            "HKD",
            "HUF",
            "IDR",
            "ILS",
            "INR",
            "ISK",
            "JOD",
            "JPY",
            "KES",
            "KRW",
            "KWD",
            "MAD",
            "MXN",
            "MYR",
            "NGN",
            "NOK",
        ),
        *(
            "NZD",
            "OMR",
            "PEN",
            "PHP",
            "PKR",
            "PLN",
            "QAR",
            "RON",
            "RSD",
            "RUB",
            "SAR",
            "SEK",
            "SGD",
            "THB",
            "TND",
            "TRY",
        ),
        *("TWD", "UAH", "USD", "UYU", "VND", "XAF", "XOF", "ZAR"),
    )
)
"""ISO 4217 codes of the currencies that are paid in most; a column of others is known by its heading."""


def is_time(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> bool:
    """Whether nearly all cells are times of one form."""
    return values.read_time(connection, column, "UTC", least=0.9) is not None


def is_number(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> bool:
    """Whether the cells have digits and no letters but a currency's."""
    if column.type != "VARCHAR":
        return not column.type.startswith(("TIMESTAMP", "DATE", "BOOL"))
    cells = values.sample(connection, column, _SAMPLE)
    return bool(cells) and all(re.fullmatch(r"[^\d]{0,5}\d[\d.,'\s_]*[^\d]{0,5}", c) for c in cells)


def is_amount(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> bool:
    """Whether all cells are sums of money by their form: two decimals, or a currency's sign."""
    if column.type.startswith("DECIMAL"):
        return True
    cells = values.sample(connection, column, _SAMPLE)
    if not cells or is_time(connection, column):
        return False
    return all(re.fullmatch(r"[-+(]?[€$£¥₩]?\s?\d[\d.,' ]*[.,]\d{2}\)?|[€$£¥₩]\s?\d[\d.,' ]*", c) for c in cells)


def is_currency(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> bool:
    """Whether all cells are codes of currencies."""
    cells = values.sample(connection, column, _SAMPLE)
    return bool(cells) and all(c in _CURRENCIES for c in cells)


def is_status(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> bool:
    """Whether the cells are a few words, most of which are known outcomes, a success among them."""
    cells = [c.lower() for c in values.sample(connection, column, _SAMPLE)]
    known = values.words()["status"]
    said = [c for c in cells if c in known and not c.isdigit() and len(c) > 1]
    few = 0 < len(set(cells)) <= _MOST_WORDS
    return few and len(said) >= 0.8 * len(cells) and any(known[c] == "captured" for c in said)


def is_key(connection: duckdb.DuckDBPyConnection, column: StagedColumn) -> bool:
    """Text with digits in it, nearly always there, mostly but not always different; no number, no time."""
    row = connection.execute(
        f"SELECT count({column.name}) / count(*), "
        f"approx_count_distinct({column.name}) / greatest(1, count({column.name})), "
        f"avg(CASE WHEN regexp_matches(CAST({column.name} AS VARCHAR), '^\\S*\\d\\S*$') THEN 1.0 ELSE 0 END), "
        f"avg(CASE WHEN regexp_full_match(CAST({column.name} AS VARCHAR), '[-+]?[\\d.,]+') THEN 1.0 ELSE 0 END), "
        f"count(DISTINCT {column.name}) = count({column.name}) FROM staged"
    ).fetchone()
    if not row or row[0] is None or row[2] is None:
        return False
    filled, distinct, digits, numbers, unique = row
    likely = filled > 0.9 and distinct > 0.3 and digits > 0.9 and numbers < 0.5 and not unique
    return likely and not is_time(connection, column)


def repeats_with(connection: duckdb.DuckDBPyConnection, column: StagedColumn, amount: StagedColumn) -> bool:
    """Whether most rows have a value of their own, and those that share one mostly agree in the amount.

    An order does, when it is paid again; a customer or a card comes back with other amounts, a product far too often.
    """
    row = connection.execute(
        f"SELECT sum(n) / (SELECT count(*) FROM staged), count(*) / sum(n), max(n), "
        f"avg(CASE WHEN n > 1 THEN CAST(same AS INTEGER) END) FROM ("
        f"SELECT count(*) AS n, count(DISTINCT {amount.name}) = 1 AS same FROM staged "
        f"WHERE {column.name} IS NOT NULL GROUP BY {column.name})"
    ).fetchone()
    if not row or row[0] is None or row[3] is None:
        return False
    filled, distinct, most, same = row
    return filled > 0.9 and distinct > 0.5 and most <= 50 and same >= _SAME_AMOUNT and not is_time(connection, column)
