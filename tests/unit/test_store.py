"""A case is written by one process and read through a connection that can touch nothing else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from forensics import schema, store
from forensics.errors import CaseError

REJECT = "INSERT INTO rejects VALUES (1, 1, 'no amount', 'x')"
HOLD = """
import sys
from pathlib import Path
from forensics import store
held = store.open_for_loading(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def case(tmp_path: Path) -> Path:
    path = tmp_path / "case.duckdb"
    store.open_for_loading(path).close()
    return path


@pytest.fixture
def reading(case: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = store.open_for_reading(case)
    yield connection
    connection.close()


def test_a_new_case_holds_the_canonical_tables_the_views_and_its_schema(reading: duckdb.DuckDBPyConnection) -> None:
    tables = reading.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    views = reading.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall()
    assert {name for (name,) in tables} == {table.name for table in schema.TABLES} | {"case_info"}
    assert ("effects",) in views
    assert reading.execute("SELECT schema FROM case_info").fetchall() == [(schema.SCHEMA_VERSION,)]


def test_opening_a_case_to_load_again_keeps_what_it_holds(case: Path) -> None:
    with store.open_for_loading(case) as connection:
        connection.execute(REJECT)
    with store.open_for_loading(case, memory_limit="500MB") as connection:
        assert connection.execute("SELECT count(*) FROM rejects").fetchall() == [(1,)]
        assert connection.execute("SELECT count(*) FROM case_info").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM '{file}'",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM glob('{folder}/*')",
        "COPY payments TO '{folder}/out.csv'",
        "COPY rejects FROM '{file}'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET memory_limit = '1GB'",
        "CREATE TABLE mine (n INTEGER)",
        "CREATE OR REPLACE VIEW effects AS SELECT 1 AS n",
        "DROP TABLE payments",
        "DELETE FROM rejects",
        "UPDATE case_info SET schema = 'x'",
        REJECT,
    ],
)
def test_the_reading_connection_refuses_everything_but_the_case(
    reading: duckdb.DuckDBPyConnection, tmp_path: Path, statement: str
) -> None:
    (tmp_path / "evidence.csv").write_text("a,b\n1,2\n")
    with pytest.raises(duckdb.Error):
        reading.execute(statement.format(file=tmp_path / "evidence.csv", folder=tmp_path)).fetchall()
    assert not (tmp_path / "out.csv").exists()


def test_a_misspelt_table_never_reads_a_python_variable(reading: duckdb.DuckDBPyConnection) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    paymets = pyarrow.table({"n": [1]})
    with pytest.raises(duckdb.CatalogException):
        reading.execute("SELECT * FROM paymets")
    assert paymets.num_rows == 1


def test_a_case_held_by_another_process_says_which(case: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(case)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        for opening in (store.open_for_loading, store.open_for_reading):
            with pytest.raises(CaseError, match="the case is open in another process") as caught:
                opening(case)
            assert str(holder.pid) in caught.value.message
            assert caught.value.hint is not None
            assert caught.value.hint.startswith("close it there")
    finally:
        holder.communicate("", timeout=30)


def test_two_processes_may_read_one_case(case: Path, reading: duckdb.DuckDBPyConnection) -> None:
    code = (
        "import sys; from pathlib import Path; from forensics import store; store.open_for_reading(Path(sys.argv[1]))"
    )
    subprocess.run([sys.executable, "-c", code, str(case)], check=True, timeout=60)
    assert reading.execute("SELECT 1").fetchall() == [(1,)]


def test_reading_a_case_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="there is no such case") as caught:
        store.open_for_reading(tmp_path / "none.duckdb")
    assert caught.value.hint == "make one with 'forensics load CASE FILE...'"
    assert not (tmp_path / "none.duckdb").exists()


@pytest.mark.parametrize("opening", [store.open_for_loading, store.open_for_reading])
@pytest.mark.parametrize("content", [b"order_id,amount\nA,1\n" * 500, b"short"])
def test_a_file_of_another_kind_is_not_a_case_and_is_left_alone(
    tmp_path: Path, opening: object, content: bytes
) -> None:
    path = tmp_path / "payments.csv"
    path.write_bytes(content)
    with pytest.raises(CaseError, match=r"payments\.csv: "):
        opening(path)  # type: ignore[operator]
    assert path.read_bytes() == content


@pytest.mark.parametrize("opening", [store.open_for_loading, store.open_for_reading])
def test_a_database_that_is_no_case_is_refused(tmp_path: Path, opening: object) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as other:
        other.execute("CREATE TABLE mine (n INTEGER)")
    with pytest.raises(CaseError, match="expected a case of schema 'forensics/5', found no case tables"):
        opening(path)  # type: ignore[operator]
    with duckdb.connect(str(path)) as other:
        assert other.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)]


@pytest.mark.parametrize("opening", [store.open_for_loading, store.open_for_reading])
def test_a_case_of_another_version_is_refused(case: Path, opening: object) -> None:
    with duckdb.connect(str(case)) as other:
        other.execute("UPDATE case_info SET schema = 'forensics/0'")
    with pytest.raises(CaseError, match="expected a case of schema 'forensics/5', found schema 'forensics/0'"):
        opening(case)  # type: ignore[operator]


def interrupted_load(connection: duckdb.DuckDBPyConnection) -> None:
    with store.transaction(connection):
        connection.execute(REJECT)
        raise KeyboardInterrupt


def test_a_transaction_that_fails_leaves_the_case_as_it_was(case: Path) -> None:
    with store.open_for_loading(case) as connection:
        with pytest.raises(KeyboardInterrupt):
            interrupted_load(connection)
        assert connection.execute("SELECT count(*) FROM rejects").fetchall() == [(0,)]


def test_a_transaction_that_ends_well_is_kept(case: Path) -> None:
    with store.open_for_loading(case) as connection, store.transaction(connection):
        connection.execute(REJECT)
    with store.open_for_reading(case) as connection:
        assert connection.execute("SELECT reason FROM rejects").fetchall() == [("no amount",)]


@pytest.mark.parametrize("name", ["plain", 'quo"ted', "주문번호", "a b; DROP TABLE x"])
def test_a_quoted_name_is_one_name_whatever_it_holds(name: str) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {store.quote(name)} (n INTEGER)")
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [(name,)]
