"""Headers are known by name, whatever a product puts around it; unnamed fields by their content."""

from __future__ import annotations

import pytest

from forensics.sources.logs import fields as log_fields
from forensics.sources.logs import guess as log_guess


@pytest.mark.parametrize(
    ("name", "role", "base"),
    [
        ("X-Retry-Attempt", "attempt", None),
        ("$http_x_stainless_retry_count", "attempt", 0),
        ("request_headers_x_envoy_attempt_count", "attempt", 1),
        ("retry_no", "attempt", None),
        ("attempt", "attempt", None),
        ("http_idempotency_key", "idempotency_key", None),
        ("idem_key", "idempotency_key", None),
        ("PayPal-Request-Id", "idempotency_key", None),
        ("reqId", "request_id", None),
        ("x-correlation-id", "request_id", None),
        ("traceparent", "trace_id", None),
        ("traceId", "trace_id", None),
        ("payment_deadline", "deadline", None),
        ("sent_http_retry_after", "retry_after", None),
        ("orderNo", "order_id", None),
    ],
)
def test_a_header_is_known_by_its_name(name: str, role: str, base: int | None) -> None:
    field = log_fields.header(name)
    assert field is not None
    assert (field.role, field.base) == (role, base)


@pytest.mark.parametrize("name", ["max_retries", "x-envoy-max-retries", "idempotent-replayed", "is_retry", "host", ""])
def test_what_is_no_counter_and_no_id_is_left(name: str) -> None:
    assert log_fields.header(name) is None


def test_of_two_request_ids_the_callers_own_stays() -> None:
    fields = (log_fields.Field("request_id", "$request_id"), log_fields.Field("request_id", "$http_x_request_id"))
    assert [f.role for f in log_fields.settled(fields)] == ["other", "request_id"]


KEYS = tuple(f"3fa85f64-5717-4562-b3fc-2c963f66af{i:02x}" for i in range(6))
IDS = tuple(f"9c1185f6-1111-4562-b3fc-2c963f66af{i:02x}" for i in range(6))


def column(values: tuple[str, ...], methods: str = "PPGPGP", statuses: tuple[str, ...] = ()) -> log_guess.Column:
    names = {"P": "POST", "G": "GET"}
    return log_guess.Column(
        "here", values, tuple(names[m] for m in methods), statuses or ("200",) * len(values), bare=True
    )


def roles(*columns: log_guess.Column) -> list[tuple[str, str]]:
    fields, _ = log_guess.guess(columns)
    return [(f.role, f.unit) for f in fields]


def test_keys_go_with_changing_requests_and_request_ids_with_all() -> None:
    key = column(tuple("-" if i in (2, 4) else k for i, k in enumerate(KEYS)))
    assert roles(key, column(IDS)) == [("idempotency_key", ""), ("request_id", "")]
    assert roles(column(IDS), key) == [("request_id", ""), ("idempotency_key", "")]


def test_where_both_are_always_there_the_key_stands_next_to_the_attempt() -> None:
    attempt = column(("1", "1", "1", "2", "1", "1"), "PPPPPP")
    ids, keys = column(IDS, "PPPPPP"), column(KEYS, "PPPPPP")
    assert [r for r, _ in roles(ids, keys, attempt)] == ["request_id", "idempotency_key", "attempt"]
    assert [r for r, _ in roles(attempt, keys, ids)] == ["attempt", "idempotency_key", "request_id"]


def test_one_id_on_every_line_is_a_request_id() -> None:
    assert roles(column(IDS)) == [("request_id", "")]


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (("0.105", "0.083", "3.001", "0.001", "0.002", "0.003"), ("duration", "s")),
        (("38234", "45573", "3220", "4410", "3009999", "5120"), ("duration", "us")),
        (("0.038956", "0.044744", "0.030414", "0.1", "0.036151", "0.040053"), ("other", "")),
        (("184ms", "2ms", "30001ms", "1ms", "0ms", "4ms"), ("duration", "text")),
        (("1", "1", "-", "2", "-", "1"), ("attempt", "")),
        (("0", "3", "0", "10", "0", "30"), ("duration", "s")),
        (("0", "0", "0", "0", "0", "0"), ("duration", "s")),
        (("0", "0", "-", "1", "-", "0"), ("attempt", "")),
        (("-", "-", "-", "-", "-", "-"), ("undecided", "")),
        (("203.0.113.4, 198.51.100.1", "203.0.113.4", "-", "-", "-", "2001:db8::1"), ("forwarded_for", "")),
        (("127.0.0.1:18601", "127.0.0.1:18602", "-", "-", "-", "127.0.0.1:18601"), ("other", "")),
    ],
)
def test_a_field_is_known_by_its_values(values: tuple[str, ...], role: tuple[str, str]) -> None:
    assert roles(column(values)) == [role]


def test_numbers_beside_503_only_are_a_retry_after() -> None:
    statuses = ("200", "503", "200", "503", "200", "429")
    assert roles(column(("-", "1", "-", "2", "-", "1"), statuses=statuses)) == [("retry_after", "s")]


def test_a_zero_beside_a_finer_duration_is_an_attempt() -> None:
    took = column(("0.105", "0.083", "3.001", "0.001", "0.002", "0.003"))
    assert roles(took, column(("0",) * 6)) == [("duration", "s"), ("attempt", "")]


def test_the_longer_of_two_times_is_the_whole_request() -> None:
    upstream = column(("0.100", "0.050", "-", "0.010", "-", "0.020"))
    whole = column(("0.105", "0.060", "0.001", "0.011", "0.001", "0.021"))
    assert roles(upstream, whole) == [("other", "s"), ("duration", "s")]
