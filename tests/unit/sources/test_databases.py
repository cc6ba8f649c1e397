"""Databases as evidence, where no server is needed: URLs and their secrets, queries, SQLite, files at URLs."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.errors import EvidenceError, UsageError
from forensics.sources import databases
from forensics.sources.databases import queries, remote, spool
from forensics.sources.databases.driver import Column, record, reworded
from forensics.sources.urls import Engine, Url, is_url, parse, secrets, without_passwords

if TYPE_CHECKING:
    from tests.unit.sources.conftest import Desk

# URLs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown", "user", "password", "place", "path"),
    [
        ("postgresql://u:p%40w@h:5/db", "postgresql://u@h:5/db", "u", "p@w", "h:5", "db"),
        ("postgres://u:p@w@h/db?sslmode=require", "postgres://u@h/db", "u", "p@w", "h", "db"),
        ("postgresql+psycopg://h/db?user=u&password=pw", "postgresql://u@h/db", "u", "pw", "h", "db"),
        ("jdbc:postgresql://h:1/db?user=u&password=a%26b", "postgresql://u@h:1/db", "u", "a&b", "h:1", "db"),
        ("mysql://h", "mysql://h/", None, None, "h", ""),
        ("mariadb://u:@[::1]:3307/db", "mariadb://u@[::1]:3307/db", "u", "", "[::1]:3307", "db"),
        ("postgresql:///db?host=/run/pg", "postgresql:///run/pg/db", None, None, "/run/pg", "db"),
        ("postgresql://a:1,b:2/db", "postgresql://a,b:1,2/db", None, None, "a,b:1,2", "db"),
    ],
)
def test_a_url_is_taken_apart_and_shown_without_password(
    text: str, shown: str, user: str | None, password: str | None, place: str, path: str
) -> None:
    url = parse(text)
    assert (str(url), url.user, url.password, url.place, url.path) == (shown, user, password, place, path)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://u:geheim/1@h/db",
        "postgresql://u:geheim?1@h/db",
        "postgresql://u:geheim#1@h/db",
        "postgresql://u:geheim@1/x@h/db",
        "oracle://u:geheim@h/db",
        "postgresql://u:geheim@h:port/db",
        "mysql://u:geheim@[h/db",
    ],
)
def test_a_url_that_cannot_be_taken_apart_is_not_repeated(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert "geheim" not in f"{caught.value.message} {caught.value.hint}"


@given(st.text(min_size=4).filter(lambda s: "\n" not in s), st.sampled_from(["postgresql", "mysql", "https"]))
def test_no_password_survives_hiding(secret: str, scheme: str) -> None:
    """Whatever it holds, in whatever state: typed raw, in an argument of its own."""
    argument = f"{scheme}://someone:<{secret}>@host/db"
    assert f"<{secret}>" not in without_passwords(argument)
    assert any(f"<{secret}>" in s for s in secrets(argument))


def test_hiding_leaves_other_words_alone() -> None:
    for text in ("payments.csv", "https://host/a?b=c", "postgresql://u@h:5432/db", "12:30 mail a@b", "C:/Users/x@y"):
        assert without_passwords(text) == text
    assert without_passwords("see postgresql:/u:pw@h/db: no") == "see postgresql:/u:***@h/db: no"
    assert without_passwords("s3://b/k?X-Amz-Signature=abc&x=1") == "s3://b/k?X-Amz-Signature=***&x=1"


def test_the_text_of_a_url_is_all_that_a_log_can_see_of_it() -> None:
    url = parse("postgresql://u:geheim@h/db?sslpassword=geheim").of("a/b")
    assert "geheim" not in f"{url} {url!r} {url.name}"
    assert url.name == "db#a%2Fb"
    assert str(parse("https://u:geheim@h/x/p.csv?sig=geheim")) == "https://h/x/p.csv"


def test_what_a_driver_says_is_told_without_the_passwords() -> None:
    url = parse("postgresql://u:geheim%20er@h/db?sslpassword=geheimnis")
    said = reworded(url, ValueError('invalid "geheim er"\n and geheimnis'))
    assert said == 'invalid "***" and ***'


def test_paths_are_no_urls() -> None:
    assert not any(map(is_url, ("a.csv", "/a/b", "C:\\a", "./a://b", "a:b")))


# Queries --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "engine"),
    [
        ("SELECT 1;", "postgresql"),
        ("select * from t where a = 'x; DELETE' -- ; DROP", "postgresql"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "sqlite"),
        ("SELECT payload #>> '{a,b}' FROM t WHERE (payload ->> 'c') = ')'", "postgresql"),
        ("SELECT $$ ; INSERT ( $$, $x$ it's $x$, E'it\\'s (', 'a\\' FROM t", "postgresql"),
        ('SELECT "update", "into ""x" FROM t /* ; ( */', "postgresql"),
        ("SELECT 'it\\'s (', `update` FROM t # ; (", "mysql"),
        ("SELECT [delete], replace(a, 'x', 'y') FROM t", "sqlite"),
        ("SELECT 주문번호 FROM 결제", "postgresql"),
    ],
)
def test_one_select_passes(query: str, engine: Engine) -> None:
    assert queries.check_query(query, engine) == query.rstrip(";")


@pytest.mark.parametrize(
    ("query", "engine", "told"),
    [
        ("-- nothing", "sqlite", "holds no SELECT"),
        ("DROP TABLE t", "sqlite", "begins with DROP"),
        ("EXPLAIN ANALYZE SELECT 1", "postgresql", "begins with EXPLAIN"),
        ("SELECT 1; SELECT 2", "sqlite", "more than one statement"),
        ("SELECT 1) TO PROGRAM 'id' --", "postgresql", "closes a bracket"),
        ("SELECT (1", "sqlite", "opens a bracket"),
        ("SELECT 'a", "postgresql", "opens a quote"),
        ("SELECT 1 /* x", "postgresql", "opens a quote or comment"),
        ("SELECT 1 /*! INTO OUTFILE 'x' */", "mysql", "opens a quote or comment"),
        ("SELECT 'a\\'; DELETE FROM t; --'", "postgresql", "more than one statement"),
        ("SELECT * INTO u FROM t", "postgresql", "holds INTO"),
        ("WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "postgresql", "holds DELETE"),
        ("SELECT * FROM t FOR SHARE", "postgresql", "holds SHARE"),
    ],
)
def test_anything_else_is_refused_with_what_was_seen(query: str, engine: Engine, told: str) -> None:
    with pytest.raises(UsageError, match="--query") as caught:
        queries.check_query(query, engine)
    assert told in caught.value.message


def test_since_is_a_moment_in_the_zone_given_else_in_utc() -> None:
    assert queries.read_since("2026-11-01", None).isoformat() == "2026-11-01T00:00:00+00:00"
    assert queries.read_since("2026-11-01 09:00", "Asia/Seoul").isoformat() == "2026-11-01T00:00:00+00:00"
    assert queries.read_since("2026-11-01T09:00+09:00", "Europe/Berlin").isoformat() == "2026-11-01T00:00:00+00:00"
    with pytest.raises(UsageError, match="expected a day or time"):
        queries.read_since("yesterday", None)


# Records --------------------------------------------------------------------------------------------------------

_CELL = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=9), st.integers(1, 9))
def test_cells_come_back_from_a_batch_as_they_went_in(rows: list[tuple[str | None, str | None]], cut: int) -> None:
    """Also when a record comes in pieces; NULL apart from the empty text."""
    connection = duckdb.connect()
    text = b"".join(record([None if c is None else c.encode() for c in row]) for row in rows)
    pieces = (text[i : i + cut] for i in range(0, len(text), cut))
    columns = [Column("a", "text"), Column("b", "text")]
    with TemporaryDirectory() as folder:
        assert spool.spool(connection, pieces, columns, Path(folder), lambda _: None) == len(rows)
    assert connection.execute("SELECT * FROM spooled").fetchall() == rows


def test_batches_are_of_bounded_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "BATCH_ROWS", 10)
    told: list[int] = []
    rows = (record([str(n).encode()]) for n in range(25))
    assert spool.spool(duckdb.connect(), rows, [Column("n", "integer")], tmp_path, told.append) == 25
    assert told == [10, 20]


# SQLite ---------------------------------------------------------------------------------------------------------


def _shop(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


_TABLE = (  # SQLite makes numbers of these amounts, and rounds the first to 15 digits
    "CREATE TABLE payments (order_id TEXT, amount NUMERIC, currency TEXT, created_at TEXT, rest BLOB)",
    (
        "INSERT INTO payments VALUES ('A1', '12345678901234.5678', 'EUR', '2026-11-01T00:00:00Z', NULL), "
        "('A2', '0.10', 'EUR', '2026-11-01 12:00:00.5+09:00', x'00ff'), ('A3', '2', 'EUR', '2026-11-02T00:00:00Z', '')"
    ),
)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small SQLite database; amounts as text, since SQLite has no decimals."""
    return _shop(tmp_path / "shop.db", _TABLE[0].replace("NUMERIC", "TEXT"), _TABLE[1])


