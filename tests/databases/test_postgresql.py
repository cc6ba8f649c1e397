"""A PostgreSQL server as evidence: exact values, nothing written, nothing told that is secret."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import duckdb
import pytest

from forensics import store
from forensics.case import Case
from forensics.errors import UsageError
from forensics.model import Refused, Source
from forensics.sources.databases import spool
from forensics.sources.load import load_files
from forensics.sources.options import Options

if TYPE_CHECKING:
    from tests.conftest import Run
    from tests.databases.conftest import Server

PASSWORD = "Kornblume/9@ü#7%:x"  # noqa: S105
LEAKS = (PASSWORD, "Kornblume", quote(PASSWORD, safe=""))
ODD = 'we"ird; table'


class Desk:
    """A case, and the shop's database to load into it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.server = server
        self.url = server.url("shop")
        self.path = folder / "case.duckdb"
        self.connection = store.open_for_loading(self.path)

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
        assert loaded.sources == ()
        assert self.rows("SELECT count(*) FROM sources UNION ALL SELECT count(*) FROM payments") == [(0,), (0,)]
        (refused,) = loaded.refused
        assert not any(leak in f"{refused}" for leak in LEAKS)
        return refused

    def rows(self, sql: str) -> list[Any]:
        """Ask the case."""
        return self.connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def shop(postgresql: Server) -> Server:
    """The server with the tables of a shop."""
    postgresql.run("shop", Path(__file__).with_name("postgresql.sql").read_text(encoding="utf-8"))
    return postgresql


@pytest.fixture
def desk(shop: Server, tmp_path: Path) -> Iterator[Desk]:
    """An empty case beside the server."""
    desk = Desk(shop, tmp_path)
    yield desk
    desk.connection.close()


# Values ---------------------------------------------------------------------------------------------------------


def test_a_table_becomes_a_source_that_says_where_it_is_from(desk: Desk) -> None:
    source = desk.source(tables=("payments",))
    assert source.path == f"postgresql://reader@127.0.0.1:{desk.server.port}/shop#payments"
    assert (source.name, source.format, source.kind) == ("shop#payments", "postgresql", "payments")
    assert (source.rows_read, source.rows_loaded, source.zone) == (100_000, 100_000, None)
    assert source.first_at == datetime(2026, 11, 1, 0, 0, 1, 123456)  # noqa: DTZ001
    assert desk.rows("SELECT status, count(*), sum(amount) FROM payments GROUP BY 1 ORDER BY 1") == [
        ("captured", 90_000, Decimal("4500450000.0000")),
        ("failed", 10_000, Decimal("500100005.0000")),
    ]
    (first,) = desk.rows("SELECT payment_id, order_id, currency, memo, extra FROM payments WHERE line_no = 1")
    assert first[:4] == ("c4ca4238-a0b9-2382-0dcc-509a6f75849b", "ORD-1", "EUR", None)
    assert json.loads(first[4]) == {"payload": '{"n": 1}'}


def test_decimals_are_exact_and_what_money_cannot_hold_is_rejected_never_rounded(desk: Desk) -> None:
    source = desk.source(tables=("exact",))
    assert desk.rows("SELECT order_id, amount FROM payments ORDER BY 1") == [
        ("A1", Decimal("12345678901234.5678")),
        ("A2", Decimal("-0.0001")),
        ("A3", Decimal("0.1000")),
        ("A4", Decimal("1.2340")),
    ]
    rejected = dict(desk.rows("SELECT line_no, reason FROM rejects"))
    assert (source.rows_rejected, sorted(rejected)) == (2, [5, 6])
    assert "1.00001" in rejected[5]


def test_moments_with_zone_are_the_same_moments_in_utc(desk: Desk) -> None:
    source = desk.source(tables=("exact",))
    assert source.zone is None
    assert desk.rows("SELECT order_id, CAST(created_at AS VARCHAR) FROM payments ORDER BY 1 LIMIT 3") == [
        ("A1", "2026-11-01 00:00:00"),
        ("A2", "2026-11-01 00:30:00.000001"),
        ("A3", "2026-03-29 00:30:00"),
    ]


