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

from forensics import packs, schema
from forensics.errors import QueryError

_SHORT = 1000
"""Rows of an answer that is kept."""

# A name is looked up in the session before the case, so this one stands before the view of the case.
_ACTS_BY_KEYED_ROWS = """
CREATE OR REPLACE TEMP VIEW acts AS
SELECT k.business_key, p.*
FROM main.payments AS p
JOIN keyed_rows AS k ON k.source_id = p.source_id AND k.line_no = p.line_no
"""


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
        self._answers: dict[tuple[str, tuple[tuple[str, Any], ...]], Result] = {}

    def run(self, name: str, /, **values: Any) -> Result:
        """Run the query of that name; what is not given takes the header's default.

        A case does not change while it is read, and many questions rest on the same counts: a short answer is kept.

        Raises:
            UsageError: no such query, or a parameter it does not have.
            QueryError: the engine refused it.
        """
        query = packs.get(name)
        bound = packs.bind(query, values)
        asked = query.name, tuple(sorted(bound.items()))
        if asked not in self._answers:
            answer = self._execute(query.name, query.sql, bound)
            if len(answer) > _SHORT:
                return answer
            self._answers[asked] = answer
        return self._answers[asked]

    def run_text(self, text: str, /, **values: Any) -> Result:
        """Run the text of a query file that is not in the packs, same header, same rules."""
        query = packs.parse("(given)", text)
        return self._execute(query.name, query.sql, packs.bind(query, values))

    def keep(self, view: str) -> None:
        """Hold the rows of a view of the case for this session, so that the queries that read it share the work.

        Raises:
            QueryError: there is no such view, or the engine refused it.
        """
        if view not in (known.name.rsplit("/", 1)[-1] for known in packs.views()):
            raise QueryError(f"no view of a case is called {view!r}")
        self._answers.clear()
        sql = f"CREATE OR REPLACE TEMP TABLE {view} AS SELECT * FROM main.{view}"
        self._execute(view, sql, {})

    def rekey(self, **values: Any) -> None:
        """Name business acts by other columns for this session: what `keys/rows_by_columns` answers to these values.

        The view `acts`, and with it every view and query that reads it, then groups by them; the case is not changed.

        Raises:
            UsageError: a parameter that the query does not have.
            QueryError: the engine refused it.
        """
        query = packs.get("keys/rows_by_columns")
        self._answers.clear()
        create = f"CREATE OR REPLACE TEMP TABLE keyed_rows AS {query.sql}"
        self._execute(query.name, create, packs.bind(query, values))
        self._execute("views/acts", _ACTS_BY_KEYED_ROWS, {})

    def count(self, table: str) -> int:
        """Rows of a canonical table.

        Raises:
            QueryError: there is no such table.
        """
        if table not in (known.name for known in schema.TABLES):
            raise QueryError(f"no table of a case is called {table!r}")
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