def _load(desk: Desk, place: Path | str, **options: Any) -> Any:
    loaded = desk.load(place, **options)  # type: ignore[arg-type]
    assert loaded.refused == ()
    (source,) = loaded.sources
    assert source.rows_read == source.rows_loaded + source.rows_rejected
    return source


@pytest.mark.parametrize("spelt", ["{}", "sqlite:///{}"])
def test_a_sqlite_file_is_read_by_its_path_or_its_url(desk: Desk, shop: Path, spelt: str) -> None:
    before = shop.read_bytes()
    place = Path(shop) if spelt == "{}" else spelt.format(shop)
    source = _load(desk, place, tables=("payments",))
    assert (source.path, source.format, source.kind) == (f"{shop}#payments", "sqlite", "payments")
    assert desk.rows("SELECT order_id, amount, CAST(created_at AS VARCHAR), extra FROM payments ORDER BY 1") == [
        ("A1", Decimal("12345678901234.5678"), "2026-11-01 00:00:00", '{"rest":null}'),
        ("A2", Decimal("0.1000"), "2026-11-01 03:00:00.5", '{"rest":"\\\\x00ff"}'),
        ("A3", Decimal("2.0000"), "2026-11-02 00:00:00", '{"rest":""}'),
    ]
    assert [p.name for p in shop.parent.glob("shop.db*")] == ["shop.db"]
    assert shop.read_bytes() == before


