"""The canonical tables of a case, as data. DDL and documentation both come from here.

Times are UTC `TIMESTAMP` (microseconds), money is `DECIMAL(18,4)` beside its ISO 4217 currency.
`source_id, line_no` lead every row back to its file and line.
"""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_VERSION = "forensics/5"

MONEY = "DECIMAL(18,4)"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a canonical table."""

    name: str
    type: str
    help: str
    required: bool = False
    """A row without it is rejected; a file without it is not of this kind."""
    as_it_stands: bool = False
    """Kept without compression: ids differ from row to row, and to compress them costs more than to read the file."""


@dataclass(frozen=True, slots=True)
class Table:
    """One canonical table."""

    name: str
    help: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """The column of that name; KeyError when there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


_ORIGIN = (
    Column("source_id", "BIGINT", "Which file: sources.source_id.", required=True),
    Column("line_no", "BIGINT", "Physical line (text) or row (sheet, Parquet) in that file, from 1.", required=True),
)

SOURCES = Table(
    "sources",
    "One row per evidence file.",
    (
        Column("source_id", "BIGINT", "Number of the file in this case, from 1, in order of loading.", required=True),
        Column("path", "VARCHAR", "Path as given.", required=True),
        Column("sha256", "VARCHAR", "Of the bytes as they lie on disk; unique in a case.", required=True),
        Column("kind", "VARCHAR", "Canonical table the rows went to.", required=True),
        Column("format", "VARCHAR", "Format as recognised: csv, jsonl, parquet, nginx_combined, ...", required=True),
        Column("mapping", "JSON", "Canonical column -> {column, why}."),
        Column("encoding", "VARCHAR", "Text encoding read; NULL for binary formats."),
        Column("zone", "VARCHAR", "Zone in which times without an offset were read; NULL when all carry one."),
        Column("zone_reason", "VARCHAR", "Why that zone."),
        Column("resolution_us", "BIGINT", "Finest step of the source's clock that shows, in microseconds."),
        Column("hop", "VARCHAR", "For logs: the hop these lines were written at (from the file name)."),
        Column("notes", "VARCHAR", "What a reader should know about how it was read, a line each."),
        Column("rows_read", "BIGINT", "Rows met = loaded + rejected.", required=True),
        Column("rows_loaded", "BIGINT", "Rows in the table.", required=True),
        Column("rows_rejected", "BIGINT", "Rows in rejects.", required=True),
        Column("first_at", "TIMESTAMP", "Earliest time among the loaded rows, UTC."),
        Column("last_at", "TIMESTAMP", "Latest time among the loaded rows, UTC."),
    ),
)

REJECTS = Table(
    "rejects",
    "What could not be read, and why.",
    (
        *_ORIGIN,
        Column("reason", "VARCHAR", "One clause: what was seen, what was expected.", required=True),
        Column("text", "VARCHAR", "The row as it stood, cut at 500 characters."),
    ),
)

PAYMENTS = Table(
    "payments",
    "One row per row of a payment ledger, whatever its outcome.",
    (
        *_ORIGIN,
        Column("payment_id", "VARCHAR", "The ledger's own id of the row.", as_it_stands=True),
        Column("order_id", "VARCHAR", "The business key: the order this payment is for.", as_it_stands=True),
        Column("idempotency_key", "VARCHAR", "Key the caller sent, if any.", as_it_stands=True),
        Column("amount", MONEY, "Amount in major units of its currency, as booked.", required=True),
        Column("currency", "VARCHAR", "ISO 4217 code; NULL when the source names none."),
        Column("status", "VARCHAR", "captured | authorised | failed | voided | refunded | pending | unknown."),
        Column("status_raw", "VARCHAR", "The source's own word."),
        Column(
            "kind",
            "VARCHAR",
            "charge | capture | topup | authorisation | refund | void | verification | amendment | chargeback | ...",
        ),
        Column("kind_raw", "VARCHAR", "The source's own word."),
        Column("created_at", "TIMESTAMP", "When the row was booked, UTC.", required=True),
        Column("customer_id", "VARCHAR", "Who pays.", as_it_stands=True),
        Column("instrument", "VARCHAR", "Card or account, masked as in the source."),
        Column("provider_ref", "VARCHAR", "The provider's reference of the movement.", as_it_stands=True),
        Column("channel", "VARCHAR", "Where the act came from: web, app, batch, ..."),
        Column("sender", "VARCHAR", "Sending system or server."),
        Column("message_no", "VARCHAR", "Message number within the sender."),
        Column("batch_id", "VARCHAR", "File or run that carried the row."),
        Column("operator", "VARCHAR", "Person who keyed the row in; NULL for machines."),
        Column("request_id", "VARCHAR", "Id of the request that made the row."),
        Column("instalment", "VARCHAR", "Instalment or series number, if the source has one."),
        Column("original_ref", "VARCHAR", "Id of the payment a refund or void refers to."),
        Column("memo", "VARCHAR", "Free text of the row."),
        Column("extra", "JSON", "Columns of the source that map to nothing above."),
    ),
)

