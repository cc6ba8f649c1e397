"""Laws of the ledger's verdicts: what must not change them, and what they must add up to."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forensics import store
from forensics.detect.causes import Setting, explain
from forensics.detect.ledger import judge_rows
from forensics.detect.second_checkouts import measure_second_checkouts
from forensics.model import RepeatRow
from forensics.runner import Runner

START = datetime.fromisoformat("2026-03-02T00:00:00")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a ledger export, named by its payment."""

    payment: int
    order: int | None
    customer: int | None
    units: int
    currency: str
    kind: str
    status: str
    card: str | None
    at_s: int


ROWS = st.lists(
    st.builds(
        Row,
        payment=st.integers(0, 9),
        order=st.none() | st.integers(0, 3),
        customer=st.none() | st.integers(0, 2),
        units=st.sampled_from([10, 10, 25]),
        currency=st.sampled_from(["KRW", "KRW", "USD"]),
        kind=st.sampled_from(["charge", "charge", "charge", "capture", "refund", "topup"]),
        status=st.sampled_from(["captured", "captured", "captured", "failed", "refunded", "pending"]),
        card=st.sampled_from([None, "a", "b"]),
        at_s=st.integers(0, 900),
    ),
    max_size=14,
    # No two rows share a moment, so that their order does not hang on the line they stand in.
    unique_by=lambda r: r.at_s,
)
LAW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
Verdicts = Mapping[int, tuple[object, ...]]


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A case without evidence; each example is rolled back."""
    opened = store.open_for_loading(tmp_path_factory.mktemp("case") / Path("case.duckdb"))
    yield opened
    opened.close()


def judge(
    connection: duckdb.DuckDBPyConnection, files: Sequence[Sequence[Row]], ahead: timedelta = timedelta()
) -> tuple[RepeatRow, ...]:
    """The rows of a ledger in some files, all judged; second checkouts after the others."""
    connection.execute("BEGIN TRANSACTION")
    try:
        for source, rows in enumerate(files, 1):
            for line, row in enumerate(rows, 2):
                connection.execute(
                    "INSERT INTO payments (source_id, line_no, payment_id, order_id, customer_id, amount, currency, "
                    "kind, status, instrument, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    [
                        *(source, line, f"P{row.payment}", None if row.order is None else f"O{row.order}"),
                        *(None if row.customer is None else f"C{row.customer}", row.units, row.currency),
                        *(row.kind, row.status, row.card, START + ahead + timedelta(seconds=row.at_s)),
                    ],
                )
        runner = Runner(connection)
        rows_judged = explain(runner, judge_rows(runner), Setting(1_000_000, 1, None, None)).rows
        again = measure_second_checkouts(runner, rows_judged)
        return rows_judged if isinstance(again, str) else (*rows_judged, *again.beside)
    finally:
        connection.execute("ROLLBACK")


def verdicts(rows: Sequence[RepeatRow], ahead: timedelta = timedelta()) -> Mapping[datetime, tuple[object, ...]]:
    """What was made of each row, named by its moment."""
    return {
        r.created_at - ahead: (r.group_id, r.role, r.cause, r.lawful_class, r.excess_probability, r.kept_payment_id)
        for r in rows
    }


@LAW
@given(ROWS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_no_verdict(
    connection: duckdb.DuckDBPyConnection, rows: list[Row], random: object
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert verdicts(judge(connection, [rows])) == verdicts(judge(connection, [shuffled]))


@LAW
@given(ROWS, st.integers(0, 14))
def test_a_file_split_in_two_gives_the_same_verdicts(
    connection: duckdb.DuckDBPyConnection, rows: list[Row], at: int
) -> None:
    assert verdicts(judge(connection, [rows])) == verdicts(judge(connection, [rows[:at], rows[at:]]))


@LAW
@given(ROWS, st.integers(1, 6))
def test_lawful_rows_of_other_customers_change_no_role_of_the_others(
    connection: duckdb.DuckDBPyConnection, rows: list[Row], more: int
) -> None:
    # Orders, customers and amounts of their own, each paid once.
    others = [Row(100 + n, 100 + n, 100 + n, 777 + n, "KRW", "charge", "captured", None, 2000 + n) for n in range(more)]
    before, after = (judge(connection, [found]) for found in (rows, [*rows, *others]))

    def roles(judged: Sequence[RepeatRow]) -> dict[datetime, tuple[str, str | None]]:
        # How likely a second checkout is rests on the whole ledger, and its place in the list with it.
        return {r.created_at: (r.role, r.lawful_class) for r in judged if r.group_id in by_rule(judged)}

    def by_rule(judged: Sequence[RepeatRow]) -> set[str]:
        return {r.group_id for r in judged} - {r.group_id for r in judged if r.role == "second_checkout"}

    shared = roles(before).keys() & roles(after).keys()
    assert {m: roles(before)[m] for m in shared} == {m: roles(after)[m] for m in shared}
    assert all(r.customer_id is None or int(r.customer_id[1:]) < 100 for r in after)


@LAW
@given(ROWS, st.sampled_from([timedelta(hours=9), timedelta(hours=-5), timedelta(hours=5, minutes=30)]))
def test_another_zone_for_the_whole_file_changes_no_verdict(
    connection: duckdb.DuckDBPyConnection, rows: list[Row], ahead: timedelta
) -> None:
    moved = verdicts(judge(connection, [rows], ahead), ahead)
    assert verdicts(judge(connection, [rows])) == moved


@LAW
@given(ROWS)
def test_every_row_of_the_ledger_is_counted_once_by_currency(
    connection: duckdb.DuckDBPyConnection, rows: list[Row]
) -> None:
    """kept + excess + refunded + lawful + no effects + recorded twice + second checkouts + single rows = all rows."""
    judged = judge(connection, [rows])
    by_role: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for row in judged:
        by_role[(row.currency, row.role)] += row.amount
    assert max(Counter((r.source_id, r.line_no) for r in judged).values(), default=1) == 1
    seen = {r.line_no for r in judged}
    for currency in ("KRW", "USD"):
        single = sum(Decimal(r.units) for n, r in enumerate(rows, 2) if r.currency == currency and n not in seen)
        named = sum((total for (code, _), total in by_role.items() if code == currency), Decimal())
        assert named + single == sum(r.units for r in rows if r.currency == currency)
    repeated = Counter(r.order for r in rows if r.order is not None and is_effect(r))
    unjudged = [r for n, r in enumerate(rows, 2) if n not in seen]
    assert not any(r.order is not None and repeated[r.order] > 1 for r in unjudged)


def is_effect(row: Row) -> bool:
    return row.kind in ("charge", "capture", "topup") and row.status in ("captured", "refunded")
