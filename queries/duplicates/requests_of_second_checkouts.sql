-- /// query
-- title   = "Requests behind the first of two equal purchases"
-- answers = "Which log lines belong to the earlier of two equal purchases soon after one another, by request id, key or order?"
-- kind    = "measure"
-- needs   = ["acts", "equal_purchases", "requests"]
-- params.checkout_window_us = { type = "BIGINT", default = 7200000000, help = "Longest time between a checkout and the second one after a false failure, in microseconds." }
-- columns.row_source_id = { type = "BIGINT", help = "File of the later ledger row." }
-- columns.row_line_no   = { type = "BIGINT", help = "Line of the later ledger row." }
-- columns.first_at      = { type = "TIMESTAMP", help = "When the earlier row was booked, UTC." }
-- columns.created_at    = { type = "TIMESTAMP", help = "When the later row was booked, UTC." }
-- columns.started_at    = { type = "TIMESTAMP", help = "Start of the request behind the earlier row, UTC." }
-- columns.duration_us   = { type = "BIGINT", help = "Its duration; NULL when the log does not say." }
-- columns.status        = { type = "INTEGER", help = "Its answer." }
-- columns.source_id     = { type = "BIGINT", help = "Log file." }
-- columns.line_no       = { type = "BIGINT", help = "Log line." }
-- ///
WITH firsts AS (
  SELECT p.source_id, p.line_no, p.created_at AS second_at, a.created_at, a.request_id, a.idempotency_key, a.order_id
  FROM equal_purchases AS p
  JOIN acts AS a ON a.source_id = p.first_source_id AND a.line_no = p.first_line_no
  WHERE p.gap_us <= $checkout_window_us
),
matched AS (
  SELECT
    f.source_id AS row_source_id, f.line_no AS row_line_no, f.created_at, f.second_at,
    q.started_at, q.duration_us, q.status, q.source_id, q.line_no
  FROM firsts AS f
  JOIN requests AS q ON q.request_id = f.request_id
  UNION ALL
  SELECT
    f.source_id, f.line_no, f.created_at, f.second_at,
    q.started_at, q.duration_us, q.status, q.source_id, q.line_no
  FROM firsts AS f
  JOIN requests AS q ON q.idempotency_key = f.idempotency_key
  WHERE f.request_id IS NULL
  UNION ALL
  SELECT
    f.source_id, f.line_no, f.created_at, f.second_at,
    q.started_at, q.duration_us, q.status, q.source_id, q.line_no
  FROM firsts AS f
  JOIN requests AS q ON q.order_id = f.order_id
  WHERE f.request_id IS NULL
    AND f.idempotency_key IS NULL
    AND q.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
)
SELECT row_source_id, row_line_no, created_at AS first_at, second_at AS created_at, started_at, duration_us, status, source_id, line_no
FROM matched
WHERE date_diff('microsecond', started_at, created_at) BETWEEN -2000000 AND 600000000
  AND date_diff('microsecond', started_at, second_at) >= 0
ORDER BY row_source_id, row_line_no, started_at, source_id, line_no
