"""Laws of the settlement: the difference is the sum of its parts, exactly, whatever is dropped, doubled or changed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics import store
from forensics.detect.settlement import PARTS, measure_settlement
from forensics.model import RepeatRow
from forensics.runner import Runner

START = datetime.fromisoformat("2026-03-01T00:00:00")
CURRENCIES = ("KRW", "USD", None)


@dataclass(frozen=True, slots=True)
class Line:
    """A payment of the ledger and what becomes of it at the provider."""

    order: int
    cents: int
    refund: bool
    currency: str | None
    at_min: int
    reference: int | None
    booked: int
    """Rows of the ledger for it."""
    settled: int
    """Rows of the settlement for it."""
    off: int
    """Cents by which the provider's amount differs."""
    fee: int
    role: str
    """What the check for duplicates says of its ledger rows; the law holds whatever it says."""


LINES = st.lists(
    st.builds(
        Line,
        order=st.integers(0, 4),
        cents=st.sampled_from([100, 250, 1999]),
        refund=st.booleans(),
        currency=st.sampled_from(CURRENCIES),
        at_min=st.integers(0, 3000),
        reference=st.none() | st.integers(0, 6),
        booked=st.integers(0, 2),
        settled=st.integers(0, 2),
        off=st.sampled_from([0, 0, 0, -1, 50]),
        fee=st.integers(0, 30),
        role=st.sampled_from(["", "kept", "excess", "refunded", "legitimate", "recorded_twice", "not_an_effect"]),
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A case without evidence; each example is rolled back."""
    opened = store.open_for_loading(tmp_path_factory.mktemp("case") / Path("case.duckdb"))
    yield opened
    opened.close()


def insert(connection: duckdb.DuckDBPyConnection, lines: list[Line]) -> list[RepeatRow]:
    """Write the lines into the case; the judged rows, of which the settlement reads place, group and role only."""
    ledger, settled, roles = [], [], []
    for line in lines:
        sign = -1 if line.refund else 1
        reference = None if line.reference is None else f"t-{line.reference}"
        at = START + timedelta(minutes=line.at_min)
        amount = sign * Decimal(line.cents) / 100
        for copy in range(line.booked):
            kind = "refund" if line.refund else "charge"
            booked_at = at + timedelta(seconds=copy)
            ledger.append((f"O{line.order}", amount, line.currency, kind, booked_at, reference))
            place = {"source_id": 1, "line_no": len(ledger)}
            roles += [SimpleNamespace(**place, group_id=f"{line.order}", role=line.role)] if line.role else []
        for copy in range(line.settled):
            gross = amount + sign * Decimal(line.off) / 100
            net = gross - Decimal(line.fee) / 100
            settled_at = at + timedelta(seconds=copy + 1)
            settled.append((f"O{line.order}", gross, net, line.currency, settled_at, reference))
    for n, row in enumerate(ledger, 1):
        connection.execute(
            "INSERT INTO payments (source_id, line_no, status, order_id, amount, currency, kind, created_at, "
            "provider_ref) VALUES (1, ?, 'captured', ?, ?, ?, ?, ?, ?)",
            [n, *row],
        )
    for n, found in enumerate(settled, 1):
        connection.execute(
            "INSERT INTO settlements (source_id, line_no, order_id, amount, net, currency, settled_at, provider_ref) "
            "VALUES (2, ?, ?, ?, ?, ?, ?, ?)",
            [n, *found],
        )
    return cast("list[RepeatRow]", roles)


def added_up(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    sums.update(dict(connection.execute(sql).fetchall()))
    return sums


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(lines=LINES)
def test_the_difference_is_the_sum_of_its_parts_in_every_currency(
    connection: duckdb.DuckDBPyConnection, lines: list[Line]
) -> None:
    connection.execute("BEGIN TRANSACTION")
    try:
        judged = insert(connection, lines)
        found = measure_settlement(Runner(connection), judged, ("UTC",))
        if found is None:
            assert not any(line.settled for line in lines)
            return
        settlement = found.settlement
        for currency, difference in settlement.difference.items():
            assert difference == sum(getattr(settlement, name)[currency] for name in PARTS)
            assert difference == settlement.ledger_total[currency] - settlement.provider_total[currency]
        total = added_up(connection, "SELECT currency, sum(amount) FROM movements GROUP BY currency")
        again = [u.row for u in found.unsettled if u.label == "recorded_twice"]
        for row in again:
            total[row["currency"]] -= row["amount"]
        assert {c: total[c] for c in settlement.ledger_total} == settlement.ledger_total
        paid = connection.execute("SELECT coalesce(sum(net), 0) FROM settlements").fetchall()[0][0]
        assert sum(settlement.provider_total.values()) == paid
        counts = settlement.counts
        rows = connection.execute("SELECT count(*) FROM movements").fetchall()[0][0]
        assert counts["matched_ledger_rows"] + counts["ledger_only"] + len(again) == rows
    finally:
        connection.execute("ROLLBACK")