def test_never_is_no_time(desk: Desk) -> None:
    source = desk.source(tables=("never",))
    assert (source.rows_loaded, source.rows_rejected) == (38, 2)
    assert [n for (n,) in desk.rows("SELECT line_no FROM rejects ORDER BY 1")] == [7, 8]


def test_times_without_zone_go_through_the_same_zones_as_files(desk: Desk) -> None:
    source = desk.source(tables=("naive",), zone="Asia/Seoul", currency="KRW")
    assert (source.zone, source.zone_reason) == ("Asia/Seoul", "given")
    assert desk.rows("SELECT CAST(created_at AS VARCHAR) FROM payments ORDER BY order_id") == [
        ("2026-11-01 00:00:00",),
        ("2026-10-31 14:59:59.9",),
    ]


def test_names_and_cells_of_any_kind_come_through_unharmed(desk: Desk) -> None:
    source = desk.source(tables=(f"odd one.{ODD}",))
    assert source.name == f"shop#odd one.{ODD}"
    cells = [json.loads(x) for (x,) in desk.rows("SELECT extra FROM payments ORDER BY line_no")]
    hostile = 'a"b; DROP TABLE payments; --'
    assert cells[0] == {hostile: 'two\nlines, "quoted"', "%s": "=1+1", "한글": ""}
    assert cells[1] == {hostile: "\\N", "%s": None, "한글": "결제"}
    assert desk.rows("SELECT order_id FROM payments ORDER BY line_no") == [('O"1',), ("O'2",)]
    assert desk.source(tables=("payments",)).rows_loaded == 100_000


def test_the_same_rows_are_recognised_in_any_order(desk: Desk) -> None:
    desk.source(query="SELECT * FROM payments ORDER BY order_id")
    loaded = load_files(desk.connection, [desk.url], Options(tables=("payments",)))
    assert (loaded.sources, loaded.refused) == ((), ())
    assert loaded.already == (f"postgresql://reader@127.0.0.1:{desk.server.port}/shop#payments",)


# Which rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("since", "options", "rows"),
    [
        ("2026-11-01T12:00:00.123456Z", {"tables": ("payments",)}, 100_000 - 43_199),
        ("2026-11-01T21:00:00.123456+09:00", {"tables": ("payments",)}, 100_000 - 43_199),
        ("2026-11-01T21:00:00.123456", {"tables": ("payments",), "zone": "Asia/Seoul"}, 100_000 - 43_199),
        ("2026-11-02", {"query": "SELECT *, 'it''s 100%' AS note FROM payments -- all"}, 100_000 - 86_399),
        ("2026-11-01", {"tables": ("naive",)}, 1),
        ("2026-11-01", {"tables": ("naive",), "where_time": "day"}, 1),
        ("2026-11-02", {"tables": ("epochs",)}, 1),
    ],
)
def test_since_is_held_against_the_time_column(desk: Desk, since: str, options: dict[str, Any], rows: int) -> None:
    source = desk.source(since=since, **options)
    assert source.rows_read == rows
    assert "only rows since" in " ".join(source.notes)


def test_since_needs_a_column_of_times(desk: Desk) -> None:
    with pytest.raises(UsageError, match="'memo' holds no times"):
        desk.refusal(tables=("payments",), since="2026-11-01", where_time="memo")
    with pytest.raises(UsageError, match="no such column"):
        desk.refusal(tables=("payments",), since="2026-11-01", where_time='x" = 1; DROP TABLE payments; --')


def test_several_tables_are_several_sources(desk: Desk) -> None:
    loaded = load_files(desk.connection, [desk.url], Options(tables=("payments", "naive")))
    assert [s.name for s in loaded.sources] == ["shop#payments", "shop#naive"]


def test_without_a_table_the_tables_are_named(desk: Desk) -> None:
    with pytest.raises(UsageError) as caught:
        desk.refusal()
    assert "which rows?" in caught.value.message
    assert "payments" in (caught.value.hint or "")


