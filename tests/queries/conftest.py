"""Cases of the query packs: small given tables and the rows a query must answer, one TOML file per query file.

A case file stands at tests/queries/<pack>/<name>.toml:

    [defaults.payments]        # columns every given row of that table has unless it says otherwise
    currency = "KRW"

    [[case]]
    name = "two captures of one order"
    params = { min_effects = 2 }
    given.payments = [ { order_id = "A", ... } ]
    expect = [ { order_id = "A", ... } ]

Times are ISO 8601 in UTC, money is decimal text, a column left out (or "NULL") is NULL. A row stands in file 1 at
the line of its place in the list, unless it says otherwise. Expected rows are derived by hand, in order.
"""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics import packs, schema, store
from forensics.dialects import render
from forensics.packs import bind
from forensics.runner import Runner

HERE = Path(__file__).parent
SQLITE_TYPES = {**dict.fromkeys(("BIGINT", "INTEGER", "BOOLEAN", schema.MONEY), "INTEGER"), "DOUBLE": "REAL"}
Row = tuple[Any, ...]
Ask = Callable[["Case"], list[Row]]


@dataclass(frozen=True, slots=True)
class Case:
    """One case: given tables, parameters, expected rows."""

    query: packs.Query
    name: str
    params: Mapping[str, Any]
    given: Mapping[str, tuple[Row, ...]]
    expect: list[Row]

    @property
    def finds(self) -> bool:
        """Whether something is to be found: a row that is not all zeros and NULLs."""
        return any(cell not in (0, None) for row in self.expect for cell in row)


def case_file(query: packs.Query) -> Path:
    """Where the cases of a query stand."""
    return HERE / f"{query.name}.toml"


@cache
def cases(query_name: str) -> tuple[Case, ...]:
    """The cases of a query; none when it has no file."""
    query = packs.get(query_name)
    path = case_file(query)
    if not path.exists():
        return ()
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = content.get("defaults", {})
    return tuple(_case(query, entry, defaults) for entry in content["case"])


def _case(query: packs.Query, entry: Mapping[str, Any], defaults: Mapping[str, Any]) -> Case:
    given = {}
    for table, rows in entry.get("given", {}).items():
        types = {column.name: column.type for column in schema.table(table).columns}
        place = {"source_id": 1} if "source_id" in types else {}
        filled = ({**place, "line_no": n, **defaults.get(table, {}), **row} for n, row in enumerate(rows, 1))
        given[table] = tuple(_row(types, row if "line_no" in types else _without(row, "line_no")) for row in filled)
    types = {column.name: column.type for column in query.columns}
    expect = [tuple(_aware(cell) for cell in _row(types, row)) for row in entry["expect"]]
    return Case(query, entry["name"], entry.get("params", {}), given, expect)


def _without(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


def _row(types: Mapping[str, str], row: Mapping[str, Any]) -> Row:
    unknown = row.keys() - types.keys()
    assert not unknown, f"no such column: {', '.join(sorted(unknown))}"
    return tuple(_typed(types[name], row.get(name)) for name in types)


def _typed(kind: str, value: Any) -> Any:
    if value is None or value == "NULL":
        return None
    if kind.startswith("DECIMAL"):
        assert isinstance(value, str), f"money is written as text, not {value!r}"
        return Decimal(value)
    if kind == "TIMESTAMP":
        moment = datetime.fromisoformat(value)
        assert moment.tzinfo is not None, f"a time names its zone: {value!r}"
        return moment.astimezone(UTC).replace(tzinfo=None)
    return value


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `query` for every query file, and one that takes `case` for every case."""
    queries = packs.load_all().values()
    if "case" in metafunc.fixturenames:
        every = [case for query in queries for case in cases(query.name)]
        metafunc.parametrize("case", every, ids=[f"{c.query.name}: {c.name}" for c in every])
    elif "query" in metafunc.fixturenames:
        metafunc.parametrize("query", queries, ids=[q.name for q in queries])


@pytest.fixture(scope="session")
def empty_case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A case without evidence; what a test writes it must roll back."""
    connection = store.open_for_loading(tmp_path_factory.mktemp("case") / "case.duckdb")
    yield connection
    connection.close()


@pytest.fixture
def ask_duckdb(empty_case: duckdb.DuckDBPyConnection) -> Ask:
    """Answer a case as the tool does."""
    return lambda case: _in_duckdb(empty_case, case, backwards=False)


@pytest.fixture
def ask_duckdb_backwards(empty_case: duckdb.DuckDBPyConnection) -> Ask:
    """Answer a case whose rows were stored in the opposite order."""
    return lambda case: _in_duckdb(empty_case, case, backwards=True)


@pytest.fixture
def ask_sqlite() -> Ask:
    """Answer a case in SQLite, from what `render` says; a second engine that shares no code with the first.

    No function is registered there: times are text of 26 characters, money is whole ten-thousandths, as `render` says.
    """
    return _in_sqlite


@pytest.fixture
def cases_of() -> Callable[[str], tuple[Case, ...]]:
    """The cases of a query, by its name."""
    return cases


def _in_duckdb(connection: duckdb.DuckDBPyConnection, case: Case, *, backwards: bool) -> list[Row]:
    connection.execute("BEGIN TRANSACTION")
    try:
        for table, rows in case.given.items():
            marks = ", ".join("?" for _ in schema.table(table).columns)
            for row in reversed(rows) if backwards else rows:
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
        return list(Runner(connection).run(case.query.name, **case.params).rows)
    finally:
        connection.execute("ROLLBACK")


def _in_sqlite(case: Case) -> list[Row]:
    connection = sqlite3.connect(":memory:")
    try:
        for table in schema.TABLES:
            columns = ", ".join(f"{c.name} {SQLITE_TYPES.get(c.type, 'TEXT')}" for c in table.columns)
            connection.execute(f"CREATE TABLE {table.name} ({columns})")
        for name, rows in case.given.items():
            marks = ", ".join("?" for _ in schema.table(name).columns)
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", [[_to_sqlite(v) for v in r] for r in rows])
        apart = _views_apart(case.query)
        for view in apart:
            connection.execute(
                f"CREATE TABLE {view.name.rsplit('/', 1)[-1]} AS {render(view, 'sqlite', views_exist=True)}"
            )
        sql = render(case.query, "sqlite", bind(case.query, case.params), views_exist=bool(apart))
        kinds = [column.type for column in case.query.columns]
        return [tuple(map(_from_sqlite, kinds, row)) for row in connection.execute(sql)]
    finally:
        connection.close()


def _views_apart(query: packs.Query) -> list[packs.Query]:
    """The views to make tables of: those of a query that reads views of views, which SQLite would copy and copy."""
    views = {view.name.rsplit("/", 1)[-1]: view for view in packs.views()}
    wanted = set(query.needs) & views.keys()
    if not any(set(views[name].needs) & views.keys() for name in wanted):
        return []
    for name in reversed(views):
        wanted |= set(views[name].needs) & views.keys() if name in wanted else set()
    return [view for name, view in views.items() if name in wanted]


def _to_sqlite(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value.scaleb(4))
    return value.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime) else value


def _from_sqlite(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind.startswith("DECIMAL"):
        return Decimal(value).scaleb(-4)
    if kind == "TIMESTAMP":
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return bool(value) if kind == "BOOLEAN" else value
