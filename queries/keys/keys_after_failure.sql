-- /// query
-- title   = "The key of the next request after a failure"
-- answers = "When a request of an order failed or its caller hung up, did the order's next request bear the same idempotency key or another?"
-- kind    = "measure"
-- needs   = ["payments", "requests"]
-- columns.kept    = { type = "BIGINT", help = "Next requests under the key of the failed one." }
-- columns.renewed = { type = "BIGINT", help = "Next requests under another key." }
-- ///
WITH owners AS (
  SELECT idempotency_key, min(order_id) AS order_id
  FROM payments
  WHERE idempotency_key IS NOT NULL
    AND order_id IS NOT NULL
  GROUP BY idempotency_key
),
sent AS (
  SELECT
    r.hop,
    coalesce(r.order_id, w.order_id) AS order_id,
    r.idempotency_key,
    r.status,
    r.started_at,
    r.source_id,
    r.line_no
  FROM requests AS r
  LEFT JOIN owners AS w ON w.idempotency_key = r.idempotency_key
  WHERE r.idempotency_key IS NOT NULL
    AND r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
steps AS (
  SELECT
    idempotency_key,
    lag(idempotency_key) OVER (PARTITION BY hop, order_id ORDER BY started_at, source_id, line_no) AS before_key,
    lag(status) OVER (PARTITION BY hop, order_id ORDER BY started_at, source_id, line_no) AS before_status
  FROM sent
  WHERE order_id IS NOT NULL
)
SELECT
  count(CASE WHEN idempotency_key = before_key THEN 1 END) AS kept,
  count(CASE WHEN idempotency_key <> before_key THEN 1 END) AS renewed
FROM steps
WHERE before_status IN (0, 408, 429, 499)
   OR before_status >= 500
