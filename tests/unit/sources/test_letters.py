"""Dead letters of many products: what stands nested where is found, and nothing is made up."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from typing import Any

import pytest

from forensics.sources.letters import gives_no_reason, shapes

BODY = {"payment_id": "pay_1", "order_id": "ORD-7", "amount": 15000}
TEXT = json.dumps(BODY)
FIRST = datetime(2026, 3, 14, 0, 26, 57)  # noqa: DTZ001  1773448017 s since 1970, as a case holds it
LAST = datetime(2026, 3, 14, 0, 34, 35, 330000)  # noqa: DTZ001
DEATH = {"count": 3, "reason": "rejected", "queue": "pay", "time": 1773448017}
WAIT = {"count": 2, "reason": "expired", "queue": "pay.wait", "time": 1773448019}
RABBIT = {"x-death": [DEATH, WAIT], "x-first-death-queue": "pay", "x-first-death-reason": "rejected"}

# product, one exported object, what a case must hold of it (message_id, reason, attempts, first, last, queue)
EXPORTS: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    (
        "rabbitmq_x_death",
        {"message_id": "m", "headers": RABBIT, "payload": BODY},
        ("m", "rejected", 3, FIRST, None, "pay"),
    ),
    (
        "rabbitmq_x_death",
        {"properties": {"message_id": "m", "headers": {"x-death": [{**DEATH, "count": 1}]}}, "payload": TEXT},
        ("m", "rejected", 1, FIRST, FIRST, "pay"),
    ),
    (
        "sqs_message",
        {
            "MessageId": "m",
            "Body": TEXT,
            "Attributes": {
                "ApproximateReceiveCount": "6",
                "ApproximateFirstReceiveTimestamp": "1773448017000",
                "DeadLetterQueueSourceArn": "arn:pay",
            },
        },
        ("m", None, 6, FIRST, None, "arn:pay"),
    ),
    (
        "sqs_message",
        {"messageId": "m", "receiptHandle": "r", "body": TEXT, "attributes": {"ApproximateReceiveCount": "2"}},
        ("m", None, 2, None, None, None),
    ),
    (
        "eventbridge_dlq",
        {
            "MessageId": "m",
            "Body": TEXT,
            "Attributes": {"SentTimestamp": "1773448017000"},
            "MessageAttributes": {
                "RULE_ARN": {"StringValue": "arn:rule"},
                "TARGET_ARN": {"StringValue": "arn:pay"},
                "ERROR_CODE": {"StringValue": "TIMEOUT"},
                "ERROR_MESSAGE": {"StringValue": "no answer"},
                "RETRY_ATTEMPTS": {"StringValue": "4"},
            },
        },
        ("m", "TIMEOUT: no answer", 5, None, FIRST, "arn:pay"),
    ),
    (
        "lambda_destination",
        {
            "timestamp": "2026-03-14T00:34:35.330Z",
            "requestContext": {"requestId": "m", "functionArn": "arn:pay", "condition": "RetriesExhausted"}
            | {"approximateInvokeCount": 3},
            "requestPayload": BODY,
            "responsePayload": {"errorType": "TimeoutError", "errorMessage": "no answer"},
        },
        ("m", "TimeoutError: no answer", 3, None, LAST, "arn:pay"),
    ),
    (
        "kafka_connect_dlq",
        {
            "ts": 1773448017000,
            "headers": [
                *("__connect.errors.topic", "pay", "__connect.errors.partition", "3"),
                *("__connect.errors.offset", "8", "__connect.errors.exception.class.name", "java.sql.SQLException"),
            ],
            "payload": TEXT,
        },
        ("pay: 3: 8", "java.sql.SQLException", None, None, FIRST, "pay"),
    ),
    (
        "gcp_pubsub_dead_letter",
        {
            "message": {
                "data": base64.b64encode(TEXT.encode()).decode(),
                "attributes": {"CloudPubSubDeadLetterSourceDeliveryCount": "5"}
                | {"CloudPubSubDeadLetterSourceSubscription": "pay"},
                "messageId": "m",
                "publishTime": "2026-03-14T00:34:35.330Z",
            }
        },
        ("m", None, 5, None, LAST, "pay"),
    ),
    (
        "azure_service_bus_dlq",
        {"MessageId": "m", "DeliveryCount": 10, "DeadLetterReason": "MaxDeliveryCountExceeded", "Body": TEXT},
        ("m", "MaxDeliveryCountExceeded", 10, None, None, None),
    ),
    (
        "sidekiq_dead",
        {
            "jid": "m",
            "class": "Pay",
            "args": [BODY],
            "queue": "pay",
            "error_class": "Net::ReadTimeout",
            "retry_count": 5,
        }
        | {"error_message": "late", "failed_at": 1773448017, "retried_at": 1773448475330},
        ("m", "Net::ReadTimeout: late", 6, FIRST, LAST, "pay"),
    ),
    (
        "jsonl",
        {"id": 771, "originalMessage": TEXT, "error": "late", "retryCount": 5, "failedAt": "2026-03-14T00:34:35.330Z"}
        | {"metadata": {"topic": "pay"}},
        ("771", "late", 5, None, LAST, "pay"),
    ),
]


@pytest.mark.parametrize(
    ("product", "export", "held"), EXPORTS, ids=[f"{p} {n}" for n, (p, _, _) in enumerate(EXPORTS)]
)
def test_a_product_s_letter_is_read_from_where_it_keeps_things(
    desk: Any, product: str, export: dict[str, Any], held: tuple[Any, ...]
) -> None:
    source = desk.source(json.dumps(export) + "\n", "dlq.jsonl")
    assert (source.kind, source.format) == ("dead_letters", product)
    read = "message_id, reason, attempts, first_failed_at, last_failed_at, queue"
    assert desk.rows(f"SELECT {read} FROM dead_letters") == [held]
    assert desk.rows("SELECT business_key FROM dead_letters") == [("ORD-7",)]


def test_a_message_parked_by_hand_lacks_what_the_broker_never_wrote(desk: Any) -> None:
    dead = {"message_id": "a", "headers": RABBIT, "payload": BODY}
    parked = {"message_id": "b", "headers": {}, "payload": BODY}
    desk.source("".join(json.dumps(x) + "\n" for x in (dead, parked)), "dlq.jsonl")
    columns = "reason, attempts, first_failed_at, business_key"
    assert desk.rows(f"SELECT {columns} FROM dead_letters WHERE message_id = 'b'") == [(None, None, None, "ORD-7")]


@pytest.mark.parametrize("nothing", ["", None, "absent"])
def test_an_empty_a_null_and_an_absent_field_are_all_missing(desk: Any, nothing: str | None) -> None:
    full = {"msg_id": "a", "reason": "503", "attempts": 5, "first_failed_at": "2026-03-14T00:26:57Z", "original": BODY}
    fields = ("reason", "attempts", "first_failed_at")
    bare = {k: nothing if k in fields else v for k, v in full.items() if not (nothing == "absent" and k in fields)}
    desk.source("".join(json.dumps(x) + "\n" for x in (full, {**bare, "msg_id": "b"})), "dlq.jsonl")
    assert desk.rows("SELECT reason, attempts, first_failed_at FROM dead_letters ORDER BY message_id") == [
        ("503", 5, FIRST),
        (None, None, None),
    ]


@pytest.mark.parametrize(
    ("original", "key"),
    [
        (BODY, "ORD-7"),
        (TEXT, "ORD-7"),
        (json.dumps(TEXT), "ORD-7"),
        ({"detail": {"order": {"orderNo": 4711}}}, "4711"),
        ('{"order_id": "ORD-7", "amo', "ORD-7"),
        ('{"order_id": "ORD', None),
        ({"order_id": None}, None),
        ('O:7:"Capture":1:{s:7:"orderId";s:5:"ORD-7";}', "ORD-7"),
        (["ORD-7", 15000], None),
    ],
)
def test_the_business_key_is_found_in_the_message_or_not_at_all(desk: Any, original: Any, key: str | None) -> None:
    line = {"msg_id": "a", "reason": "503", "attempts": 5, "original": original}
    desk.source(json.dumps(line) + "\n", "dlq.jsonl")
    assert desk.rows("SELECT business_key FROM dead_letters") == [(key,)]


def test_a_table_of_failed_jobs_is_one_of_dead_letters(desk: Any) -> None:
    payload = json.dumps({"uuid": "u", "data": {"command": 's:7:"orderId";s:5:"ORD-7";'}}).replace('"', '""')
    desk.source(
        f'id,uuid,connection,queue,payload,exception,failed_at\n17,u,redis,pay,"{payload}",Late,2026-03-14T00:34:35.330Z\n',
        "failed_jobs.csv",
    )
    columns = "business_key, reason, queue, last_failed_at"
    assert desk.rows(f"SELECT {columns} FROM dead_letters") == [("ORD-7", "Late", "pay", LAST)]


def test_json_lines_that_are_no_letters_stay_what_they_are(desk: Any) -> None:
    line = {"id": "p", "order_id": "A", "amount": "10", "currency": "KRW", "status": "captured"}
    source = desk.source(json.dumps({**line, "created_at": "2026-03-14T00:26:57Z"}) + "\n", "payments.jsonl")
    assert (source.kind, source.format) == ("payments", "jsonl")


def test_products_that_give_no_reason_are_known() -> None:
    assert gives_no_reason("sqs_message")
    assert not gives_no_reason("rabbitmq_x_death")
    assert not gives_no_reason(None)
    assert len({s.id for s in shapes()}) == len(shapes())
