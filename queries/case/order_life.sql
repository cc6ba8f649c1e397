-- /// query
-- title   = "One order's life"
-- answers = "What happened to this order, in time order: every request, ledger row, delivery and dead letter that names it?"
-- kind    = "measure"
-- needs   = ["payments", "requests", "deliveries", "dead_letters", "settlements", "idempotency_log"]
-- params.order_id = { type = "VARCHAR", default = "", help = "Business key." }
-- columns.at        = { type = "TIMESTAMP", help = "When, UTC; NULL when the row has no time." }
-- columns.what      = { type = "VARCHAR", help = "request, payment, delivery, dead letter, settlement or key." }
-- columns.detail    = { type = "VARCHAR", help = "The row in a few words." }
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
    created_at AS at,
    'payment' AS what,
    kind || ' ' || status || ' ' || CAST(amount AS VARCHAR) || ' ' || coalesce(currency, '') AS detail,
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
      || coalesce(' after ' || CAST(duration_us / 1000 AS VARCHAR) || ' ms', ''),
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
    message_id,
    source_id,
    line_no
  FROM deliveries
  WHERE business_key = $order_id
  UNION ALL
  SELECT last_failed_at, 'dead letter', coalesce(reason, 'no reason given'), message_id, source_id, line_no
  FROM dead_letters
  WHERE business_key = $order_id
  UNION ALL
  SELECT
    settled_at,
    'settlement',
    coalesce(kind, '') || ' ' || CAST(amount AS VARCHAR),
    provider_ref,
    source_id,
    line_no
  FROM settlements
  WHERE order_id = $order_id
  UNION ALL
  SELECT created_at, 'key', coalesce(status, 'seen'), key, source_id, line_no
  FROM idempotency_log
  WHERE business_key = $order_id
)
SELECT at, what, detail, ref, source_id, line_no
FROM life
ORDER BY at, source_id, line_no
