"""The portable subset: what a query file may say so that every engine understands the same by it.

A closed list, not a list of bans: a construct that nobody has thought about is outside the subset. The reasons
for each rule stand in queries/README.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp

from forensics import packs
from forensics.dialects import trees
from forensics.errors import QueryError

AGGREGATES = (exp.Count, exp.Sum, exp.Min, exp.Max)
SCALARS = (exp.Coalesce, exp.Nullif, exp.Abs, exp.Floor, exp.DateDiff)
RANKS = (exp.Rank, exp.DenseRank)
ORDERED = (exp.RowNumber, exp.Lag, exp.Lead)
"""Window functions whose answer depends on how ties are broken."""

_CLAUSES = (
    *(exp.Select, exp.Union, exp.With, exp.CTE, exp.From, exp.Join, exp.Where, exp.Group, exp.Having),
    *(exp.Order, exp.Ordered, exp.Limit, exp.Distinct, exp.Table, exp.TableAlias, exp.Subquery, exp.Alias),
    *(exp.Window, exp.WindowSpec),
)
_TERMS = (
    *(exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Placeholder, exp.Star, exp.Var),
    *(exp.And, exp.Or, exp.Not, exp.Paren, exp.Is, exp.In, exp.Between, exp.Exists, exp.Case, exp.If),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe),
    *(exp.Cast, exp.DataType, exp.DataTypeParam),
)
_ALLOWED = frozenset((*_CLAUSES, *_TERMS, *AGGREGATES, *SCALARS, *RANKS, *ORDERED))
_SELECT_PARTS = {"with_", "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "distinct"}
_COMPARED = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.In, exp.Between, exp.Add, exp.Sub, exp.Mul, exp.Mod)
_RESERVED = {
    *(
        "account",
        "at",
        "column",
        "connection",
        "current",
        "database",
        "end",
        "group",
        "increment",
        "issue",
        "of",
        "order",
    ),
    *("organization", "row", "rows", "sample", "schema", "start", "table", "to", "trigger", "user", "values", "view"),
}
"""Words that one of the engines keeps for itself, of those a column may well be called."""
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def check_portable(query: packs.Query) -> tuple[str, ...]:
    """What keeps a query from meaning the same in every engine; empty when nothing does."""
    try:
        tree = trees.parse(query.name, query.sql)
    except QueryError as exc:
        return (exc.message,)
    complaints = [c for node in tree.walk() for c in _construct(node)]
    if not complaints:
        try:
            families = trees.type_families(tree, query)
        except QueryError as exc:
            return (exc.message,)
        complaints = [c for node in tree.walk() for c in (*_scope(node), *_types(node, families))]
        complaints += _final_order(query, tree)
    return tuple(dict.fromkeys(complaints))


def _construct(node: exp.Expr) -> Iterator[str]:
    """Constructs outside the subset, seen from the node alone."""
    if type(node) not in _ALLOWED:
        yield f"{_said(node)} is outside the portable subset"
    elif isinstance(node, exp.Select):
        extra = {part for part, value in node.args.items() if value} - _SELECT_PARTS
        yield from (f"{part.strip('_').upper()} is outside the portable subset" for part in sorted(extra))
        yield from _projections(node)
    elif isinstance(node, exp.Join):
        yield from _join(node)
    elif isinstance(node, exp.Group) and any(v for part, v in node.args.items() if part != "expressions"):
        yield "GROUP BY takes written-out expressions only, no ALL, ROLLUP, CUBE or GROUPING SETS"
    elif isinstance(node, exp.Distinct) and node.args.get("on"):
        yield "DISTINCT ON is outside the portable subset"
    elif isinstance(node, exp.Union) and node.args.get("by_name"):
        yield "UNION BY NAME is outside the portable subset"
    elif isinstance(node, exp.Count) and node.expressions:
        yield "count() takes one argument"
    elif isinstance(node, exp.Lag | exp.Lead) and node.args.get("default"):
        yield f"{node.sql_name().lower()}() takes a column and an offset: write a default as coalesce()"
    elif isinstance(node, exp.DateDiff) and str(node.args.get("unit")).upper() != "MICROSECOND":
        yield "date_diff counts microseconds only: other units count boundaries in some engines and lengths in others"
    elif isinstance(node, exp.WindowSpec) and _frame(node) != ("ROWS", "UNBOUNDED PRECEDING", "CURRENT ROW"):
        yield "a window frame is ROWS UNBOUNDED PRECEDING, or none"
    elif isinstance(node, exp.Cast):
        yield from _cast(node)
    elif isinstance(node, exp.Identifier) and not _PLAIN_NAME.fullmatch(node.this):
        yield f"the name {node.this!r} is not of lower-case letters, digits and underscores"
    elif isinstance(node, exp.Identifier) and node.this in _RESERVED and not node.args.get("quoted"):
        yield f"{node.this} is a reserved word in some engines: quote it, or better rename it"


def _said(node: exp.Expr) -> str:
    if isinstance(node, exp.Anonymous):
        return f"the function {node.name}()"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}()"
    return f"{type(node).__name__.upper()} ({node.sql('duckdb')[:60]})"


def _projections(select: exp.Select) -> Iterator[str]:
    for projection in select.expressions:
        if projection.is_star:
            yield "SELECT * hides what is read: write the columns out"
    for star in select.find_all(exp.Star):
        if not isinstance(star.parent, exp.Count | exp.Select | exp.Column):
            yield "* stands in count(*) only"


def _join(join: exp.Join) -> Iterator[str]:
    kind = " ".join(p for p in (join.method, join.side, join.kind) if p).upper()
    if kind not in ("", "INNER", "LEFT", "LEFT OUTER", "CROSS"):
        yield f"{kind} JOIN is outside the portable subset"
    elif (kind == "CROSS") == bool(join.args.get("on")) or join.args.get("using"):
        yield "a join is JOIN ... ON, LEFT JOIN ... ON or CROSS JOIN, written out"


def _frame(spec: exp.WindowSpec) -> tuple[str, str, str]:
    start = f"{spec.args.get('start')} {spec.args.get('start_side') or ''}".strip()
    return str(spec.args.get("kind")), start, str(spec.args.get("end") or "CURRENT ROW")


def _cast(cast: exp.Cast) -> Iterator[str]:
    kind, value = cast.to.this.value, cast.this
    if kind in ("TIMESTAMP", "TIMESTAMPNTZ"):
        if not (isinstance(value, exp.Literal) and value.is_string):
            yield "only a literal becomes a TIMESTAMP: engines read other text each in its own way"
    elif kind == "DECIMAL":
        scale = int(cast.to.expressions[1].name) if len(cast.to.expressions) == 2 else 0
        if isinstance(value, exp.Literal) and len(value.name.partition(".")[2]) > scale:
            yield f"DECIMAL with {scale} places does not hold all digits of {value.name}"
    elif kind not in ("BIGINT", "INT", "DOUBLE", "TEXT", "VARCHAR"):
        yield f"a cast to {kind} is outside the portable subset"


def _scope(node: exp.Expr) -> Iterator[str]:
    """Rules that need the SELECT around the node."""
    if isinstance(node, exp.Window) and isinstance(node.this, (*ORDERED, *AGGREGATES)):
        order, function = node.args.get("order"), node.this.sql_name().lower()
        if order is None and isinstance(node.this, ORDERED):
            yield f"{function}() needs an ORDER BY in its window"
        elif order is not None and not _is_total(node, order):
            yield f"the window of {function}() needs a total ORDER BY: end it with source_id, line_no"
    elif isinstance(node, exp.Having):
        select = node.parent
        renamed = (
            {p.alias for p in select.expressions if isinstance(p, exp.Alias) and p.this.name != p.alias}
            if select
            else set()
        )
        named = {c.name for c in node.find_all(exp.Column) if not c.table}
        yield from (f"HAVING names the alias {name}: repeat the expression" for name in sorted(named & renamed))


def _is_total(window: exp.Window, order: exp.Order) -> bool:
    names = {c.name for c in (*window.args.get("partition_by", ()), *(o.this for o in order.expressions)) if c.name}
    return any(key <= names for key in _keys(window.find_ancestor(exp.Select)))


def _keys(select: exp.Expr | None) -> list[set[str]]:
    """Sets of names that tell the rows read by a SELECT apart: file and line, or the grouping of what it reads."""
    keys = [{"source_id", "line_no"}]
    if isinstance(select, exp.Select):
        if {table.name for table in trees.tables(select)} == {"sources"}:
            keys.append({"source_id"})
        if group := select.args.get("group"):
            keys.append({g.name for g in group.expressions})
        source = select.args["from_"].this if select.args.get("from_") and not select.args.get("joins") else None
        keys += [_grouping(cte.this) for cte in select.root().find_all(exp.CTE) if source and cte.alias == source.name]
    return [key for key in keys if key and "" not in key]


def _grouping(select: exp.Expr) -> set[str]:
    """Output names of a grouped SELECT's grouping expressions; holds "" when one of them is not returned."""
    group = select.args.get("group")
    if not isinstance(select, exp.Select) or group is None:
        return set()
    named = {p.unalias().sql(): p.alias_or_name for p in select.expressions}
    return {named.get(g.sql(), "") for g in group.expressions}


