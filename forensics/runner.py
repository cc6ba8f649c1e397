"""Run one query with its full set of parameters.

Every run binds every parameter of the header, so no session variable and no half-filled call can change what a
query means; and a query that fails raises, because a failed question must never read as "nothing found".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb

from forensics import packs
from forensics.errors import QueryError, UsageError


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of one query, drained: DECIMAL as `Decimal`, TIMESTAMP as aware UTC `datetime`."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def records(self) -> list[dict[str, Any]]:
        """The rows as dictionaries, in order."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def column(self, name: str) -> list[Any]:
        """One column's values, in order."""
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def __len__(self) -> int:
        return len(self.rows)


class Runner:
    """Asks the questions of the packs on one open case."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, name: str, **values: Any) -> Result:
        """Run the query of that name; what is not given takes the header's default.

        Raises:
            UsageError: no such query, or a parameter it does not have.
            QueryError: the engine refused it.
        """
        query = packs.get(name)
        return self._execute(query.name, query.sql, bind(query, values))

    def run_text(self, text: str, **values: Any) -> Result:
        """Run the text of a query file that is not in the packs, same header, same rules."""
        query = packs.parse("(given)", text)
        return self._execute(query.name, query.sql, bind(query, values))

    def count(self, table: str) -> int:
        """Rows of a canonical table."""
        return int(self._execute(table, f"SELECT count(*) AS n FROM {table}", {}).rows[0][0])

    def _execute(self, name: str, sql: str, parameters: Mapping[str, Any]) -> Result:
        try:
            cursor = self._connection.execute(sql, dict(parameters))
            columns = tuple(c[0] for c in cursor.description or ())
            rows = cursor.fetchall()
        except duckdb.Error as exc:
            raise QueryError(f"query {name} failed: {str(exc).splitlines()[0]}", "this is not 'nothing found'") from exc
        return Result(columns, tuple(tuple(_aware(v) for v in row) for row in rows))


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


def bind(query: packs.Query, values: Mapping[str, Any]) -> dict[str, Any]:
    """The complete parameter set of a query, each value converted to the header's type.

    Raises:
        UsageError: a name the query does not have, or a value that is not of its type.
    """
    unknown = values.keys() - query.parameters.keys()
    if unknown:
        has = ", ".join(query.parameters) or "no parameters"
        raise UsageError(f"query {query.name} has no parameter {sorted(unknown)[0]!r}", f"it has: {has}")
    return {
        name: convert(query.name, parameter, values.get(name, parameter.default))
        for name, parameter in query.parameters.items()
    }


def convert(query_name: str, parameter: packs.Parameter, value: Any) -> Any:
    """One value as the type its header names; None stays None (SQL NULL).

    Raises:
        UsageError: the value is not of that type.
    """
    if value is None:
        return None
    try:
        match parameter.type:
            case "BIGINT":
                return int(value)
            case "DOUBLE":
                return float(value)
            case "TIMESTAMP":
                moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
                return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
            case _:
                return str(value)
    except ValueError as exc:
        raise UsageError(
            f"query {query_name}: parameter {parameter.name} expects {parameter.type}, got {value!r}", parameter.help
        ) from exc
