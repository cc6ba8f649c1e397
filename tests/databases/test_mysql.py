"""A MariaDB server as evidence, through the same door as MySQL."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from forensics import store
from forensics.errors import UsageError
from forensics.model import Refused, Source
from forensics.sources.load import load_files
from forensics.sources.options import Options

if TYPE_CHECKING:
    from tests.databases.conftest import Server


class Desk:
    """A case, and the shop's database to load into it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.url = server.url("shop")
        self.connection = store.open_for_loading(folder / "case.duckdb")

    def source(self, url: str = "", **options: Any) -> Source:
        """Load what can be loaded; every row is accounted for."""
        loaded = load_files(self.connection, [url or self.url], Options(**options))
        assert loaded.refused == ()
        (source,) = loaded.sources
        assert source.rows_read == source.rows_loaded + source.rows_rejected
        return source

    def refusal(self, url: str = "", **options: Any) -> Refused:
        """Load what cannot be loaded; the case stays empty and the password unknown."""
        loaded = load_files(self.connection, [url or self.url], Options(**options))
        assert self.rows("SELECT count(*) FROM sources UNION ALL SELECT count(*) FROM payments") == [(0,), (0,)]
        (refused,) = loaded.refused
        assert "Kornblume" not in f"{refused}"
        return refused

    def rows(self, sql: str) -> list[Any]:
        """Ask the case."""
        return self.connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def shop(mariadb: Server) -> Server:
    """The server with the tables of a shop."""
    script = Path(__file__).with_name("mariadb.sql").read_text(encoding="utf-8")
    mariadb.run("shop", *[line for line in script.splitlines() if not line.startswith("--")])
    return mariadb


@pytest.fixture
def desk(shop: Server, tmp_path: Path) -> Iterator[Desk]:
    """An empty case beside the server."""
    desk = Desk(shop, tmp_path)
    yield desk
    desk.connection.close()


def test_a_table_becomes_a_source_with_exact_amounts_and_moments_in_utc(desk: Desk) -> None:
    source = desk.source(tables=("payments",))
    assert source.path == f"mysql://reader@127.0.0.1:{desk.server.port}/shop#payments"
    assert (source.format, source.rows_read, source.rows_loaded, source.zone) == ("mysql", 100_000, 100_000, None)
    assert source.first_at == datetime(2026, 11, 1, 0, 0, 1, 123456)  # noqa: DTZ001
    assert desk.rows("SELECT status, count(*), sum(amount) FROM payments GROUP BY 1 ORDER BY 1") == [
        ("captured", 90_000, Decimal("4500450000.0000")),
        ("failed", 10_000, Decimal("500100005.0000")),
    ]
    (row,) = desk.rows("SELECT payment_id, memo, extra FROM payments WHERE order_id = 'ORD-2'")
    assert row[:2] == ("\\x00000002", '짝수 "even"')
    assert json.loads(row[2]) == {"payload": '{"n": 2}', "paid": "1", "score": "0.1"}


def test_what_money_cannot_hold_is_rejected_never_rounded(desk: Desk) -> None:
    source = desk.source(tables=("exact",), zone="Asia/Seoul")
    assert desk.rows("SELECT order_id, amount, CAST(created_at AS VARCHAR) FROM payments ORDER BY 1") == [
        ("A1", Decimal("12345678901234.5678"), "2026-11-01 00:00:00"),
        ("A2", Decimal("-0.0001"), "2026-10-31 15:30:00.000001"),
        ("A3", Decimal("1.2340"), "2026-10-31 15:00:00"),
    ]
    assert (source.zone, source.rows_rejected) == ("Asia/Seoul", 1)