REQUESTS = Table(
    "requests",
    "One row per line of an access log.",
    (
        *_ORIGIN,
        Column(
            "started_at", "TIMESTAMP", "Start of the request, UTC, even where the log stamps its end.", required=True
        ),
        Column("duration_us", "BIGINT", "From start to end; NULL when the log does not say."),
        Column("hop", "VARCHAR", "Which hop wrote the line: gateway, service_a, ..."),
        Column("method", "VARCHAR", "GET, POST, ...", required=True),
        Column("path", "VARCHAR", "Path without the query string.", required=True),
        Column("route", "VARCHAR", "Path with ids folded to {id}.", required=True),
        Column("status", "INTEGER", "Answer's status; 499 = the caller hung up first."),
        Column("upstream_statuses", "VARCHAR", "Statuses of the tries behind this hop, as logged."),
        Column("client", "VARCHAR", "Caller's address."),
        Column("user_agent", "VARCHAR", "Caller's user agent."),
        Column("attempt", "INTEGER", "Number of the try, counted from 1; NULL when the caller does not say."),
        Column("attempt_source", "VARCHAR", "Field or header that said so."),
        Column("idempotency_key", "VARCHAR", "Key the caller sent.", as_it_stands=True),
        Column("request_id", "VARCHAR", "Request id as logged.", as_it_stands=True),
        Column("trace_id", "VARCHAR", "Trace id (from traceparent or its own field).", as_it_stands=True),
        Column("order_id", "VARCHAR", "Order named in the path, if any."),
        Column("retry_after_s", "DOUBLE", "Retry-After of the answer, in seconds."),
        Column("deadline_at", "TIMESTAMP", "Deadline the caller sent, UTC."),
        Column("bytes", "BIGINT", "Body bytes sent."),
    ),
)

DEAD_LETTERS = Table(
    "dead_letters",
    "Messages that were given up.",
    (
        *_ORIGIN,
        Column("message_id", "VARCHAR", "The broker's or sender's id."),
        Column("business_key", "VARCHAR", "Order or act the message is about."),
        Column("reason", "VARCHAR", "Why it was given up, in the source's words."),
        Column("attempts", "BIGINT", "Deliveries tried."),
        Column("first_failed_at", "TIMESTAMP", "First failure, UTC."),
        Column("last_failed_at", "TIMESTAMP", "Last failure, UTC."),
        Column("trace_id", "VARCHAR", "Trace id."),
        Column("original", "JSON", "The message itself."),
        Column("queue", "VARCHAR", "Queue it died in."),
    ),
)

DELIVERIES = Table(
    "deliveries",
    "Broker deliveries, one row each.",
    (
        *_ORIGIN,
        Column("message_id", "VARCHAR", "The broker's or sender's id.", required=True),
        Column("delivered_at", "TIMESTAMP", "When the consumer got it, UTC.", required=True),
        Column("published_at", "TIMESTAMP", "When the sender put it on the broker, UTC."),
        Column("acked_at", "TIMESTAMP", "When it was acknowledged, UTC."),
        Column("delivery_no", "BIGINT", "1 for the first delivery."),
        Column("redelivered", "BOOLEAN", "The broker's own flag."),
        Column("consumer", "VARCHAR", "Who got it."),
        Column("business_key", "VARCHAR", "Order or act the message is about."),
    ),
)

IDEMPOTENCY_LOG = Table(
    "idempotency_log",
    "What the receiver remembers of keys (inbox).",
    (
        *_ORIGIN,
        Column("key", "VARCHAR", "Idempotency key.", required=True),
        Column("business_key", "VARCHAR", "Order or act it was sent for."),
        Column("status", "VARCHAR", "Outcome in the source's word: processed, replayed, ..."),
        Column("response", "VARCHAR", "Answer stored."),
        Column("created_at", "TIMESTAMP", "When the request came, UTC.", required=True),
        Column("expires_at", "TIMESTAMP", "When the receiver forgets, UTC."),
    ),
)

SETTLEMENTS = Table(
    "settlements",
    "The provider's own list of what it moved.",
    (
        *_ORIGIN,
        Column("provider_ref", "VARCHAR", "The provider's reference.", as_it_stands=True),
        Column("order_id", "VARCHAR", "Merchant order number.", as_it_stands=True),
        Column("amount", MONEY, "Gross amount, negative where money went back.", required=True),
        Column("fee", MONEY, "Fee kept by the provider."),
        Column("net", MONEY, "Gross less fee."),
        Column("currency", "VARCHAR", "ISO 4217 code."),
        Column("kind", "VARCHAR", "In the source's word: approve, cancel, ..."),
        Column("movement", "VARCHAR", "payment | refund | fee | payout: by its kind, else by its sign."),
        Column("settled_at", "TIMESTAMP", "When the movement was settled, UTC."),
        Column("payout", "VARCHAR", "Payout or settlement day it belongs to."),
    ),
)

CLOCK_FOLDS = Table(
    "clock_folds",
    "Rows whose local time the zone's clocks showed twice, or never: it was read one way, and may mean another moment.",
    (
        *_ORIGIN,
        Column("read_at", "TIMESTAMP", "The row's time as it was read, UTC.", required=True),
        Column("other_at", "TIMESTAMP", "What it means by the other offset, UTC.", required=True),
        Column("shown", "VARCHAR", "twice | never: how often clocks showed the local time.", required=True),
    ),
)

EVIDENCE_TABLES = (PAYMENTS, REQUESTS, DEAD_LETTERS, DELIVERIES, IDEMPOTENCY_LOG, SETTLEMENTS)
TABLES = (SOURCES, REJECTS, CLOCK_FOLDS, *EVIDENCE_TABLES)


def table(name: str) -> Table:
    """The canonical table of that name; KeyError when there is none."""
    for each in TABLES:
        if each.name == name:
            return each
    raise KeyError(name)


def ddl(table: Table) -> str:
    """The CREATE TABLE statement of a canonical table."""
    columns = ",\n".join(f"  {_column_ddl(column)}" for column in table.columns)
    return f"CREATE TABLE IF NOT EXISTS {table.name} (\n{columns}\n)"


def _column_ddl(column: Column) -> str:
    compression = " USING COMPRESSION uncompressed" if column.as_it_stands else ""
    return f"{column.name} {column.type}{compression}{' NOT NULL' if column.required else ''}"
