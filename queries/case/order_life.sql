-- /// query
-- title   = "One order's life"
-- answers = "What happened to this order, in time order: every request, ledger row, delivery and dead letter that names it?"
-- kind    = "measure"
-- needs   = ["payments", "requests", "deliveries", "dead_letters", "settlements", "idempotency_log"]
-- params.order_id = { type = "VARCHAR", default = "", help = "Business key." }
-- columns.at        = { type = "TIMESTAMP", help = "When, UTC; NULL when the row has no time." }
-- columns.what      = { type = "VARCHAR", help = "request, payment, delivery, dead letter, settlement or key." }
-- columns.detail    = { type = "VARCHAR", help = "The row in a few words." }
-- columns.amount    = { type = "DECIMAL(18,4)", help = "Money of a payment or settlement." }
-- columns.currency  = { type = "VARCHAR", help = "Its ISO 4217 code." }
-- columns.ref       = { type = "VARCHAR", help = "Its own id." }
-- columns.source_id = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no   = { type = "BIGINT", help = "Line or row in that file." }
-- ///
WITH calls AS (
  SELECT request_id AS id FROM payments WHERE order_id = $order_id AND request_id IS NOT NULL
  UNION
  SELECT idempotency_key AS id FROM payments WHERE order_id = $order_id AND idempotency_key IS NOT NULL
),
life AS (
  SELECT
    created_at AS "at",
    'payment' AS what,
    coalesce(kind, '?') || ' ' || coalesce(status, '?') AS detail,
    amount,
    currency,
    payment_id AS ref,
    source_id,
    line_no
  FROM payments
  WHERE order_id = $order_id
  UNION ALL
  SELECT
    started_at,
    'request',
    method || ' ' || path || ' -> ' || coalesce(CAST(status AS VARCHAR), '?')
      || coalesce(' attempt ' || CAST(attempt AS VARCHAR), '')
      || coalesce(' after ' || CAST(CAST(floor(duration_us / 1000) AS BIGINT) AS VARCHAR) || ' ms', ''),
    NULL,
    NULL,
    coalesce(request_id, idempotency_key),
    source_id,
    line_no
  FROM requests
  WHERE order_id = $order_id
    OR request_id IN (SELECT id FROM calls)
    OR idempotency_key IN (SELECT id FROM calls)
  UNION ALL
  SELECT
    delivered_at,
    'delivery',
    'delivery ' || coalesce(CAST(delivery_no AS VARCHAR), '?') || coalesce(' to ' || consumer, ''),
    NULL,
    NULL,
    message_id,
    source_id,
    line_no
  FROM deliveries
  WHERE business_key = $order_id
  UNION ALL
  SELECT
    last_failed_at,
    'dead letter',
    coalesce(reason, 'no reason given'),
    NULL,
    NULL,
    message_id,
    source_id,
    line_no
  FROM dead_letters
  WHERE business_key = $order_id
  UNION ALL
  SELECT
    settled_at,
    'settlement',
    coalesce(kind, '?'),
    amount,
    currency,
    provider_ref,
    source_id,
    line_no
  FROM settlements
  WHERE order_id = $order_id
  UNION ALL
  SELECT created_at, 'key', coalesce(status, 'seen'), NULL, NULL, key, source_id, line_no
  FROM idempotency_log
  WHERE business_key = $order_id
)
SELECT "at", what, detail, amount, currency, ref, source_id, line_no
FROM life
ORDER BY "at", source_id, line_no
