"""A query runs with its full set of parameters, or it fails aloud."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forensics import packs, store
from forensics.errors import QueryError, UsageError
from forensics.packs import bind, convert
from forensics.runner import Result, Runner

ECHO = """\
-- /// query
-- title   = "Echo"
-- answers = "What was bound?"
-- kind    = "measure"
-- needs   = []
-- params.n  = { type = "BIGINT", default = 7, help = "A number." }
-- params.x  = { type = "DOUBLE", default = 0.5, help = "A fraction." }
-- params.s  = { type = "VARCHAR", default = "", help = "A text." }
-- params.at = { type = "TIMESTAMP", default = "2026-03-02T01:00:00Z", help = "A time." }
-- columns.n = { type = "BIGINT", help = "n" }
-- columns.x = { type = "DOUBLE", help = "x" }
-- columns.s = { type = "VARCHAR", help = "s" }
-- columns.t = { type = "TIMESTAMP", help = "t" }
-- ///
SELECT CAST($n AS BIGINT) AS n, CAST($x AS DOUBLE) AS x, CAST($s AS VARCHAR) AS s, CAST($at AS TIMESTAMP) AS t
"""


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    opened = store.open_for_loading(tmp_path / "case.duckdb")
    yield opened
    opened.close()


@pytest.fixture
def runner(connection: duckdb.DuckDBPyConnection) -> Runner:
    return Runner(connection)


def row(runner: Runner, **values: Any) -> tuple[Any, ...]:
    return runner.run_text(ECHO, **values).rows[0]


def test_what_is_not_given_takes_the_header_default(runner: Runner) -> None:
    assert row(runner) == (7, 0.5, "", datetime(2026, 3, 2, 1, tzinfo=UTC))


def test_given_text_is_converted_to_the_header_type(runner: Runner) -> None:
    given = row(runner, n="12", x="1e-3", s="a'b", at="2026-03-02T10:00:00+09:00")
    assert given == (12, 0.001, "a'b", datetime(2026, 3, 2, 1, tzinfo=UTC))


def test_none_is_bound_as_null(runner: Runner) -> None:
    assert row(runner, n=None, x=None, s=None, at=None) == (None, None, None, None)


def test_session_variables_never_fill_a_parameter(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("SET VARIABLE n = 99")
    assert row(Runner(connection))[0] == 7


def test_an_unknown_parameter_is_wrong_use_and_the_hint_lists_the_known(runner: Runner) -> None:
    with pytest.raises(UsageError, match="query duplicates/repeated_orders has no parameter 'min_effect'") as caught:
        runner.run("duplicates/repeated_orders", min_effect=3)
    assert caught.value.hint == "it has: min_effects"


@pytest.mark.parametrize(("name", "value"), [("n", "many"), ("x", "half"), ("at", "yesterday")])
def test_a_value_of_another_type_is_wrong_use(runner: Runner, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"parameter {name} expects [A-Z]+, got '{value}'"):
        row(runner, **{name: value})


def test_binding_gives_every_parameter_of_the_header() -> None:
    query = packs.parse("echo", ECHO)
    assert bind(query, {"n": "3"}).keys() == query.parameters.keys()


def test_a_time_without_a_zone_is_taken_as_utc() -> None:
    parameter = packs.Parameter("at", "TIMESTAMP", None, "")
    seoul = datetime(2026, 3, 2, 10, tzinfo=timezone(timedelta(hours=9)))
    assert convert("q", parameter, "2026-03-02 01:00:00") == convert("q", parameter, seoul) == datetime(2026, 3, 2, 1)  # noqa: DTZ001


def test_a_missing_table_is_an_error_and_not_an_empty_answer(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("DROP TABLE rejects")
    with pytest.raises(QueryError, match="query case/rejects failed") as caught:
        Runner(connection).run("case/rejects")
    assert caught.value.hint == "this is not 'nothing found'"


def test_a_query_that_fails_while_its_rows_are_fetched_is_an_error(connection: duckdb.DuckDBPyConnection) -> None:
    text = ECHO.replace("CAST($n AS BIGINT) AS n", "CAST(CAST($n AS VARCHAR) || path AS BIGINT) AS n") + "FROM sources"
    insert = "INSERT INTO sources (source_id, path, sha256, kind, format, rows_read, rows_loaded, rows_rejected)"
    connection.execute(f"{insert} VALUES (1, 'x', 'a', 'payments', 'csv', 1, 1, 0)")
    with pytest.raises(QueryError, match=r"query .* failed: .*Could not convert"):
        Runner(connection).run_text(text)


def test_a_closed_case_is_an_error(connection: duckdb.DuckDBPyConnection) -> None:
    connection.close()
    with pytest.raises(QueryError):
        Runner(connection).run("case/sources")


def test_money_and_time_come_back_exact(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "INSERT INTO payments (source_id, line_no, order_id, amount, status, kind, created_at) VALUES"
        " (1, 1, 'A', 90071992547409.9301, 'captured', 'charge', '2026-03-02 01:00:00.000001'),"
        " (1, 2, 'A', 0.0002, 'captured', 'charge', '2026-03-02 01:00:00.000002')"
    )
    (record,) = Runner(connection).run("repeated_orders").records()
    assert record["total"] == Decimal("90071992547409.9303")
    assert isinstance(record["total"], Decimal)
    assert record["first_at"] == datetime(2026, 3, 2, 1, 0, 0, 1, tzinfo=UTC)
    assert record["last_at"].tzinfo is UTC


def test_a_result_gives_records_columns_and_its_length() -> None:
    result = Result(("a", "b"), ((1, "x"), (2, "y")))
    assert result.records() == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
    assert result.column("b") == ["x", "y"]
    assert len(result) == 2


def test_counting_a_table(runner: Runner) -> None:
    assert runner.count("payments") == 0
    with pytest.raises(QueryError):
        runner.count("no_such_table")


def test_a_kept_view_answers_the_same_and_is_read_once(connection: duckdb.DuckDBPyConnection) -> None:
    runner = Runner(connection)
    connection.execute(
        "INSERT INTO settlements (source_id, line_no, provider_ref, amount) VALUES (1, 1, 't-1', 5), (1, 2, 't-2', 7)"
    )
    before = runner.run("settlement/unbooked_sums").rows
    for view in ("settlement_pairs", "unbooked"):
        runner.keep(view)
    assert runner.run("settlement/unbooked_sums").rows == before
    assert before


def test_only_views_of_a_case_are_kept(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(QueryError, match="no view of a case is called 'payments'"):
        Runner(connection).keep("payments")