def test_numbers_of_sqlite_keep_what_sqlite_kept(desk: Desk, tmp_path: Path) -> None:
    path = _shop(tmp_path / "n.db", *_TABLE, "UPDATE payments SET amount = 12.25 WHERE order_id = 'A1'")
    source = _load(desk, path, tables=("payments",))
    assert [a for (a,) in desk.rows("SELECT amount FROM payments ORDER BY order_id")] == [
        Decimal("12.2500"),
        Decimal("0.1000"),
        Decimal("2.0000"),
    ]
    assert "floating point" in source.mapping["amount"]


@pytest.mark.parametrize(
    ("since", "zone", "rows"),
    [("2026-11-01T03:00Z", None, 2), ("2026-11-01T12:00", "Asia/Seoul", 2), ("2026-11-01T12:00", None, 1)],
)
def test_since_is_held_against_texts_of_any_offset(
    desk: Desk, shop: Path, since: str, zone: str | None, rows: int
) -> None:
    assert _load(desk, shop, tables=("payments",), since=since, zone=zone).rows_read == rows


def test_a_text_that_is_no_time_is_kept_to_be_rejected(desk: Desk, shop: Path) -> None:
    _shop(shop, "INSERT INTO payments VALUES ('A4', '1', 'EUR', 'soon', NULL), ('A5', '1', 'EUR', NULL, NULL)")
    source = _load(desk, shop, tables=("payments",), since="2026-11-02")
    assert (source.rows_loaded, source.rows_rejected) == (1, 1)
    assert "'soon'" in desk.rejects()[0][1]


