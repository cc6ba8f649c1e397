-- /// query
-- title   = "Attempts of one call"
-- answers = "For each call that was tried more than once: when did each attempt start, how long did it take, how did it end?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- columns.call_id     = { type = "VARCHAR", help = "The id that the attempts share." }
-- columns.started_at  = { type = "TIMESTAMP", help = "Start of the attempt, UTC." }
-- columns.duration_us = { type = "BIGINT", help = "How long it took; NULL when the log does not say." }
-- columns.status      = { type = "INTEGER", help = "How it ended." }
-- columns.attempt     = { type = "INTEGER", help = "Attempt number, from 1; NULL when not said." }
-- columns.user_agent  = { type = "VARCHAR", help = "Caller's user agent." }
-- columns.route       = { type = "VARCHAR", help = "Path with ids folded." }
-- columns.source_id   = { type = "BIGINT", help = "Log file." }
-- columns.line_no     = { type = "BIGINT", help = "Log line." }
-- ///
WITH calls AS (
  SELECT
    CASE $tied_by
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id,
    started_at,
    duration_us,
    status,
    attempt,
    user_agent,
    route,
    source_id,
    line_no
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') = $at_hop
),
repeated AS (
  SELECT call_id
  FROM calls
  WHERE call_id IS NOT NULL
  GROUP BY call_id
  HAVING count(*) > 1
)
SELECT
  c.call_id,
  c.started_at,
  c.duration_us,
  c.status,
  c.attempt,
  c.user_agent,
  c.route,
  c.source_id,
  c.line_no
FROM calls AS c
JOIN repeated AS r ON c.call_id = r.call_id
ORDER BY c.call_id, c.started_at, c.source_id, c.line_no
