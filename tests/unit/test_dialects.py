"""Other engines get a true translation or none: what is outside the portable subset is named and refused."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics import packs
from forensics.dialects import DIALECTS, check_portable, render, tables_read
from forensics.errors import QueryError, UsageError


def query(sql: str, kind: str = "measure", **parameters: str) -> packs.Query:
    """A query file around a SELECT; parameters as `name="BIGINT"`, default NULL."""
    header = ['title = "t"', 'answers = "a?"', f'kind = "{kind}"', "needs = []", 'columns.n = { type = "BIGINT" }']
    header += [f'params.{name} = {{ type = "{type_}", help = "help" }}' for name, type_ in parameters.items()]
    lines = "\n".join(f"-- {line}" for line in header)
    return packs.parse("mine/test", f"-- /// query\n{lines}\n-- ///\n{sql}\n")


def rendered(sql: str, dialect: str, values: dict[str, Any] | None = None, **parameters: str) -> str:
    """The rendered SELECT on one line, without its comment."""
    text = render(query(sql, **parameters), dialect, values)
    return " ".join(line.strip() for line in text.splitlines() if not line.startswith("-- "))


ROW = "SELECT {} AS n, source_id, line_no FROM payments ORDER BY source_id, line_no"
WINDOW = "{} OVER (PARTITION BY order_id ORDER BY created_at, source_id, line_no)"


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("SELECT 1 AS n; SELECT 2 AS n", "expected exactly one statement, found 2"),
        ("DELETE FROM payments", "expected a SELECT, found DELETE"),
        ("SELECT FROM WHERE", "cannot be parsed"),
        ("SELECT * FROM rejects ORDER BY source_id, line_no", "SELECT * hides what is read"),
        ("SELECT p.* FROM payments AS p ORDER BY source_id, line_no", "SELECT * hides what is read"),
        ("SELECT kind, count(*) AS n FROM payments GROUP BY ALL ORDER BY kind", "GROUP BY takes written-out"),
        ("SELECT kind, count(*) AS n FROM payments GROUP BY ROLLUP (kind) ORDER BY kind", "ROLLUP"),
        (ROW.format("line_no").replace("ORDER", f"QUALIFY {WINDOW.format('row_number()')} = 1 ORDER"), "QUALIFY"),
        ("SELECT p.line_no, p.source_id FROM payments p ASOF JOIN requests r ON p.created_at >= r.started_at", "ASOF"),
        ("SELECT p.line_no FROM payments p SEMI JOIN requests r ON p.order_id = r.order_id", "SEMI JOIN"),
        ("SELECT p.line_no FROM payments p ANTI JOIN requests r ON p.order_id = r.order_id", "ANTI JOIN"),
        ("SELECT p.line_no FROM payments p POSITIONAL JOIN requests r", "POSITIONAL JOIN"),
        ("SELECT p.line_no FROM payments p FULL JOIN requests r ON p.order_id = r.order_id", "FULL JOIN"),
        ("SELECT p.line_no FROM payments p, requests r", "a join is JOIN ... ON"),
        ("SELECT p.line_no FROM payments p JOIN requests r USING (order_id)", "a join is JOIN ... ON"),
        ("SELECT list(line_no) AS n FROM payments", "outside the portable subset"),
        ("SELECT count(*) FILTER (WHERE line_no > 1) AS n FROM payments", "FILTER"),
        ("SELECT quantile_cont(line_no, 0.9) AS n FROM payments", "outside the portable subset"),
        ("SELECT avg(line_no) AS n FROM payments", "the function avg() is outside"),
        ("SELECT DISTINCT ON (kind) line_no AS n FROM payments", "DISTINCT ON"),
        (ROW.format("epoch_us(created_at)"), "outside the portable subset"),
        (ROW.format("no_such_function(line_no)"), "the function no_such_function() is outside"),
        (ROW.format("created_at + INTERVAL 1 DAY"), "outside the portable subset"),
        (ROW.format("date_diff('second', created_at, created_at)"), "date_diff counts microseconds only"),
        (ROW.format("status LIKE 'c%'"), "LIKE"),
        (ROW.format("TRY_CAST(status AS BIGINT)"), "outside the portable subset"),
        (ROW.format("CAST(status AS TIMESTAMP)"), "only a literal becomes a TIMESTAMP"),
        (ROW.format("CAST(amount AS VARCHAR)"), "only integers become text: how a decimal is written differs"),
        (ROW.format("CAST(line_no / 2 AS VARCHAR)"), "only integers become text: how a double is written differs"),
        (ROW.format("CAST(line_no / 2 AS BIGINT)"), "becomes an integer through floor()"),
        (ROW.format("CAST(line_no / 2 AS DECIMAL(18,4))"), "floating point does not become money"),
        (ROW.format("CAST(0.00001 AS DECIMAL(18,4))"), "does not hold all digits of 0.00001"),
        (ROW.format("amount / 2"), "money is not divided"),
        (ROW.format("amount > line_no / 2"), "money meets floating point"),
        (ROW.format("line_no || status"), "|| joins text only"),
        (ROW.format("status = line_no"), "integer and text are mixed"),
        (ROW.format("coalesce(status, 0)"), "integer and text are mixed"),
        (ROW.format("(line_no / 2) % 2"), "% takes integers or decimals"),
        ("SELECT sum(line_no / 2) AS n FROM payments", "sum() over floating point"),
        (
            "SELECT line_no AS n FROM payments UNION ALL SELECT status FROM payments",
            "the parts of a UNION give n different",
        ),
        (ROW.format("row_number() OVER (PARTITION BY order_id)"), "row_number() needs an ORDER BY"),
        (ROW.format("lag(amount) OVER (PARTITION BY order_id ORDER BY created_at)"), "needs a total ORDER BY"),
        (ROW.format("sum(line_no) OVER (ORDER BY created_at)"), "the window of sum() needs a total ORDER BY"),
        (ROW.format(WINDOW.format("lag(line_no, 1, 0)")), "write a default as coalesce()"),
        (
            ROW.format("sum(line_no) OVER (ORDER BY source_id, line_no RANGE UNBOUNDED PRECEDING)"),
            "frame is ROWS",
        ),
        ("SELECT line_no AS n FROM payments WHERE n > 1 ORDER BY n", "Column 'n' could not be resolved"),
        (
            "SELECT count(*) AS n, kind FROM payments GROUP BY kind HAVING n > 1 ORDER BY kind",
            "HAVING names the alias n",
        ),
        ("SELECT kind AS k, count(*) AS n FROM payments GROUP BY k ORDER BY k", "Column 'k' could not be resolved"),
        ("SELECT line_no AS at, source_id FROM payments ORDER BY at, source_id", "at is a reserved word"),
        ('SELECT line_no AS "Row No" FROM payments', "the name 'Row No' is not of lower-case letters"),
        ("SELECT line_no AS n FROM payments", "no final ORDER BY"),
        ("SELECT line_no, source_id FROM payments ORDER BY source_id, amount", "names columns that the query returns"),
        ("SELECT line_no, source_id FROM payments ORDER BY line_no", "does not end in a unique key"),
        ("SELECT kind, status, count(*) AS n FROM payments GROUP BY kind, status ORDER BY kind", "end in a unique key"),
        ("SELECT count(*) AS n FROM payments GROUP BY kind ORDER BY n", "does not end in a unique key"),
    ],
)
def test_what_is_outside_the_portable_subset_is_named(sql: str, complaint: str) -> None:
    assert complaint in " | ".join(check_portable(query(sql)))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) AS n FROM payments",
        ROW.format(WINDOW.format("lag(amount)")),
        ROW.format("rank() OVER (ORDER BY amount DESC)"),
        ROW.format("sum(line_no) OVER (ORDER BY source_id, line_no ROWS UNBOUNDED PRECEDING)"),
        ROW.format("CASE WHEN amount > 0 THEN amount ELSE 0 END"),
        ROW.format("CAST(floor(line_no / 2) AS BIGINT)"),
        ROW.format("status || ' ' || CAST(line_no AS VARCHAR)"),
        (
            "WITH d AS (SELECT kind, count(*) AS n FROM payments GROUP BY kind)"
            " SELECT kind, n, row_number() OVER (ORDER BY n, kind) AS place FROM d ORDER BY kind"
        ),
        "SELECT source_id, path FROM sources ORDER BY source_id",
        (
            "SELECT source_id, line_no FROM payments UNION ALL SELECT source_id, line_no FROM requests"
            " ORDER BY source_id, line_no"
        ),
    ],
)
def test_what_is_inside_the_portable_subset_passes(sql: str) -> None:
    assert check_portable(query(sql)) == ()


def test_a_view_has_no_order_of_its_own() -> None:
    assert check_portable(query("SELECT line_no AS n FROM payments", kind="view")) == ()
    assert (
        "a view has no ORDER BY"
        in check_portable(query("SELECT line_no AS n FROM payments ORDER BY n", kind="view"))[0]
    )


def test_tables_read_leaves_common_table_expressions_aside() -> None:
    chain = "WITH a AS (SELECT line_no AS n FROM effects), b AS (SELECT n FROM a) SELECT n FROM b"
    sql = f"{chain} WHERE n IN (SELECT line_no FROM requests)"
    assert tables_read(query(sql)) == {"effects", "requests"}
    shadowing = "WITH payments AS (SELECT line_no AS n FROM payments) SELECT n FROM payments"
    assert tables_read(query(shadowing)) == {"payments"}, "the inner one is the table"


def test_a_text_that_is_no_sql_reads_no_tables() -> None:
    with pytest.raises(QueryError, match=r"mine/test\.sql: cannot be parsed"):
        tables_read(query("SELECT FROM WHERE"))


def test_an_unknown_dialect_is_wrong_use_and_lists_the_known() -> None:
    with pytest.raises(UsageError, match="no dialect is called 'oracle'") as caught:
        render(packs.get("gaps"), "oracle")
    assert caught.value.hint == "known: spark, trino, bigquery, snowflake, duckdb, sqlite"


def test_a_query_outside_the_subset_is_refused_with_the_reason() -> None:
    with pytest.raises(UsageError, match="mine/test has no true translation for trino: money is not divided"):
        render(query(ROW.format("amount / 2")), "trino")


ELAPSED = ROW.format("date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', created_at)")


@pytest.mark.parametrize(
    ("dialect", "expression"),
    [
        ("spark", "UNIX_MICROS(created_at) - UNIX_MICROS(CAST('1970-01-01 00:00:00.000000+00:00' AS TIMESTAMP))"),
        ("trino", "CAST(ROUND(TO_UNIXTIME(created_at) * 1000000) AS BIGINT) - CAST(ROUND("),
        ("bigquery", "TIMESTAMP_DIFF(created_at, CAST('1970-01-01 00:00:00.000000+00:00' AS TIMESTAMP), MICROSECOND)"),
        ("snowflake", "DATEDIFF(MICROSECOND, CAST('1970-01-01 00:00:00.000000' AS TIMESTAMPNTZ), created_at)"),
        (
            "sqlite",
            "CAST(STRFTIME('%s', SUBSTR(created_at, 1, 19)) AS INTEGER) * 1000000 + CAST(SUBSTR(created_at, 21, 6)",
        ),
    ],
)
def test_elapsed_microseconds_are_said_in_each_engine_own_way(dialect: str, expression: str) -> None:
    assert expression in rendered(ELAPSED, dialect)


def test_trino_gets_times_of_six_digits() -> None:
    assert "CAST('1970-01-01 00:00:00.000000' AS TIMESTAMP(6))" in rendered(ELAPSED, "trino")


@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d != "duckdb"])
def test_division_is_of_floating_point_everywhere(dialect: str) -> None:
    as_double = {"bigquery": "CAST(line_no AS FLOAT64) / 2", "sqlite": "CAST(line_no AS REAL) / 2"}
    assert as_double.get(dialect, "CAST(line_no AS DOUBLE) / 2") in rendered(ROW.format("line_no / 2"), dialect)


@pytest.mark.parametrize(
    ("dialect", "order"),
    [
        ("spark", "1 DESC, 2 NULLS LAST"),
        ("trino", "1 DESC, 2"),
        ("bigquery", "1 DESC, 2 NULLS LAST"),
        ("snowflake", "1 DESC NULLS LAST, 2"),
        ("sqlite", "1 DESC, 2 NULLS LAST"),
    ],
)
def test_null_comes_last_in_every_engine(dialect: str, order: str) -> None:
    grouped = "SELECT status, hop, count(*) AS n FROM requests GROUP BY status, hop ORDER BY status DESC, hop"
    assert rendered(grouped, dialect).endswith(f"ORDER BY {order}")


def test_an_alias_that_hides_a_column_is_grouped_by_number_in_bigquery() -> None:
    sql = "SELECT coalesce(hop, '') AS hop, count(*) AS n FROM requests GROUP BY coalesce(hop, '') ORDER BY hop"
    assert rendered(sql, "bigquery").endswith("GROUP BY 1 ORDER BY 1 NULLS LAST")
    assert rendered(sql, "spark").endswith("GROUP BY COALESCE(hop, '') ORDER BY 1 NULLS LAST")


def test_bigquery_gets_no_nulls_last_beside_a_frame() -> None:
    sql = ROW.format("sum(line_no) OVER (ORDER BY source_id, line_no ROWS UNBOUNDED PRECEDING)")
    window = rendered(sql, "bigquery").partition("OVER")[2].partition("ROWS")[0]
    assert "NULLS" not in window
    assert "CASE WHEN source_id IS NULL THEN 1 ELSE 0 END" in window


def test_quoted_names_are_upper_case_in_snowflake_like_all_others() -> None:
    assert 'AS "ROWS"' in render(packs.get("duplicates/ledger"), "snowflake")


def test_views_are_written_in_so_that_only_tables_must_exist() -> None:
    text = render(packs.get("duplicates/repeated_orders"), "trino")
    assert "effects AS (" in text
    assert "acts AS (" in text
    assert "-- reads: payments\n" in text


def test_the_comment_says_what_was_bound_and_what_the_engine_must_hold() -> None:
    lines = render(packs.get("duplicates/repeated_orders"), "spark", {"min_effects": 3}).splitlines()
    assert lines[0] == "-- duplicates/repeated_orders for spark: Orders paid more than once"
    assert lines[1] == "-- parameters: min_effects = 3"
    assert lines[3].startswith("-- expects: TIMESTAMP columns, SET spark.sql.session.timeZone = UTC")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_parameters_are_literals_of_their_type(dialect: str) -> None:
    sql = ROW.format("CASE WHEN status = $s AND line_no > $n AND line_no / 2 < $x AND created_at < $t THEN 1 END")
    values = {"s": "it's", "n": "-5", "x": 1e-7, "t": datetime(2026, 3, 2, 1, tzinfo=UTC)}
    text = rendered(sql, dialect, values, s="VARCHAR", n="BIGINT", x="DOUBLE", t="TIMESTAMP")
    assert ("'it''s'" if dialect not in ("spark", "bigquery", "snowflake") else r"'it\'s'") in text
    assert "line_no > ( -5 )" in text
    assert "CAST(1e-07 AS " in text
    assert "'2026-03-02 01:00:00.000000" in text
    assert "$" not in text


def test_a_parameter_without_value_and_default_is_a_typed_null() -> None:
    assert "status = CAST(NULL AS VARCHAR)" in rendered(ROW.format("status = $s"), "trino", s="VARCHAR")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("BIGINT", "many"),
        ("DOUBLE", "nan"),
        ("DOUBLE", "inf"),
        ("TIMESTAMP", "soon"),
        ("VARCHAR", "a\nb"),
        ("VARCHAR", "${x}"),
    ],
)
def test_a_value_that_no_literal_can_hold_safely_is_refused(kind: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"parameter v expects {kind}"):
        render(query("SELECT count(CASE WHEN $v IS NULL THEN 1 END) AS n FROM payments", v=kind), "spark", {"v": value})


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(UsageError, match="has no parameter 'least'"):
        render(packs.get("duplicates/repeated_orders"), "spark", {"least": 2})


def test_a_parameter_that_divides_is_never_zero() -> None:
    with pytest.raises(UsageError, match="parameter bin_us divides and cannot be 0"):
        render(packs.get("traffic/requests_by_bin"), "spark", {"bin_us": 0})


@given(st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=20))
def test_any_printable_text_comes_back_from_two_engines_as_it_went_in(value: str) -> None:
    if "${" in value:
        return
    asked = query("SELECT min($v) AS n FROM payments", v="VARCHAR")
    bare = {
        d: render(asked, d, {"v": value}).partition("\nSELECT")[2].partition("FROM payments")[0]
        for d in ("sqlite", "duckdb")
    }
    with duckdb.connect() as engine:
        assert engine.execute(f"SELECT {bare['duckdb']}").fetchall() == [(value,)]
    other = sqlite3.connect(":memory:")
    assert other.execute(f"SELECT {bare['sqlite']}").fetchall() == [(value,)]
    other.close()


@given(st.integers(min_value=0, max_value=2**32 * 10**6))
def test_seconds_as_a_double_hold_every_microsecond_until_2106(micros: int) -> None:
    """What render says for Trino: its to_unixtime divides by a million in floating point, round() brings it back."""
    assert round((micros / 1_000_000) * 1_000_000) == micros


@given(
    st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001
    st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1)),  # noqa: DTZ001
)
def test_sqlite_counts_the_same_microseconds_as_duckdb(start: datetime, end: datetime) -> None:
    difference = "SELECT max(date_diff('microsecond', $a, $b)) AS n FROM payments"
    asked = query(difference, a="TIMESTAMP", b="TIMESTAMP")
    text = render(asked, "sqlite", {"a": start, "b": end}).partition("\nSELECT")[2].partition("FROM payments")[0]
    other = sqlite3.connect(":memory:")
    (counted,) = other.execute(f"SELECT {text}").fetchall()
    other.close()
    assert counted == ((end - start) // (datetime.resolution),)


@pytest.mark.parametrize(
    ("expression", "written"),
    [
        ("amount > 12.5", "amount > 125000"),
        ("amount % 10 = 5", "amount % 100000 = 50000"),
        ("CASE WHEN amount >= -1 THEN amount ELSE 0.01 END", "CASE WHEN amount >= -10000 THEN amount ELSE 100 END"),
        ("CAST(0.05 AS DECIMAL(18,4))", "500 AS n"),
        ("line_no > 12", "line_no > 12"),
    ],
)
def test_written_numbers_beside_money_become_ten_thousandths_in_sqlite(expression: str, written: str) -> None:
    assert written in rendered(ROW.format(expression), "sqlite")


@pytest.mark.parametrize("expression", ["amount * 2", "amount + line_no", "CASE amount WHEN 1 THEN 2 END"])
def test_what_sqlite_cannot_say_of_money_is_refused(expression: str) -> None:
    with pytest.raises(UsageError, match="no true translation for sqlite: it has no decimals"):
        render(query(ROW.format(expression)), "sqlite")
