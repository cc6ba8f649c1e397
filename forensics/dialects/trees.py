"""A query as a tree: parsed, resolved against the canonical tables, typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from forensics import packs, schema
from forensics.errors import QueryError

Select: TypeAlias = exp.Select | exp.Union
Types: TypeAlias = Mapping[int, str]
"""Family of each node's type by `id(node)`: text, integer, decimal, double, time, boolean, null or unknown."""

_FAMILIES = {
    "text": {"TEXT", "VARCHAR", "CHAR"},
    "integer": {"TINYINT", "SMALLINT", "INT", "BIGINT", "INT128"},
    "decimal": {"DECIMAL"},
    "double": {"DOUBLE", "FLOAT"},
    "time": {"TIMESTAMP", "TIMESTAMPNTZ"},
    "boolean": {"BOOLEAN"},
    "json": {"JSON"},
    "null": {"NULL"},
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names}


def parse(name: str, sql: str) -> Select:
    """The one SELECT of a query.

    Raises:
        QueryError: no parse, more than one statement, or a statement of another kind.
    """
    try:
        statements = sqlglot.parse(sql, read="duckdb")
    except SqlglotError as exc:
        raise QueryError(f"{name}.sql: cannot be parsed: {str(exc).splitlines()[0]}") from exc
    if len(statements) != 1:
        raise QueryError(f"{name}.sql: expected exactly one statement, found {len(statements)}")
    if not isinstance(statements[0], exp.Select | exp.Union):
        raise QueryError(f"{name}.sql: expected a SELECT, found {type(statements[0]).__name__.upper()}")
    return statements[0]


def tables_read(query: packs.Query) -> frozenset[str]:
    """The tables and views a query reads; its own common table expressions aside."""
    return frozenset(table.name for table in tables(parse(query.name, query.sql)))


def tables(tree: exp.Expr) -> list[exp.Table]:
    """The table references of a tree that no WITH in sight explains."""
    return [table for table in tree.find_all(exp.Table) if table.name not in _names_in_sight(table)]


def _names_in_sight(node: exp.Expr) -> set[str]:
    """Common table expressions a reference may mean: of a WITH around it, and written before it."""
    names: set[str] = set()
    inner: exp.Expr = node
    while (outer := inner.parent) is not None:
        if isinstance(outer, exp.With):
            names |= {cte.alias for cte in outer.expressions[: inner.index]}
        elif isinstance(outer, exp.Select | exp.Union) and not isinstance(inner, exp.With):
            names |= {cte.alias for cte in outer.ctes}
        inner = outer
    return names


def output_names(tree: Select) -> list[str]:
    """Names of the columns a SELECT returns, in order."""
    return [projection.alias_or_name for projection in tree.selects]


def is_aggregate(tree: exp.Expr) -> bool:
    """Whether a SELECT folds all rows into one: aggregates outside windows, and no GROUP BY."""
    if not isinstance(tree, exp.Select) or tree.args.get("group"):
        return False
    found = [
        node for p in tree.expressions for node in p.find_all(exp.AggFunc) if node.find_ancestor(exp.Select) is tree
    ]
    return any(not isinstance(node.parent, exp.Window) for node in found)


def type_families(tree: Select, query: packs.Query) -> Types:
    """The type family of every node, found by resolving all columns against the canonical tables and views.

    Raises:
        QueryError: a column stands in no table in sight (an alias of the same SELECT is not in sight).
    """
    marked: dict[int, exp.Expr] = {}
    for number, node in enumerate(tree.walk()):
        node.meta["number"] = number
        marked[number] = node
    copy = tree.copy()
    for placeholder in list(copy.find_all(exp.Placeholder)):
        typed = exp.cast(
            exp.Placeholder(this=placeholder.name), query.parameters[placeholder.name].type, dialect="duckdb"
        )
        typed.meta["number"] = placeholder.meta["number"]
        placeholder.replace(typed)
    known = _columns()
    try:
        qualified = qualify(copy, schema=known, dialect="duckdb", expand_alias_refs=False)
        annotated = annotate_types(qualified, schema=known, dialect="duckdb")
    except SqlglotError as exc:
        raise QueryError(f"{query.name}.sql: {str(exc).splitlines()[0]}") from exc
    families = {id(node): "unknown" for node in marked.values()}
    for node in annotated.walk():
        mark = node.meta.get("number")
        if mark is not None and node.type is not None:
            families[id(marked[mark])] = _FAMILY.get(node.type.this.value, "unknown")
    return families


def _columns() -> dict[str, object]:
    known: dict[str, object] = {table.name: {c.name: c.type for c in table.columns} for table in schema.TABLES}
    known |= {view.name.rsplit("/", 1)[-1]: {c.name: c.type for c in view.columns} for view in packs.views()}
    return known
