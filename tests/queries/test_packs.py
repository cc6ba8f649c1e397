"""Every query file keeps the same promises, whoever adds it: one test each, over all files and all their cases."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

from forensics import packs, schema
from forensics.dialects import DIALECTS, check_portable, render, tables_read
from forensics.dialects.portable import order_positions
from forensics.dialects.trees import parse
from forensics.packs import bind

HERE = Path(__file__).parent
CANONICAL = {table.name for table in schema.TABLES}
ALIASES = {"INT": "INTEGER"}


def test_the_header_says_what_a_reader_needs(query: packs.Query) -> None:
    assert query.title
    assert query.answers.endswith("?"), "answers is the question the rows answer"
    assert query.columns
    for described in (*query.columns, *query.parameters.values()):
        assert described.help, f"{described.name} has no help"


def test_the_header_names_exactly_the_placeholders(query: packs.Query) -> None:
    assert packs.placeholders(query.sql) == query.parameters.keys()


def test_describe_gives_the_declared_columns_and_types(
    query: packs.Query, empty_case: duckdb.DuckDBPyConnection
) -> None:
    described = empty_case.execute(f"DESCRIBE {query.sql}", bind(query, {})).fetchall()
    declared = [(column.name, ALIASES.get(column.type, column.type)) for column in query.columns]
    assert [(row[0], row[1]) for row in described] == declared


def test_the_unchanged_file_runs_in_a_duckdb_session_whose_variables_are_set(
    query: packs.Query, empty_case: duckdb.DuckDBPyConnection
) -> None:
    for parameter in query.parameters.values():
        value = str(parameter.default) if parameter.type == "BIGINT" else f"'{parameter.default}'"
        empty_case.execute(f"SET VARIABLE {parameter.name} = {value}")
    try:
        answer = empty_case.execute(query.text)
        assert [column[0] for column in answer.description] == [column.name for column in query.columns]
        answer.fetchall()
    finally:
        for name in query.parameters:
            empty_case.execute(f"RESET VARIABLE {name}")


def test_every_default_is_of_the_type_its_header_names(query: packs.Query) -> None:
    kinds = {"BIGINT": int, "DOUBLE": float, "VARCHAR": str, "TIMESTAMP": str}
    for parameter in query.parameters.values():
        assert type(parameter.default) is kinds[parameter.type] or parameter.default is None


def test_needs_are_the_tables_and_views_that_are_read(query: packs.Query) -> None:
    assert tables_read(query) == set(query.needs)
    views = {view.name.rsplit("/", 1)[-1] for view in packs.views()}
    assert set(query.needs) <= CANONICAL | views


def test_a_query_keeps_to_the_portable_subset(query: packs.Query) -> None:
    assert check_portable(query) == ()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_query_is_rendered_for_every_dialect_and_reads_back_there(query: packs.Query, dialect: str) -> None:
    sql = render(query, dialect)
    (statement,) = sqlglot.parse(sql, read=dialect)
    assert isinstance(statement, sqlglot.exp.Select | sqlglot.exp.Union)
    assert [s.alias_or_name.lower() for s in statement.selects] == [column.name for column in query.columns]
    assert not list(statement.find_all(sqlglot.exp.Placeholder, sqlglot.exp.Parameter)), "all parameters are literals"
    ctes = {cte.alias for cte in statement.find_all(sqlglot.exp.CTE)}
    assert {table.name for table in statement.find_all(sqlglot.exp.Table)} - ctes <= CANONICAL


def test_a_parameter_of_one_name_means_the_same_everywhere() -> None:
    seen: dict[str, tuple[str, Any, str]] = {}
    for query in packs.load_all().values():
        for parameter in query.parameters.values():
            meaning = (parameter.type, parameter.default, query.name)
            first = seen.setdefault(parameter.name, meaning)
            assert first[:2] == meaning[:2], f"{parameter.name} differs between {first[2]} and {query.name}"


def test_a_query_has_a_case_that_finds_and_one_that_does_not(query: packs.Query, cases_of: Callable[..., Any]) -> None:
    found = {case.finds for case in cases_of(query.name)}
    assert found == {True, False}, f"tests/queries/{query.name}.toml needs a case that finds and one that does not"


def test_every_case_file_belongs_to_a_query() -> None:
    stray = {str(p.relative_to(HERE).with_suffix("")) for p in HERE.rglob("*.toml")} - packs.load_all().keys()
    assert not stray


def test_a_case_answers_what_was_derived_by_hand(case: Any, ask_duckdb: Callable[..., Any]) -> None:
    if case.query.kind == "view":  # a view has no order of its own
        assert sorted(ask_duckdb(case), key=repr) == sorted(case.expect, key=repr)
    else:
        assert ask_duckdb(case) == case.expect


def test_a_case_answers_the_same_whatever_order_its_rows_were_stored_in(
    case: Any, ask_duckdb: Callable[..., Any], ask_duckdb_backwards: Callable[..., Any]
) -> None:
    answers = [ask_duckdb(case), ask_duckdb_backwards(case)]
    if case.query.kind == "view":
        answers = [sorted(answer, key=repr) for answer in answers]
    assert answers[0] == answers[1]


def test_no_two_rows_of_a_case_tie_in_the_final_order(case: Any, ask_duckdb: Callable[..., Any]) -> None:
    positions = [p for p in order_positions(parse(case.query.name, case.query.sql)) if p]
    keys = [tuple(row[p - 1] for p in positions) for row in ask_duckdb(case)]
    if case.query.kind != "view":
        assert len(set(keys)) == len(keys)


def test_a_case_answers_the_same_in_another_engine(case: Any, ask_sqlite: Callable[..., Any]) -> None:
    rows = ask_sqlite(case)
    if case.query.kind == "view":
        rows, expected = sorted(rows, key=repr), sorted(case.expect, key=repr)
    else:
        expected = case.expect
    assert rows == expected
