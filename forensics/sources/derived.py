"""One column made of several: debit and credit as one signed amount, an amount and its mark, fees added up.

What cannot be made leaves a cell that says why, in words; the reader of the column then rejects the row with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from forensics.schema import MONEY
from forensics.sources.staged import StagedColumn, add_column, normal

_DEBIT = (
    *("d", "dr", "rc", "debit", "dbit", "s", "soll", "lastschrift", "out", "withdrawal", "pay"),
    *("출금", "지급", "出金", "支払", "お支払い"),
)
_CREDIT = (
    *("c", "cr", "rd", "credit", "crdt", "h", "haben", "gutschrift", "in", "deposit", "receive"),
    *("입금", "入金", "お預り"),
)
_MARKS = "translate({}, '-−()', '')"
"""The text without what makes it negative."""


HOW = (
    *("first", "pair", "signed", "directed", "hundredths", "hundredths_kept", "join", "sum", "negated"),
    *("filled", "stated"),
)


@dataclass(frozen=True, slots=True)
class Rule:
    """How a column is made: of what, and each of the parts under one of its possible headings.

    how: `first` (of those, the first that is not blank or 0), `pair` (debit, credit, and perhaps two more where both
    are blank), `signed` (amount, mark), `hundredths` and `hundredths_kept` (the same in hundredths, the latter
    positive where money goes out), `directed` (amount, debit: negative where there is a debit), `join` (with ' / '),
    `sum`, `negated`, `filled` (the name of the first part that is not blank), `stated` (a word, and where it is blank
    the name of the first other part that is not).
    """

    how: str
    headings: tuple[tuple[str, ...], ...]


def column_of(columns: Sequence[StagedColumn], headings: Sequence[str]) -> StagedColumn | None:
    """The column under the first of the headings that is there."""
    for heading in headings:
        for column in columns:
            if normal(column.heading) == normal(heading) and not column.joins:
                return column
    return None


def make(connection: duckdb.DuckDBPyConnection, columns: Sequence[StagedColumn], rule: Rule) -> StagedColumn | None:
    """The column of a rule, added to `staged` where it is made of several; None when its headings are not there."""
    found = [column_of(columns, headings) for headings in rule.headings]
    if rule.how == "first":
        found = [column_of(columns, (heading,)) for headings in rule.headings for heading in headings]
    parts = list(dict.fromkeys(column for column in found if column))
    if not parts or (rule.how in _WHOLE and len(parts) < len(rule.headings)):
        return None
    if rule.how == "first" and len(parts) == 1:
        return parts[0]
    how = "filled" if rule.how == "stated" and found[0] is None else rule.how
    sql, type_ = _expression(connection, how, parts)
    name = f"c{len(columns)}"
    add_column(connection, name, type_, sql)
    heading = f" {_BETWEEN.get(rule.how, '/')} ".join(part.heading for part in parts)
    return StagedColumn(heading, name, type_, tuple(part.name for part in parts))


_WHOLE = ("pair", "signed", "directed", "hundredths", "hundredths_kept")
"""Nothing can be made of them when a part is missing."""
_BETWEEN = {"first": "or", "sum": "+", "filled": "or", "stated": "or"}


def _expression(connection: duckdb.DuckDBPyConnection, how: str, parts: Sequence[StagedColumn]) -> tuple[str, str]:
    text = [f"nullif(trim(CAST({part.name} AS VARCHAR)), '')" for part in parts]
    if how == "pair":
        sql = _pair(connection, parts[:2])
        if len(parts) == 4:
            blank = " AND ".join(f"{each} IS NULL" for each in text[:2])
            sql = f"CASE WHEN {blank} THEN {_pair(connection, parts[2:])} ELSE {sql} END"
        return sql, "VARCHAR"
    if how == "signed":
        return _signed(text[0], text[1]), "VARCHAR"
    if how in ("hundredths", "hundredths_kept"):
        number = f"TRY_CAST({_signed(text[0], text[1])} AS DECIMAL(16,2))"
        return f"CAST({number} * {'-0.01' if how == 'hundredths_kept' else '0.01'} AS {MONEY})", MONEY
    if how == "first":
        return f"coalesce({', '.join(f'nullif({each}, {chr(39)}0{chr(39)})' for each in text)})", "VARCHAR"
    if how == "join":
        return f"concat_ws(' / ', {', '.join(text)})", "VARCHAR"
    if how == "directed":
        debit = f"coalesce(regexp_matches({text[1]}, '[1-9]'), false)"
        return f"CASE WHEN {debit} THEN '-' || {_MARKS.format(text[0])} ELSE {text[0]} END", "VARCHAR"
    if how == "filled":
        return _filled(text, parts, "'unfilled'"), "VARCHAR"
    if how == "stated":
        return f"coalesce({text[0]}, {_filled(text[1:], parts[1:], 'NULL')})", "VARCHAR"
    numbers = [f"TRY_CAST(replace({each}, ',', '') AS {MONEY})" for each in text]
    if how == "negated":
        return f"-{numbers[0]}", MONEY
    if how == "sum":
        # Cents that a fee has no more than four digits of; a part that is blank adds nothing.
        return f"CAST({' + '.join(f'coalesce({each}, 0)' for each in numbers)} AS {MONEY})", MONEY
    raise KeyError(how)


def _filled(text: Sequence[str], parts: Sequence[StagedColumn], otherwise: str) -> str:
    names = " ".join(
        f"WHEN {each} IS NOT NULL THEN '{normal(part.heading)}'" for each, part in zip(text, parts, strict=True)
    )
    return f"CASE {names} ELSE {otherwise} END"


def _signed(amount: str, mark: str) -> str:
    """The amount with the sign that its mark gives; a mark that says neither leaves words."""
    word = f"lower({mark})"
    size = _MARKS.format(amount)
    return (
        f"CASE WHEN {word} IN ({_list(_DEBIT)}) THEN '-' || {size} WHEN {word} IN ({_list(_CREDIT)}) THEN {size} "
        f"ELSE {amount} || ' with the mark ' || coalesce({mark}, 'missing') END"
    )


def _pair(connection: duckdb.DuckDBPyConnection, parts: Sequence[StagedColumn]) -> str:
    """Credit in, debit out, exactly one of them: the other is blank or zero.

    A debit column may bear its own minus signs; where all of it does, they are not turned round.
    """
    debit, credit = (f"nullif(trim(CAST({part.name} AS VARCHAR)), '')" for part in parts)
    filled = "coalesce(regexp_matches({}, '[1-9]'), false)"
    minus = "regexp_matches({}, '[-−(]')"
    row = connection.execute(
        f"SELECT bool_and({minus.format(debit)}) FROM staged WHERE {filled.format(debit)}"
    ).fetchone()
    out = f"CASE WHEN {minus.format(debit)} THEN {_MARKS.format(debit)} ELSE '-' || {debit} END"
    if row and row[0]:
        out = debit
    left, right = (part.heading.replace("'", "''") for part in parts)
    return (
        f"CASE WHEN {filled.format(debit)} AND {filled.format(credit)} "
        f"THEN {debit} || ' in {left} and ' || {credit} || ' in {right}' "
        f"WHEN {filled.format(credit)} THEN {credit} WHEN {filled.format(debit)} THEN {out} "
        f"WHEN {debit} IS NOT NULL OR {credit} IS NOT NULL THEN coalesce({credit}, {debit}) "
        f"ELSE 'nothing in {left} and {right}' END"
    )


def _list(words: Sequence[str]) -> str:
    return ", ".join(f"'{word}'" for word in words)