def test_the_zero_date_is_no_time(desk: Desk) -> None:
    source = desk.source(tables=("never",), currency="KRW")
    assert (source.rows_loaded, source.rows_rejected) == (39, 1)
    assert desk.rows("SELECT line_no FROM rejects") == [(7,)]
    assert desk.rows("SELECT DISTINCT CAST(created_at AS VARCHAR) FROM payments") == [("2026-11-01 10:00:00",)]
    assert desk.rows("SELECT sum(amount) FROM payments") == [(Decimal(40 * 41 // 2 - 7),)]


def test_names_and_cells_of_any_kind_come_through_unharmed(desk: Desk) -> None:
    desk.source(tables=('we`ird; "table"',))
    cells = [json.loads(x) for (x,) in desk.rows("SELECT extra FROM payments ORDER BY line_no")]
    hostile = "a`b; DROP TABLE payments; --"
    assert cells[0] == {hostile: 'two\nlines, "quoted"\ufffdnul', "%s": "=1+1", "한글": ""}
    assert cells[1] == {hostile: "\\N", "%s": None, "한글": "결제"}
    assert desk.source(tables=("shop.payments",)).rows_loaded == 100_000


@pytest.mark.parametrize(
    ("since", "options", "rows"),
    [
        ("2026-11-01T12:00:00.123456Z", {"tables": ("payments",)}, 100_000 - 43_199),
        ("2026-11-02", {"query": "SELECT *, '100%s' AS note FROM payments # all"}, 100_000 - 86_399),
        ("2026-11-01T00:30:00.000001", {"tables": ("exact",)}, 2),
        ("2026-11-02", {"tables": ("epochs",)}, 1),
        ("2000-01-01", {"tables": ('we`ird; "table"',)}, 2),
    ],
)
def test_since_is_held_against_the_time_column(desk: Desk, since: str, options: dict[str, Any], rows: int) -> None:
    assert desk.source(since=since, **options).rows_read == rows


def test_a_query_may_name_a_column_twice(desk: Desk) -> None:
    source = desk.source(query="SELECT a.*, b.score FROM payments a JOIN payments b USING (order_id) LIMIT 5")
    assert source.rows_loaded == 5
    (extra,) = desk.rows("SELECT extra FROM payments LIMIT 1")[0]
    assert {"score", "score (2)"} <= set(json.loads(extra))


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO writable VALUES (1)",
        "SELECT * FROM writable INTO OUTFILE '/tmp/stolen'",
        "SELECT 1 /*! INTO OUTFILE '/tmp/stolen' */",
        "SELECT 'it\\'s' ; DELETE FROM writable; -- '",
        "SELECT n FROM writable LOCK IN SHARE MODE",
    ],
)
def test_a_query_that_writes_or_locks_is_refused_before_it_is_sent(desk: Desk, query: str) -> None:
    with pytest.raises(UsageError, match="--query"):
        desk.refusal(query=query)


def test_a_query_that_writes_by_a_function_is_refused_by_the_session(desk: Desk) -> None:
    refused = desk.refusal(query="SELECT sneak() AS order_id, 1 AS amount, now() AS created_at")
    assert "the query writes, and the session only reads" in refused.message
    assert desk.server.run("shop", "SELECT count(*) FROM writable") == [(0,)]


def test_what_goes_wrong_is_told_in_one_sentence(desk: Desk) -> None:
    url, port = desk.url, str(desk.server.port)
    told = {
        "cannot connect to 127.0.0.1:1:": desk.refusal(url.replace(port, "1"), tables=("payments",)),
        "refused the user reader": desk.refusal(desk.server.url("shop", "reader", "Kornblumen"), tables=("payments",)),
        "has no access to 'shopp'": desk.refusal(desk.server.url("shopp"), tables=("payments",)),
        "there is no table 'Payment'": desk.refusal(tables=("Payment",)),
        "there is no table 'secret' that the user reader may read": desk.refusal(tables=("secret",)),
        "no permission: ": desk.refusal(query="SELECT * FROM secret"),
        "it has no rows": desk.refusal(tables=("empty",)),
        "Unknown column 'nope'": desk.refusal(query="SELECT nope FROM payments"),
    }
    for sentence, refused in told.items():
        assert sentence in refused.message
    assert told["there is no table 'Payment'"].hint == "did you mean payments?"
    with pytest.raises(UsageError, match="'sslmod' is not known"):
        desk.refusal(f"{url}?sslmod=1", tables=("payments",))


def test_a_connection_lost_in_the_middle_leaves_the_case_as_it_was(desk: Desk) -> None:
    def cut_the_line(told: str) -> None:
        if "so far" in told:
            for (number,) in desk.server.run("", "SELECT id FROM information_schema.processlist WHERE user = 'reader'"):
                desk.server.run("", f"KILL {number}")

    query = "SELECT payments.order_id, payments.amount, REPEAT('x', 500) AS t FROM payments JOIN epochs JOIN exact"
    loaded = load_files(desk.connection, [desk.url], Options(query=query), cut_the_line)
    (refused,) = loaded.refused
    assert "the connection was lost" in refused.message
    assert desk.rows("SELECT count(*) FROM payments") == [(0,)]
    assert desk.source(tables=("payments",)).rows_loaded == 100_000


def test_interrupting_leaves_no_query_behind(desk: Desk) -> None:
    def interrupt(told: str) -> None:
        if "so far" in told:
            raise KeyboardInterrupt

    query = "SELECT a.order_id, a.amount, REPEAT('x', 500) AS t FROM payments a JOIN payments b"  # without end
    with pytest.raises(KeyboardInterrupt):
        load_files(desk.connection, [desk.url], Options(query=query), interrupt)
    assert desk.source(tables=("payments",)).rows_loaded == 100_000


def test_the_password_may_come_from_the_environment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, _, rest = desk.url.partition("://")
    monkeypatch.setenv("MYSQL_PWD", "Kornblume/9@ü#7%:x")
    bare = f"{scheme}://reader@{rest.rpartition('@')[2]}"
    assert desk.source(bare, tables=("epochs",)).rows_loaded == 2


def test_the_library_that_is_missing_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    assert desk.refusal(tables=("payments",)).hint == "pip install 'payment-forensics[mysql]'"
