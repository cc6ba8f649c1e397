"""A query said in another engine's SQL, parameters bound as literals in the tree, views written in as WITH.

sqlglot's own translation is not trusted with time, division, text of decimals, ties of NULL or names that an
alias hides: those nodes are replaced here, per engine, before sqlglot writes the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlglot import ErrorLevel, exp
from sqlglot.errors import SqlglotError

from forensics import packs
from forensics.dialects import scaled, trees
from forensics.dialects.portable import check_portable, order_positions
from forensics.errors import UsageError

Node = exp.Expr
_SQLITE_TIME = "%Y-%m-%d %H:%M:%S.%f"


@dataclass(frozen=True, slots=True)
class Engine:
    """What an engine needs said differently, and what it must find in its tables."""

    expects: str
    """For the reader of the SQL: types of the tables and settings of the session."""
    moment: Callable[[datetime], Node]
    """A TIMESTAMP literal (UTC)."""
    elapsed: Callable[[Node, Node], Node]
    """Microseconds from one time to another."""


def render(
    query: packs.Query, dialect: str, values: Mapping[str, Any] | None = None, *, views_exist: bool = False
) -> str:
    """The query in another engine's SQL, ready to run: a comment that says what it expects, then one SELECT.

    Parameters not given take their defaults. Views are written in, so only canonical tables need exist there; with
    `views_exist` they are read by name, which spares the work where many queries rest on one (settlement_pairs).

    Raises:
        UsageError: no such dialect, a value the parameter does not take, or no true translation.
    """
    engine = _ENGINES.get(dialect)
    if engine is None:
        raise UsageError(f"no dialect is called {dialect!r}", f"known: {', '.join(DIALECTS)}")
    complaints = check_portable(query)
    if complaints:
        raise UsageError(f"query {query.name} has no true translation for {dialect}: {complaints[0]}", _SUBSET_HINT)
    bound = _bound_values(query, values or {})
    tree = trees.parse(query.name, query.sql)
    if not views_exist:
        _write_views_in(tree)
    _bind(tree, query, bound)
    tree = _translate(tree, query, dialect, engine)
    try:
        sql = tree.sql(dialect=dialect, pretty=True, unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as exc:
        raise UsageError(f"query {query.name} has no true translation for {dialect}: {exc}", _SUBSET_HINT) from exc
    return f"{_header(query, dialect, engine, tree, bound)}\n{sql}\n"


_SUBSET_HINT = "queries/README.md says what the portable subset is"


def _header(query: packs.Query, dialect: str, engine: Engine, tree: Node, bound: Mapping[str, Any]) -> str:
    written = ", ".join(f"{name} = {json.dumps(value, default=str)}" for name, value in bound.items()) or "none"
    lines = [
        f"{query.name} for {dialect}: {query.title}",
        f"parameters: {written}",
        f"reads: {', '.join(sorted({t.name for t in trees.tables(tree)}))}",
        f"expects: {engine.expects}",
    ]
    return "\n".join(f"-- {line}" for line in lines)


def _bound_values(query: packs.Query, values: Mapping[str, Any]) -> dict[str, Any]:
    """The full parameter set, without text that an engine would read as more than a literal."""
    bound = packs.bind(query, values)
    for name, value in bound.items():
        # Spark replaces ${...} even in quotes.
        if isinstance(value, str) and not (value.isprintable() and "${" not in value):
            expected = f"{query.parameters[name].type} without line ends or ${{"
            raise UsageError(f"query {query.name}: parameter {name} expects {expected}, got {value!r}")
    return bound


def _write_views_in(tree: trees.Select) -> None:
    """Views the tree reads become its first common table expressions, so the engine needs the tables only."""
    wanted = {table.name for table in trees.tables(tree)}
    bodies = []
    for view in reversed(packs.views()):  # a view comes after those that it reads
        name = view.name.rsplit("/", 1)[-1]
        if name in wanted:
            wanted |= set(view.needs)
            bodies.append(exp.CTE(this=trees.parse(name, view.sql), alias=exp.TableAlias(this=exp.to_identifier(name))))
    if bodies:
        if not tree.args.get("with_"):
            tree.set("with_", exp.With(expressions=[]))
        tree.args["with_"].set("expressions", [*reversed(bodies), *tree.args["with_"].expressions])


def _bind(tree: Node, query: packs.Query, bound: Mapping[str, Any]) -> None:
    for placeholder in list(tree.find_all(exp.Placeholder)):
        parameter = query.parameters[placeholder.name]
        literal = _literal(bound[parameter.name], parameter.type)
        in_arithmetic = isinstance(placeholder.parent, exp.Add | exp.Sub | exp.Mul | exp.Div | exp.Mod)
        if parameter.type == "BIGINT" and in_arithmetic:  # a short literal is INTEGER in some engines and overflows
            literal = exp.cast(literal, "BIGINT", dialect="duckdb")
        if (
            isinstance(placeholder.parent, exp.Div | exp.Mod)
            and placeholder.arg_key == "expression"
            and bound[parameter.name] == 0
        ):
            raise UsageError(f"query {query.name}: parameter {parameter.name} divides and cannot be 0", parameter.help)
        placeholder.replace(literal)


def _literal(value: Any, kind: str) -> Node:
    if value is None:
        return exp.cast(exp.null(), kind, dialect="duckdb")
    if kind == "TIMESTAMP":
        return exp.cast(exp.Literal.string(value.strftime(_SQLITE_TIME)), "TIMESTAMP", dialect="duckdb")
    if kind == "VARCHAR":
        return exp.Literal.string(value)
    written = exp.Literal.number(repr(abs(value)))
    signed: Node = exp.Paren(this=exp.Neg(this=written)) if value < 0 else written
    return exp.cast(signed, "DOUBLE", dialect="duckdb") if kind == "DOUBLE" else signed


def _translate(tree: trees.Select, query: packs.Query, dialect: str, engine: Engine) -> trees.Select:
    families = trees.type_families(tree, query)
    if dialect == "sqlite":
        scaled.scale_decimals(tree, families, query.name)
    if dialect != "duckdb":
        for division in list(tree.find_all(exp.Div)):
            division.set("this", exp.cast(division.this, "DOUBLE", copy=False, dialect="duckdb"))
        _number_columns(tree, group=dialect == "bigquery")
    for difference in reversed(list(tree.find_all(exp.DateDiff))):  # the innermost first
        difference.replace(engine.elapsed(difference.expression.copy(), difference.this.copy()))
    for cast in list(tree.find_all(exp.Cast)):
        if cast.to.this.value in ("TIMESTAMP", "TIMESTAMPNTZ") and isinstance(cast.this, exp.Literal):
            cast.replace(engine.moment(datetime.fromisoformat(cast.this.name)))
    if dialect == "bigquery":
        _spell_out_null_order(tree)
    if dialect == "snowflake":
        for name in tree.find_all(exp.Identifier):
            if name.args.get("quoted"):  # there a name in quotes keeps its case, and all others are upper case
                name.set("this", name.this.upper())
    return tree


def _number_columns(tree: trees.Select, *, group: bool) -> None:
    """ORDER BY (and GROUP BY of expressions) by column number: an alias that hides a column is read differently."""
    positions = order_positions(tree)
    for term, position in zip(tree.args["order"].expressions if positions else (), positions, strict=True):
        if position:
            term.set("this", exp.Literal.number(position))
    for select in tree.find_all(exp.Select) if group else ():
        returned = {p.unalias(): number for number, p in enumerate(select.expressions, 1)}
        grouping = select.args.get("group")
        if grouping:
            terms = [exp.Literal.number(returned[g]) if g in returned else g for g in grouping.expressions]
            grouping.set("expressions", terms)


def _spell_out_null_order(tree: Node) -> None:
    """BigQuery takes no NULLS LAST beside a frame: a first key that says whether the value is NULL does the same."""
    for window in tree.find_all(exp.Window):
        order = window.args.get("order")
        if order is None or not window.args.get("spec"):
            continue
        terms: list[Node] = []
        for term in order.expressions:
            missing = exp.Case().when(exp.Is(this=term.this.copy(), expression=exp.null()), exp.Literal.number(1))
            descending = bool(term.args.get("desc"))
            terms.append(exp.Ordered(this=missing.else_(exp.Literal.number(0)), nulls_first=True))
            terms.append(exp.Ordered(this=term.this.copy(), desc=descending, nulls_first=not descending))
        order.set("expressions", terms)


def _call(name: str, *arguments: Node) -> Node:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _minus(end: Node, start: Node) -> Node:
    return exp.Paren(this=exp.Sub(this=end, expression=start))


def _zoned(moment: datetime) -> Node:
    return exp.cast(exp.Literal.string(moment.strftime(_SQLITE_TIME) + "+00:00"), exp.DataType.build("TIMESTAMPTZ"))


def _plain(moment: datetime) -> Node:
    return exp.cast(
        exp.Literal.string(moment.strftime(_SQLITE_TIME)), exp.DataType.build("TIMESTAMP", dialect="duckdb")
    )


def _micros_trino(time: Node) -> Node:
    """Exact to the microsecond until 2106: a double holds so many seconds to better than half a microsecond."""
    scaled_up = exp.Mul(this=_call("TO_UNIXTIME", time), expression=exp.Literal.number(1000000))
    return exp.cast(_call("ROUND", scaled_up), exp.DataType.build("BIGINT"))


def _micros_sqlite(time: Node) -> Node:
    """From text of 26 characters; the fraction is cut off first, because strftime rounds it into the next second."""
    seconds = _call("STRFTIME", exp.Literal.string("%s"), _call("SUBSTR", time, *map(exp.Literal.number, (1, 19))))
    fraction = _call("SUBSTR", time.copy(), *map(exp.Literal.number, (21, 6)))
    whole = exp.Mul(this=exp.cast(seconds, "BIGINT"), expression=exp.Literal.number(1000000))
    return exp.Paren(this=exp.Add(this=whole, expression=exp.cast(fraction, "BIGINT")))


_ENGINES = {
    "spark": Engine(
        "TIMESTAMP columns, SET spark.sql.session.timeZone = UTC, SET spark.sql.ansi.enabled = true",
        _zoned,
        lambda start, end: _minus(_call("UNIX_MICROS", end), _call("UNIX_MICROS", start)),
    ),
    "trino": Engine(
        "times in UTC as TIMESTAMP(6)",
        lambda moment: exp.cast(exp.Literal.string(moment.strftime(_SQLITE_TIME)), exp.DataType.build("TIMESTAMP(6)")),
        lambda start, end: _minus(_micros_trino(end), _micros_trino(start)),
    ),
    "bigquery": Engine(
        "times as TIMESTAMP, money as NUMERIC",
        _zoned,
        lambda start, end: _call("TIMESTAMP_DIFF", end, start, exp.var("MICROSECOND")),
    ),
    "snowflake": Engine(
        "times in UTC as TIMESTAMP_NTZ",
        _plain,
        lambda start, end: _call("DATEDIFF", exp.var("MICROSECOND"), start, end),
    ),
    "duckdb": Engine(
        "a case, or its tables",
        _plain,
        lambda start, end: exp.DateDiff(this=end, expression=start, unit=exp.var("MICROSECOND")),
    ),
    "sqlite": Engine(
        "times as text 'YYYY-MM-DD HH:MM:SS.ffffff' in UTC, DECIMAL(18,4) as INTEGER of ten-thousandths",
        lambda moment: exp.Literal.string(moment.strftime(_SQLITE_TIME)),
        lambda start, end: _minus(_micros_sqlite(end), _micros_sqlite(start)),
    ),
}
DIALECTS = tuple(_ENGINES)