def _types(node: exp.Expr, families: trees.Types) -> Iterator[str]:
    """Rules that need the types of the operands."""
    text = node.sql("duckdb")[:60]
    if isinstance(node, exp.Cast):
        yield from _cast_between(families[id(node.this)], families[id(node)], node)
    elif isinstance(node, exp.DPipe):
        if {families[id(node.left)], families[id(node.right)]} - {"text", "null"}:
            yield f"|| joins text only: cast first ({text})"
    elif isinstance(node, exp.Div):
        if "decimal" in {families[id(node.left)], families[id(node.right)]}:
            yield f"money is not divided: every engine rounds in its own place ({text})"
    elif isinstance(node, exp.Sum) and families[id(node.this)] == "double":
        yield f"sum() over floating point depends on the order of rows ({text})"
    elif isinstance(node, exp.Mod) and "double" in {families[id(node.left)], families[id(node.right)]}:
        yield f"% takes integers or decimals ({text})"
    elif isinstance(node, exp.Union):
        yield from _parts(node, families)
    elif isinstance(node, (*_COMPARED, exp.Coalesce, exp.Nullif, exp.Case)):
        yield from _mixed(operands(node), families, text)


def _parts(union: exp.Union, families: trees.Types) -> Iterator[str]:
    pairs = zip(trees.output_names(union), union.left.selects, union.right.selects, strict=True)
    for name, *sides in pairs:
        values = [side.unalias() for side in sides]
        if len({families[id(value)] for value in values if not isinstance(value, exp.Null)}) > 1:
            yield f"the parts of a UNION give {name} different types: cast one"


