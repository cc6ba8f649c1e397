"""Laws of loading: order and packing of the evidence do not matter, and no bytes make it break."""

from __future__ import annotations

import gzip
import io
import random
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forensics import store
from forensics.case import Case
from forensics.sources.load import load_files
from forensics.sources.options import Options

HEAD = "payment_id,order_id,amount,currency,created_at,status,instrument\n"

PAYMENT = st.tuples(
    st.integers(1, 6),  # order
    st.sampled_from(["10.00", "25.50"]),
    st.integers(0, 86_399),  # second of the day
    st.sampled_from(["captured", "captured", "captured", "failed", "refunded", "authorised"]),
    st.sampled_from(["card-1", "card-2"]),
)
LEDGERS = st.lists(PAYMENT, min_size=4, max_size=24, unique_by=lambda p: p[2])


def _lines(ledger: Sequence[tuple[int, str, int, str, str]]) -> list[str]:
    return [
        f"P{second},ORD-{order},{amount},EUR,2026-03-14T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z,"
        f"{status},{card}\n"
        for order, amount, second, status, card in ledger
    ]


Verdicts = tuple[Counter[tuple[object, ...]], Counter[tuple[str, str, Decimal, str]]]


def _verdicts(*parts: Sequence[str]) -> Verdicts:
    """What is loaded from files of these lines, and what a scan makes of it."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for n, lines in enumerate(parts):
            paths.append(Path(folder) / f"part{n}.csv")
            paths[-1].write_text(HEAD + "".join(lines))
        with Case(Path(folder) / "case.duckdb") as case:
            loaded = case.load(paths)
            assert loaded.refused == ()
            scan = case.scan()
            assert not [e for e in scan.examined if e.status == "failed"]
        connection = store.open_for_reading(Path(folder) / "case.duckdb")
        rows = connection.execute(
            "SELECT payment_id, order_id, amount, currency, created_at, status, instrument FROM payments"
        ).fetchall()
        connection.close()
    return Counter(rows), Counter((r.order_id, str(r.payment_id), r.amount, r.role) for r in scan.rows)


@settings(max_examples=4, deadline=None)
@given(ledger=LEDGERS, seed=st.integers(0, 9))
def test_shuffling_the_rows_changes_neither_what_is_loaded_nor_the_verdicts(
    ledger: list[tuple[int, str, int, str, str]], seed: int
) -> None:
    lines = _lines(ledger)
    shuffled = random.Random(seed).sample(lines, len(lines))  # noqa: S311
    assert _verdicts(lines) == _verdicts(shuffled)


@settings(max_examples=4, deadline=None)
@given(ledger=LEDGERS, data=st.data())
def test_a_ledger_in_two_files_gives_the_same_verdicts(
    ledger: list[tuple[int, str, int, str, str]], data: st.DataObject
) -> None:
    lines = _lines(ledger)
    cut = data.draw(st.integers(1, len(lines) - 1))
    assert _verdicts(lines) == _verdicts(lines[:cut], lines[cut:])


# No bytes make it break -----------------------------------------------------------------------------------------

CSV = (HEAD + "".join(_lines([(n % 3, "10.00", 61 * n, "captured", "card-1") for n in range(12)]))).encode()
JSONL = b'{"orderId":"A","amount":{"value":"1.50"},"createdAt":1773448013123}\n' * 4
LOG = b'10.0.0.1 - - [14/Mar/2026:09:00:01 +0000] "POST /pay HTTP/1.1" 200 12 "-" "curl/8"\n' * 4


def _zip(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(
        pa.table({"order_id": ["A", "B"], "amount": [1.5, 2.5], "created_at": [1773448013, 1773448014]}), buffer
    )
    return buffer.getvalue()


SEEDS = [CSV, JSONL, LOG, gzip.compress(CSV), _zip("a.csv", CSV), _zip("xl/workbook.xml", CSV), _parquet()]
SPLICES = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.binary(max_size=12)
        | st.sampled_from([b'"', b"\n", b"\r", b"\x00", b"\xff\xfe", b",,,,", b"'", b"\xef\xbb\xbf"]),
    ),
    max_size=4,
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = store.open_for_loading(Path(":memory:"))
    yield connection
    connection.close()


def _load(connection: duckdb.DuckDBPyConnection, content: bytes) -> None:
    """Load one file; it is loaded with every row accounted for, known already, or refused in one sentence."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evidence"
        path.write_bytes(content)
        loaded = load_files(connection, [path], Options())
    for source in loaded.sources:
        assert source.rows_read == source.rows_loaded + source.rows_rejected
        counted = connection.execute(
            f"SELECT count(*) FROM {source.kind} WHERE source_id = $id", {"id": source.source_id}
        ).fetchone()
        assert counted == (source.rows_loaded,)
    assert len(loaded.sources) + len(loaded.already) + len(loaded.refused) == 1
    assert all("\n" not in refused.message for refused in loaded.refused)


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=300))
def test_random_bytes_are_loaded_or_refused_and_nothing_else(
    connection: duckdb.DuckDBPyConnection, content: bytes
) -> None:
    _load(connection, content)


@settings(max_examples=100, deadline=None)
@given(seed=st.sampled_from(SEEDS), splices=SPLICES)
def test_damaged_evidence_is_loaded_or_refused_and_nothing_else(
    connection: duckdb.DuckDBPyConnection, seed: bytes, splices: list[tuple[float, int, bytes]]
) -> None:
    content = seed
    for place, drop, put in splices:
        at = int(place * len(content))
        content = content[:at] + put + content[at + drop :]
    _load(connection, content)
