"""Ledger rows in sight, and cases that hold just the rows a test gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow
import pytest

from forensics import schema, store
from forensics.detect.rows import LedgerRow
from forensics.runner import Runner

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
Rows = Sequence[Mapping[str, Any]]
Given = Callable[..., Runner]
MakeRow = Callable[..., LedgerRow]
# `at` is seconds after noon; a row stands in the file of its table, at its place in the list.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "payments": {"source_id": 1, "order_id": "A", "amount": Decimal(10000), "currency": "KRW", "status": "captured"}
    | {"kind": "charge"},
    "requests": {"source_id": 2, "method": "POST", "path": "/v1/payments", "route": "/v1/payments", "status": 201},
    "deliveries": {"source_id": 3, "message_id": "M1", "business_key": "A"},
    "settlements": {"source_id": 4, "currency": "KRW", "movement": "payment"},
    "idempotency_log": {"source_id": 5, "status": "processed"},
    "clock_folds": {"source_id": 1, "shown": "twice"},
    "dead_letters": {"source_id": 4, "reason": "503 Service Unavailable", "attempts": 5, "original": "{}"},
}
TIMES = {
    "payments": "created_at",
    "requests": "started_at",
    "deliveries": "delivered_at",
    "settlements": "settled_at",
} | {
    "dead_letters": "first_failed_at",
    "idempotency_log": "created_at",
    "clock_folds": "read_at",
}


def make_row(at: float, **cells: Any) -> LedgerRow:
    """A captured charge of 10000 KRW for order A, `at` seconds after noon, at a line of that number."""
    line = {"line_no": int(at), "payment_id": f"P{at:g}"}
    filled: dict[str, Any] = {**DEFAULTS["payments"], "created_at": NOON + timedelta(seconds=at), **line, **cells}
    filled.setdefault("business_key", filled["order_id"])
    filled["amount"] = Decimal(filled["amount"])
    return LedgerRow(**{field.name: filled.get(field.name) for field in fields(LedgerRow)})


@pytest.fixture(scope="session")
def empty_case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A case without evidence; what a test writes is rolled back."""
    connection = store.open_for_loading(tmp_path_factory.mktemp("case") / "case.duckdb")
    yield connection
    connection.close()


@pytest.fixture
def given(empty_case: duckdb.DuckDBPyConnection) -> Iterator[Given]:
    """A runner on a case that holds the given rows of each table, and nothing else."""
    empty_case.execute("BEGIN TRANSACTION")

    def fill(**tables: Rows) -> Runner:
        for table, rows in tables.items():
            if rows:
                _insert(empty_case, table, rows)
        return Runner(empty_case)

    yield fill
    empty_case.execute("ROLLBACK")


@pytest.fixture(scope="session")
def row() -> MakeRow:
    """Makes ledger rows."""
    return make_row


def _insert(connection: duckdb.DuckDBPyConnection, table: str, rows: Rows) -> None:
    names = [column.name for column in schema.table(table).columns]
    cells = [_cells(table, names, n, row) for n, row in enumerate(rows, 1)]
    columns = dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))
    connection.register("given_rows", pyarrow.table(columns))
    connection.execute(f"INSERT INTO {table} SELECT {', '.join(names)} FROM given_rows")
    connection.unregister("given_rows")


def _cells(table: str, names: Sequence[str], n: int, row: Mapping[str, Any]) -> list[Any]:
    filled = {"line_no": n, **DEFAULTS[table], **row}
    moment = NOON + timedelta(seconds=filled.pop("at"))
    filled[TIMES[table]] = moment.replace(tzinfo=None)
    unknown = filled.keys() - set(names)
    assert not unknown, f"no such column: {', '.join(sorted(unknown))}"
    return [filled.get(name) for name in names]
