-- /// query
-- title   = "Orders swallowed by a used key"
-- answers = "Which orders were sent under a key that another order had used, were answered as done, and have no effect in the ledger?"
-- kind    = "detection"
-- needs   = ["effects", "idempotency_log", "requests"]
-- columns.order_id        = { type = "VARCHAR", help = "The order that was never booked." }
-- columns.idempotency_key = { type = "VARCHAR", help = "The key it was sent under." }
-- columns.owner           = { type = "VARCHAR", help = "The order that used the key first and took effect." }
-- columns.evidence        = { type = "VARCHAR", help = "requests or idempotency_log." }
-- columns.source_id       = { type = "BIGINT", help = "File of the line that shows it." }
-- columns.line_no         = { type = "BIGINT", help = "That line." }
-- ///
WITH sent AS (
  SELECT key AS idempotency_key, business_key AS order_id, 'idempotency_log' AS evidence, created_at AS sent_at, source_id, line_no
  FROM idempotency_log
  WHERE business_key IS NOT NULL
  UNION ALL
  SELECT idempotency_key, order_id, 'requests', started_at, source_id, line_no
  FROM requests
  WHERE order_id IS NOT NULL
    AND idempotency_key IS NOT NULL
    AND method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND status BETWEEN 200 AND 299
),
booked AS (
  SELECT order_id
  FROM effects
  WHERE order_id IS NOT NULL
  GROUP BY order_id
),
owners AS (
  SELECT
    s.idempotency_key,
    s.order_id,
    row_number() OVER (PARTITION BY s.idempotency_key ORDER BY s.sent_at, s.source_id, s.line_no) AS nth
  FROM sent AS s
  JOIN booked AS b ON b.order_id = s.order_id
),
unbooked AS (
  SELECT
    s.idempotency_key,
    s.order_id,
    s.evidence,
    s.source_id,
    s.line_no,
    row_number() OVER (PARTITION BY s.order_id ORDER BY s.sent_at, s.source_id, s.line_no) AS nth
  FROM sent AS s
  LEFT JOIN booked AS b ON b.order_id = s.order_id
  WHERE b.order_id IS NULL
)
SELECT u.order_id, u.idempotency_key, o.order_id AS owner, u.evidence, u.source_id, u.line_no
FROM unbooked AS u
JOIN owners AS o ON o.idempotency_key = u.idempotency_key AND o.nth = 1
WHERE u.nth = 1
ORDER BY u.order_id, u.source_id, u.line_no
