-- /// query
-- title   = "Dead letters and what became of their acts"
-- answers = "Which messages were given up, with what reason and after how many attempts, and did their act take effect all the same?"
-- kind    = "measure"
-- needs   = ["dead_letters", "deliveries", "effects", "payments", "sources"]
-- columns.source_id       = { type = "BIGINT", help = "File of the letter." }
-- columns.line_no         = { type = "BIGINT", help = "Its line." }
-- columns.format          = { type = "VARCHAR", help = "Format of the file: tells the product." }
-- columns.message_id      = { type = "VARCHAR", help = "The broker's or sender's id." }
-- columns.business_key    = { type = "VARCHAR", help = "Order or act it is about." }
-- columns.reason          = { type = "VARCHAR", help = "In the source's words." }
-- columns.attempts        = { type = "BIGINT", help = "Deliveries tried." }
-- columns.first_failed_at = { type = "TIMESTAMP", help = "First failure, UTC." }
-- columns.last_failed_at  = { type = "TIMESTAMP", help = "Last failure, UTC." }
-- columns.queue           = { type = "VARCHAR", help = "Queue it died in." }
-- columns.original        = { type = "JSON", help = "The message itself." }
-- columns.effects         = { type = "BIGINT", help = "Effects in the ledger of the same order, or of a request with the message's id." }
-- columns.known           = { type = "BIGINT", help = "1 when the ledger names the order in any row, whatever its outcome." }
-- columns.deliveries      = { type = "BIGINT", help = "Deliveries of the message on record." }
-- columns.delivered_at    = { type = "TIMESTAMP", help = "The last of them, UTC." }
-- columns.ledger_from     = { type = "TIMESTAMP", help = "First row of the ledger, UTC; NULL without a ledger." }
-- columns.ledger_to       = { type = "TIMESTAMP", help = "Its last row, UTC." }
-- ///
WITH paid_orders AS (
  SELECT order_id, count(*) AS effects
  FROM effects
  WHERE order_id IS NOT NULL
  GROUP BY order_id
),
paid_requests AS (
  SELECT p.request_id, count(*) AS effects
  FROM payments AS p
  JOIN effects AS e ON e.source_id = p.source_id AND e.line_no = p.line_no
  WHERE p.request_id IS NOT NULL
  GROUP BY p.request_id
),
orders AS (
  SELECT order_id
  FROM payments
  WHERE order_id IS NOT NULL
  GROUP BY order_id
),
handled AS (
  SELECT message_id, count(*) AS deliveries, max(delivered_at) AS delivered_at
  FROM deliveries
  GROUP BY message_id
),
ledger AS (
  SELECT min(created_at) AS ledger_from, max(created_at) AS ledger_to
  FROM payments
)
SELECT
  d.source_id,
  d.line_no,
  s.format,
  d.message_id,
  d.business_key,
  d.reason,
  d.attempts,
  d.first_failed_at,
  d.last_failed_at,
  d.queue,
  d.original,
  coalesce(o.effects, r.effects, 0) AS effects,
  CASE WHEN k.order_id IS NULL THEN CAST(0 AS BIGINT) ELSE CAST(1 AS BIGINT) END AS known,
  coalesce(h.deliveries, 0) AS deliveries,
  h.delivered_at,
  l.ledger_from,
  l.ledger_to
FROM dead_letters AS d
LEFT JOIN sources AS s ON s.source_id = d.source_id
LEFT JOIN paid_orders AS o ON o.order_id = d.business_key
LEFT JOIN paid_requests AS r ON r.request_id = d.message_id
LEFT JOIN orders AS k ON k.order_id = d.business_key
LEFT JOIN handled AS h ON h.message_id = d.message_id
CROSS JOIN ledger AS l
ORDER BY d.source_id, d.line_no