# Only reading ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO writable VALUES (1)",
        "WITH x AS (INSERT INTO writable VALUES (1) RETURNING n) SELECT * FROM x",
        "SELECT 1; INSERT INTO writable VALUES (1)",
        "SELECT 1) TO STDOUT; INSERT INTO writable VALUES (1); --",
        "SELECT n INTO other FROM writable",
        "SELECT * FROM writable FOR UPDATE",
    ],
)
def test_a_query_that_writes_is_refused_before_it_is_sent(desk: Desk, query: str) -> None:
    with pytest.raises(UsageError, match="--query"):
        desk.refusal(query=query)
    assert desk.server.run("shop", "SELECT count(*) FROM writable") == [(0,)]


def test_a_query_that_writes_by_a_function_is_refused_by_the_session(desk: Desk) -> None:
    refused = desk.refusal(query="SELECT sneak() AS order_id, 1 AS amount, now() AS created_at")
    assert "the query writes, and the session only reads" in refused.message
    unlocked = "SELECT set_config('transaction_read_only', 'off', true) AS a, sneak() AS b"
    assert "read-write mode" in desk.refusal(query=unlocked).message
    assert desk.server.run("shop", "SELECT count(*) FROM writable") == [(0,)]


# What can go wrong ----------------------------------------------------------------------------------------------


def _at_port(url: str, port: int) -> str:
    return url.replace(url.rsplit(":", 1)[1].partition("/")[0], str(port))


def test_a_server_that_is_not_there_is_named_with_host_and_port(desk: Desk) -> None:
    refused = desk.refusal(_at_port(desk.url, 1), tables=("payments",))
    assert "cannot connect to 127.0.0.1:1" in refused.message
    assert refused.hint == "check host and port, and that the server runs"


def test_a_wrong_password_is_told_and_not_repeated(desk: Desk) -> None:
    refused = desk.refusal(desk.server.url("shop", "reader", "Kornblume-falsch"), tables=("payments",))
    assert "refused the user reader or the password" in refused.message


def test_a_database_or_user_that_is_not_there_is_told(desk: Desk) -> None:
    refused = desk.refusal(desk.server.url("shopp"), tables=("payments",))
    assert "the server has no database 'shopp'" in refused.message


def test_a_table_that_is_not_there_gets_its_nearest_names(desk: Desk) -> None:
    refused = desk.refusal(tables=("Payment",))
    assert (refused.message.partition(": ")[2], refused.hint) == (
        "there is no table 'Payment'",
        "did you mean payments?",
    )


def test_a_table_without_permission_says_what_its_owner_can_do(desk: Desk) -> None:
    refused = desk.refusal(tables=("secret",))
    assert "no permission: permission denied for table secret" in refused.message
    assert refused.hint == "its owner can: GRANT SELECT ON TABLE TO reader"


def test_an_empty_table_is_no_evidence(desk: Desk) -> None:
    assert "it has no rows" in desk.refusal(tables=("empty",)).message
    assert "it has no rows since 2030" in desk.refusal(tables=("payments",), since="2030-01-01").message


def test_a_query_that_fails_repeats_what_the_server_says(desk: Desk) -> None:
    assert 'column "nope" does not exist' in desk.refusal(query="SELECT nope FROM payments").message
    assert "division by zero" in desk.refusal(query="SELECT 1 / (n - n) FROM generate_series(1, 9) AS n").message


def test_an_unknown_parameter_of_the_url_is_told(desk: Desk) -> None:
    assert "a parameter of the URL is not known" in desk.refusal(f"{desk.url}?sslmod=x", tables=("payments",)).message


def test_a_connection_lost_in_the_middle_leaves_the_case_as_it_was(desk: Desk) -> None:
    desk.source(tables=("naive",))
    before = desk.rows("SELECT * FROM payments ORDER BY line_no"), desk.rows("SELECT * FROM sources")
    cut: list[str] = []

    def cut_the_line(told: str) -> None:
        if "so far" in told:
            cut.append(told)
            desk.server.run(
                "postgres",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'forensics'",
            )

    query = "SELECT 'L' || i AS order_id, i AS amount, now() AS created_at, repeat('x', 200) AS t "
    query += "FROM generate_series(1, 3000000) AS i"
    loaded = load_files(desk.connection, [desk.url], Options(query=query), cut_the_line)
    (refused,) = loaded.refused
    assert "250,000 rows so far" in cut[0]
    assert "the connection was lost" in refused.message
    assert (desk.rows("SELECT * FROM payments ORDER BY line_no"), desk.rows("SELECT * FROM sources")) == before
    assert desk.source(tables=("payments",)).rows_loaded == 100_000