def _cast_between(given: str, wanted: str, cast: exp.Cast) -> Iterator[str]:
    inner = cast.this.unnest()
    if wanted == "text" and given not in ("text", "integer", "null"):
        yield f"only integers become text: how a {given} is written differs ({cast.sql('duckdb')[:60]})"
    if wanted == "integer" and given in ("double", "decimal") and not isinstance(inner, exp.Floor):
        yield f"a {given} becomes an integer through floor(): casts round in some engines and cut in others"
    if wanted == "decimal" and given == "double" and not isinstance(inner, exp.Literal):
        yield "floating point does not become money"


def operands(node: exp.Expr) -> list[exp.Expr]:
    """The values an operator holds against each other; conditions of a CASE aside."""
    if isinstance(node, exp.Case):
        default = node.args.get("default")
        return [branch.args["true"] for branch in node.args["ifs"]] + ([default] if default else [])
    if isinstance(node, exp.In):
        return [node.this, *node.expressions]
    return [child for child in node.iter_expressions() if not isinstance(child, exp.Var)]


def _mixed(values: list[exp.Expr], families: trees.Types, text: str) -> Iterator[str]:
    found = {_family(value, families) for value in values} - {"null", "unknown"}
    if {"decimal", "double"} <= found:
        yield f"money meets floating point ({text})"
    elif found - {"integer", "decimal"} and found - {"integer", "double"} and len(found) > 1:
        yield f"{' and '.join(sorted(found))} are mixed: not every engine converts by itself ({text})"


def _family(value: exp.Expr, families: trees.Types) -> str:
    bare = value.unnest()
    if isinstance(bare, exp.Literal) and not bare.is_string:
        return "integer"  # a written number fits decimal and double alike
    return families.get(id(bare), "unknown")


def order_positions(tree: trees.Select) -> list[int | None]:
    """Which output column, from 1, each term of the final ORDER BY is; None for a term that is none of them."""
    order = tree.args.get("order")
    positions: list[int | None] = []
    for term in order.expressions if order else ():
        position = None
        for number, projection in enumerate(tree.selects, 1):
            named = (
                isinstance(term.this, exp.Column) and not term.this.table and term.this.name == projection.alias_or_name
            )
            if named or term.this == projection.unalias():
                position = number
                break
        positions.append(position)
    return positions


def _final_order(query: packs.Query, tree: trees.Select) -> list[str]:
    """A measure or detection answers in one order only: its ORDER BY names output columns that tell all rows apart."""
    if query.kind == "view":
        return ["a view has no ORDER BY and no LIMIT"] if tree.args.get("order") or tree.args.get("limit") else []
    if trees.is_aggregate(tree):
        return []
    positions = order_positions(tree)
    if not positions:
        return ["no final ORDER BY"]
    if None in positions:
        return ["the final ORDER BY names columns that the query returns, and nothing else"]
    names = trees.output_names(tree)
    ordered = {names[p - 1] for p in positions if p}
    keys = [_grouping(tree)] if tree.args.get("group") else _keys(tree)
    if any(key <= ordered for key in keys if key and "" not in key):
        return []
    return [f"the final ORDER BY ({', '.join(sorted(ordered))}) does not end in a unique key"]
