"""Decimals for SQLite, which has none: it holds DECIMAL(18,4) as whole ten-thousandths, so written numbers follow."""

from __future__ import annotations

from decimal import Decimal

from sqlglot import exp

from forensics.dialects import trees
from forensics.dialects.portable import operands
from forensics.errors import UsageError

PLACES = 4
_KEEP_SCALE = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.In,
    exp.Between,
    exp.Add,
    exp.Sub,
    exp.Mod,
    exp.Nullif,
)


def scale_decimals(tree: exp.Expr, families: trees.Types, query_name: str) -> None:
    """Written numbers beside decimals, and casts to DECIMAL, become ten-thousandths.

    Raises:
        UsageError: decimals are multiplied, divided, or meet integers that are not written out.
    """
    for node in list(tree.walk()):
        if isinstance(node, exp.Cast) and families.get(id(node)) == "decimal":
            _scale_cast(node, families, query_name)
        elif isinstance(node, (*_KEEP_SCALE, exp.Coalesce, exp.Case)):
            values = operands(node)
            if isinstance(node, exp.Case) and families.get(id(node.this)) == "decimal":
                raise _refusal(query_name, node)
            if any(families.get(id(value)) == "decimal" for value in values):
                for value in values:
                    _scale_operand(value, families, query_name)
        elif isinstance(node, exp.Mul | exp.Div) and any(families.get(id(v)) == "decimal" for v in operands(node)):
            raise _refusal(query_name, node)


def _scale_cast(cast: exp.Cast, families: trees.Types, query_name: str) -> None:
    value = cast.this.unnest()
    if families.get(id(value)) == "decimal":
        cast.replace(cast.this)
    elif isinstance(value, exp.Literal) and not value.is_string:
        cast.replace(_whole(value))
    elif not isinstance(value, exp.Null):
        raise _refusal(query_name, cast)


def _scale_operand(value: exp.Expr, families: trees.Types, query_name: str) -> None:
    bare = value.unnest()
    if isinstance(bare, exp.Neg):
        bare = bare.this.unnest()
    if isinstance(bare, exp.Literal) and not bare.is_string:
        bare.replace(_whole(bare))
    elif families.get(id(value)) not in ("decimal", "null"):
        raise _refusal(query_name, value)


def _whole(literal: exp.Expr) -> exp.Expr:
    return exp.Literal.number(int(Decimal(literal.name).scaleb(PLACES)))


def _refusal(query_name: str, node: exp.Expr) -> UsageError:
    return UsageError(
        f"query {query_name} has no true translation for sqlite: it has no decimals ({node.sql('duckdb')[:60]})",
        "run it in DuckDB, or in an engine with decimals",
    )
