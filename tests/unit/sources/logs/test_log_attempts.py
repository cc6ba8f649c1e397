"""The number of the first try is learned from the whole column."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pytest

from forensics import schema
from forensics.sources.logs import settle_attempts

START = datetime(2027, 1, 2, 1, 15, 30)  # noqa: DTZ001  (tables of a case hold naive UTC)


def settled(
    attempts: list[tuple[str | None, int | None]], link: str = "idempotency_key"
) -> tuple[list[int | None], str | None]:
    """Attempts after settling, and the words, for lines one second apart of (act, number sent)."""
    with duckdb.connect() as connection:
        connection.execute(schema.ddl(schema.REQUESTS))
        for number, (act, attempt) in enumerate(attempts, 1):
            connection.execute(
                "INSERT INTO requests "
                f"(source_id, line_no, started_at, method, path, route, attempt, attempt_source, {link}) "
                "VALUES (1, ?, ?, 'POST', '/p', '/p', ?, CASE WHEN ? IS NOT NULL THEN 'x_retry' END, ?)",
                [number, START + timedelta(seconds=number), attempt, attempt, act],
            )
        words = settle_attempts(connection, 1)
        return [a for (a,) in connection.execute("SELECT attempt FROM requests ORDER BY line_no").fetchall()], words


def test_numbers_from_0_become_numbers_from_1() -> None:
    assert settled([("a", 0), ("b", 0), ("b", 1), ("b", 2)]) == (
        [1, 1, 2, 3],
        "x_retry counts tries from 0: 1 was added",
    )


def test_numbers_from_1_stay() -> None:
    assert settled([("a", 1), ("b", 1), ("b", 2), ("c", None)]) == ([1, 1, 2, None], "x_retry counts tries from 1")


@pytest.mark.parametrize("link", ["idempotency_key", "request_id", "trace_id", "order_id", "client"])
def test_a_number_sent_on_retries_only_makes_its_1_the_second_try(link: str) -> None:
    found, words = settled([("a", None), ("b", None), ("b", 1), ("b", 2), ("c", None), ("c", 1)], link)
    assert found == [None, None, 2, 3, None, 2]
    assert words == "x_retry is sent on retries only, so its 1 is the second try: 1 was added"


def test_a_few_zeros_among_many_ones_are_no_numbers() -> None:
    found, words = settled([("a", 0), *[(f"b{i}", 1) for i in range(40)]])
    assert found == [None, *[1] * 40]
    assert words == "x_retry counts tries from 1; 1 lines with 0 count as without a number"


def test_numbers_that_begin_at_2_are_retries() -> None:
    assert settled([("a", None), ("a", 2)]) == ([None, 2], "x_retry is sent from the second try on")


def test_a_log_without_numbers_says_nothing() -> None:
    assert settled([("a", None)]) == ([None], None)


def test_another_source_is_left_alone() -> None:
    with duckdb.connect() as connection:
        connection.execute(schema.ddl(schema.REQUESTS))
        for source in (1, 2):
            connection.execute(
                "INSERT INTO requests (source_id, line_no, started_at, method, path, route, attempt) "
                "VALUES (?, 1, ?, 'POST', '/p', '/p', 0)",
                [source, START],
            )
        settle_attempts(connection, 1)
        assert connection.execute("SELECT attempt FROM requests ORDER BY source_id").fetchall() == [(1,), (0,)]
