-- /// query
-- title   = "Requests behind the rows of repeated orders"
-- answers = "Which log lines belong to the ledger rows of orders with more than one effect, by request id, key or order?"
-- kind    = "measure"
-- needs   = ["acts", "effects", "requests"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an order repeated." }
-- columns.row_source_id = { type = "BIGINT", help = "File of the ledger row." }
-- columns.row_line_no   = { type = "BIGINT", help = "Line of the ledger row." }
-- columns.matched_by    = { type = "VARCHAR", help = "request_id, idempotency_key or order_id." }
-- columns.method        = { type = "VARCHAR", help = "POST, PUT, ..." }
-- columns.started_at    = { type = "TIMESTAMP", help = "Start of the request, UTC." }
-- columns.duration_us   = { type = "BIGINT", help = "Its duration; NULL when the log does not say." }
-- columns.status        = { type = "INTEGER", help = "Its answer." }
-- columns.attempt       = { type = "INTEGER", help = "Attempt number, from 1; NULL when not said." }
-- columns.request_id    = { type = "VARCHAR", help = "Request id as logged." }
-- columns.user_agent    = { type = "VARCHAR", help = "Caller's user agent." }
-- columns.hop           = { type = "VARCHAR", help = "Hop that wrote the line." }
-- columns.source_id     = { type = "BIGINT", help = "Log file." }
-- columns.line_no       = { type = "BIGINT", help = "Log line." }
-- ///
WITH repeated AS (
  SELECT business_key
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key
  HAVING count(*) >= $min_effects
),
rows_at_hand AS (
  SELECT p.source_id, p.line_no, p.order_id, p.request_id, p.idempotency_key, p.created_at
  FROM acts AS p
  JOIN repeated AS r ON p.business_key = r.business_key
),
matched AS (
  SELECT
    p.source_id AS row_source_id,
    p.line_no AS row_line_no,
    p.created_at,
    'request_id' AS matched_by,
    q.method,
    q.started_at,
    q.duration_us,
    q.status,
    q.attempt,
    q.request_id,
    q.user_agent,
    q.hop,
    q.source_id,
    q.line_no
  FROM rows_at_hand AS p
  JOIN requests AS q ON q.request_id = p.request_id
  UNION ALL
  SELECT
    p.source_id,
    p.line_no,
    p.created_at,
    'idempotency_key',
    q.method,
    q.started_at,
    q.duration_us,
    q.status,
    q.attempt,
    q.request_id,
    q.user_agent,
    q.hop,
    q.source_id,
    q.line_no
  FROM rows_at_hand AS p
  JOIN requests AS q ON q.idempotency_key = p.idempotency_key
  WHERE p.request_id IS NULL
  UNION ALL
  SELECT
    p.source_id,
    p.line_no,
    p.created_at,
    'order_id',
    q.method,
    q.started_at,
    q.duration_us,
    q.status,
    q.attempt,
    q.request_id,
    q.user_agent,
    q.hop,
    q.source_id,
    q.line_no
  FROM rows_at_hand AS p
  JOIN requests AS q ON q.order_id = p.order_id
  WHERE p.request_id IS NULL
    AND p.idempotency_key IS NULL
)
SELECT
  row_source_id,
  row_line_no,
  matched_by,
  method,
  started_at,
  duration_us,
  status,
  attempt,
  request_id,
  user_agent,
  hop,
  source_id,
  line_no
FROM matched
WHERE date_diff('microsecond', started_at, created_at) BETWEEN -2000000 AND 600000000
ORDER BY row_source_id, row_line_no, started_at, source_id, line_no