def test_interrupting_leaves_no_query_behind(desk: Desk) -> None:
    def interrupt(told: str) -> None:
        if "so far" in told:
            raise KeyboardInterrupt

    query = "SELECT a.order_id, a.amount FROM payments AS a CROSS JOIN payments AS b"  # without end
    with pytest.raises(KeyboardInterrupt):
        load_files(desk.connection, [desk.url], Options(query=query), interrupt)
    assert (
        desk.server.run("postgres", "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active'")
        == []
    )
    assert desk.source(tables=("payments",)).rows_loaded == 100_000


def test_the_library_that_is_missing_is_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused = desk.refusal(tables=("payments",))
    assert "psycopg, is not installed" in refused.message
    assert refused.hint == "pip install 'payment-forensics[postgresql]'"


# Secrets and size -----------------------------------------------------------------------------------------------


def test_the_password_is_nowhere(desk: Desk, forensics: Run, tmp_path: Path) -> None:
    desk.connection.close()
    out = tmp_path / "report"
    runs = [
        forensics("investigate", desk.url, "--table", "payments", "--out", out),
        forensics("load", tmp_path / "other.duckdb", desk.url, "--table", "nope"),
        forensics("load", tmp_path / "other.duckdb", _at_port(desk.url, 1), "--table", "payments"),
        forensics("load", tmp_path / "other.duckdb", desk.url.replace(quote("/", safe=""), "/"), "--table", "payments"),
        forensics("load", tmp_path / "other.duckdb", desk.url.replace("postgresql", "oracle")),
        forensics("load", tmp_path / "other.duckdb", desk.url),
        forensics("sources", desk.url),
        forensics(desk.url),
        forensics("sources", out / "case.duckdb"),
    ]
    assert [r.code for r in runs] == [0, 1, 1, 2, 2, 2, 1, 2, 0]
    for said in runs:
        assert not any(leak in said.out + said.err for leak in LEAKS), said
    written = [p for p in out.rglob("*") if p.is_file()]
    assert {"findings.json", "report.html", "case.duckdb"} <= {p.name for p in written}
    for path in written:
        assert not any(leak.encode() in path.read_bytes() for leak in LEAKS), path
    with duckdb.connect(str(out / "case.duckdb"), read_only=True) as case:
        for (table,) in case.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            assert "Kornblume" not in str(case.execute(f"SELECT * FROM {table} LIMIT 1000").fetchall())


def test_a_large_table_is_read_in_batches_of_bounded_size(desk: Desk) -> None:
    """A million rows of 220 bytes: the peak stays far below what they would take as Python objects."""
    assert spool.BATCH_ROWS == 50_000
    script = """
import resource, sys
from pathlib import Path
from forensics import store
from forensics.sources.databases import postgresql, spool
from forensics.sources.urls import parse

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

folder = Path(sys.argv[2])
connection = store.open_for_loading(folder / "big.duckdb")
connection.execute("SET memory_limit = '200MB'")
driver = postgresql.PostgreSQL(parse(sys.argv[1]))
before = peak()
select = "SELECT i, repeat('x', 200) AS t, md5(i::text) AS u FROM generate_series(1, 1000000) AS i"
rows = spool.spool(connection, driver.records(select, None), driver.describe(select), folder, lambda n: None)
print(rows, peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, desk.url, str(desk.path.parent)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    rows, grown_mb = map(int, done.stdout.split())
    assert rows == 1_000_000
    assert grown_mb < 400  # 200 MB are DuckDB's own limit; the rows are 250 MB as text and a gigabyte as Python objects


def test_the_python_interface_takes_urls_too(shop: Server, tmp_path: Path) -> None:
    with Case(tmp_path / "case.duckdb") as case:
        assert case.load([shop.url("shop")], Options(tables=("payments",))).sources[0].rows_loaded == 100_000