def test_rows_still_in_the_log_are_read_and_a_file_without_its_log_too(desk: Desk, tmp_path: Path) -> None:
    live = tmp_path / "live.db"
    with closing(sqlite3.connect(live)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        for statement in _TABLE:
            writer.execute(statement)
        writer.commit()
        assert (tmp_path / "live.db-wal").stat().st_size
        assert _load(desk, live, tables=("payments",)).rows_read == 3
    copied = tmp_path / "copied"
    copied.mkdir()
    (copied / "left.db").write_bytes(live.read_bytes())
    loaded = desk.load(copied / "left.db", tables=("payments",))
    assert len(loaded.already) == 1
    assert [p.name for p in copied.iterdir()] == ["left.db"]


def test_the_same_rows_in_another_order_are_known(desk: Desk, shop: Path) -> None:
    _load(desk, shop, tables=("payments",))
    assert desk.load(shop, query="SELECT * FROM payments ORDER BY order_id DESC").already == (f"{shop}#query",)


def test_a_query_reads_only(desk: Desk, shop: Path) -> None:
    query = "SELECT order_id, amount, created_at FROM payments WHERE order_id <> 'A1'"
    source = _load(desk, shop, query=query)
    assert (source.rows_loaded, source.notes[0]) == (2, f"query: {query}")
    with pytest.raises(UsageError, match="begins with INSERT"):
        desk.load(shop, query="INSERT INTO payments VALUES (1)")
    with pytest.raises(UsageError, match="expected one of the two"):
        desk.load(shop, query=query, tables=("payments",))


def test_names_that_need_quotes_are_names(desk: Desk, tmp_path: Path) -> None:
    path = _shop(
        tmp_path / "odd ?#%.db",
        'CREATE TABLE "we""ird; table" (order_id, amount, created_at, "a""b; --")',
        "INSERT INTO \"we\"\"ird; table\" VALUES ('O1', 5, '2026-11-01', '=1+1'), "
        "('O2', 5, '2026-11-01', 'x' || char(0) || 'y')",
    )
    assert _load(desk, path, tables=('we"ird; table',)).rows_loaded == 2
    assert [json.loads(e) for (e,) in desk.rows("SELECT extra FROM payments ORDER BY line_no")] == [
        {'a"b; --': "=1+1"},
        {'a"b; --': "x\ufffdy"},
    ]


def test_what_goes_wrong_with_a_file_is_told(desk: Desk, shop: Path, tmp_path: Path) -> None:
    def told(place: Path | str, **options: Any) -> str:
        (refused,) = desk.load(place, **options).refused  # type: ignore[arg-type]
        return f"{refused.message} ({refused.hint})"

    _shop(shop, "CREATE TABLE none (order_id TEXT)")
    text = desk.file("order_id\n1\n", "a.csv")
    assert "there is no table 'payment' (did you mean payments?)" in told(shop, tables=("payment",))
    assert "it has no rows" in told(shop, tables=("none",))
    assert "no such column: nope" in told(shop, query="SELECT nope FROM payments")
    assert "this is no SQLite database" in told(f"sqlite:///{text}", tables=("payments",))
    assert "there is no such file" in told(f"sqlite:///{tmp_path}/nope.db", tables=("payments",))
    assert "this is a SQLite database" in told(shop)
    assert "say which table of it: --table payments" in told(shop)
    broken = tmp_path / "broken.db"
    broken.write_bytes(shop.read_bytes()[:4096] + bytes(5000))
    assert "malformed" in told(broken, tables=("payments",)) or "cannot be" in told(broken, tables=("payments",))


def test_options_of_databases_without_a_database_are_wrong_use(desk: Desk) -> None:
    for options in ({"tables": ("payments",)}, {"query": "SELECT 1"}, {"since": "2026-11-01"}):
        with pytest.raises(UsageError, match="for databases; none was given"):
            desk.load(desk.file("a,b\n1,2\n"), **options)
    with pytest.raises(UsageError, match="--where-time"):
        desk.load(desk.file("a,b\n1,2\n"), where_time="x")


def test_files_and_databases_are_loaded_side_by_side(desk: Desk, shop: Path) -> None:
    head = "order_id,amount,currency,created_at\nB1,1.00,EUR,2026-11-01T00:00:00Z\n"
    loaded = desk.load(desk.file(head), shop, tables=("payments",))
    assert [s.format for s in loaded.sources] == ["csv", "sqlite"]


def test_the_libraries_of_servers_are_not_imported_unless_one_is_read() -> None:
    script = "import sys, forensics.case; print([m for m in ('psycopg', 'pymysql') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


# Files at URLs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["https://u:geheim@host/payments.csv?sig=geheim", "s3://bucket/payments.parquet"])
def test_a_file_at_a_url_is_refused_where_the_extension_is_missing(
    desk: Desk, address: str, without_httpfs: Callable[[], None]
) -> None:
    without_httpfs()
    (refused,) = desk.load(address).refused  # type: ignore[arg-type]
    assert "httpfs, which is not installed" in refused.message
    assert "geheim" not in f"{refused}"


@pytest.fixture
def without_httpfs(desk: Desk, tmp_path: Path) -> Callable[[], None]:
    """Let DuckDB look for its extensions in an empty folder."""
    return lambda: desk.connection.execute("SET extension_directory = $1", [str(tmp_path)]) and None


def test_what_duckdb_can_fetch_is_recognised_like_any_file(desk: Desk, tmp_path: Path) -> None:
    path = desk.file("order_id,amount,created_at\nA1,1.00,2026-11-01T00:00:00Z\n", "far.csv")
    (tmp_path / "work").mkdir()
    fetched = remote.copy_blob(desk.connection, parse("https://h/x/far.csv"), f"file://{path}", tmp_path / "work")
    assert (fetched.name, fetched.read_bytes()) == ("far.csv", path.read_bytes())
    with pytest.raises(EvidenceError, match=r"https://h/far\.csv: there is no such file"):
        remote.copy_blob(desk.connection, parse("https://h/far.csv?sig=x"), "file:///nope", tmp_path / "work")


def test_an_unknown_scheme_is_told_with_the_known_ones(desk: Desk) -> None:
    with pytest.raises(UsageError, match="oracle://: this is no place") as caught:
        databases.places(["oracle://u:pw@h/db"], _options())
    assert "postgresql://" in (caught.value.hint or "")
    assert databases.places(["a.csv", Url("s3", "remote", path="b/k")], _options())[0] == Path("a.csv")


def _options() -> Any:
    from forensics.sources.options import Options

    return Options()
