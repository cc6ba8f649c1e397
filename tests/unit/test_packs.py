"""Query files are found by name, and a malformed one says which file and what is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from forensics import packs
from forensics.errors import QueryError, UsageError

HEADER = """\
-- /// query
-- title   = "Many rows"
-- answers = "Which orders have many rows?"
-- kind    = "measure"
-- needs   = ["payments"]
-- params.fewest = { type = "BIGINT", default = 2, help = "Fewest rows." }
-- columns.order_id = { type = "VARCHAR", help = "Business key." }
-- columns.n        = { type = "BIGINT", help = "Rows." }
-- ///
"""
BODY = """\
-- not a parameter: $nothing
SELECT order_id, count(*) AS n
FROM payments
GROUP BY order_id
HAVING count(*) >= $fewest
ORDER BY order_id;
"""


def test_a_query_file_becomes_its_header_and_its_bare_select() -> None:
    query = packs.parse("mine/many", HEADER + BODY)
    assert (query.name, query.title, query.kind, query.needs) == ("mine/many", "Many rows", "measure", ("payments",))
    assert query.parameters["fewest"] == packs.Parameter("fewest", "BIGINT", 2, "Fewest rows.")
    assert [(c.name, c.type, c.help) for c in query.columns] == [
        ("order_id", "VARCHAR", "Business key."),
        ("n", "BIGINT", "Rows."),
    ]
    assert query.sql.endswith("ORDER BY order_id"), "the closing semicolon is gone"
    assert "///" not in query.sql
    assert query.text == HEADER + BODY


def test_placeholders_in_comments_do_not_count() -> None:
    assert packs.placeholders("SELECT $a, $b_2, $a -- $c\n-- $d") == {"a", "b_2"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("SELECT 1", r"mine/many\.sql:1: expected the header line"),
        ("", r"mine/many\.sql:1: expected the header line"),
        (HEADER.replace("-- ///\n", "") + BODY, r"mine/many\.sql: the header is not closed"),
        (HEADER.replace('"Many rows"', '"Many rows') + BODY, r"mine/many\.sql: the header is not TOML"),
        (HEADER.replace("-- title ", "-- titel ") + BODY, r"mine/many\.sql: the header lacks title"),
        (
            HEADER.replace("measure", "guess") + BODY,
            r"mine/many\.sql: kind 'guess' is none of view, measure, detection",
        ),
        (
            HEADER.replace('type = "BIGINT", default', 'type = "MONEY", default') + BODY,
            r"parameter fewest has type 'MONEY'",
        ),
        (HEADER + BODY.replace("$fewest", "2"), r"mine/many\.sql: header parameters and placeholders differ: fewest"),
        (HEADER + BODY.replace("$fewest", "$fewest + $more"), r"header parameters and placeholders differ: more"),
    ],
)
def test_a_malformed_header_is_an_error_that_names_the_file(text: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=complaint):
        packs.parse("mine/many", text)


def test_a_query_is_found_by_its_full_and_by_its_short_name() -> None:
    assert packs.get("repeated_orders") is packs.get("duplicates/repeated_orders")


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match="no query is called 'duplicates/repeated_order'") as caught:
        packs.get("duplicates/repeated_order")
    assert caught.value.hint is not None
    assert "duplicates/repeated_orders" in caught.value.hint


def test_a_name_like_no_other_points_to_the_list() -> None:
    with pytest.raises(UsageError) as caught:
        packs.get("zzzzzzzz")
    assert caught.value.hint == "'forensics queries' lists them all"


def test_a_short_name_that_two_packs_share_is_not_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    two = {name: packs.parse(name, HEADER + BODY) for name in ("a/many", "b/many")}
    monkeypatch.setattr(packs, "load_all", lambda: two)
    with pytest.raises(UsageError) as caught:
        packs.get("many")
    assert caught.value.hint == "did you mean a/many or b/many?"


def test_views_are_the_queries_of_kind_view() -> None:
    assert {view.name for view in packs.views()} == {n for n, q in packs.load_all().items() if q.kind == "view"}


def test_a_view_comes_after_the_views_that_it_reads() -> None:
    names = [view.name.rsplit("/", 1)[-1] for view in packs.views()]
    for place, view in enumerate(packs.views()):
        assert not set(view.needs) & set(names[place:])
    assert "views/effects" in [view.name for view in packs.views()]


def test_importing_the_packs_imports_neither_sqlglot_nor_an_engine() -> None:
    code = "import sys, forensics.packs; print(sorted({'sqlglot', 'duckdb'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
