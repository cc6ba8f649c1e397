-- /// query
-- title   = "Requests for a caller who had gone"
-- answers = "Which requests did a hop send on after all its callers of that call had hung up?"
-- kind    = "detection"
-- needs   = ["requests"]
-- params.outer_hop = { type = "VARCHAR", default = "", help = "Hop whose callers hung up." }
-- params.inner_hop = { type = "VARCHAR", default = "", help = "Hop behind it, which got the requests." }
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties the lines of a call: request_id, idempotency_key, trace_id or order_id." }
-- params.clock_us = { type = "BIGINT", default = 1000000, help = "How far the clocks of the two hops may be apart." }
-- params.most_lines = { type = "BIGINT", default = 200, help = "Most rows to return." }
-- columns.broken_no  = { type = "BIGINT", help = "Number of the row, by its start." }
-- columns.broken     = { type = "BIGINT", help = "How many there are in all." }
-- columns.caller     = { type = "VARCHAR", help = "User agent at the inner hop; empty when it sends none." }
-- columns.by_caller  = { type = "BIGINT", help = "How many of them are this caller's." }
-- columns.method     = { type = "VARCHAR", help = "POST, ..." }
-- columns.route      = { type = "VARCHAR", help = "Path with ids folded." }
-- columns.late_us    = { type = "BIGINT", help = "From the hang-up to the start of the request." }
-- columns.source_id  = { type = "BIGINT", help = "Log file of the request." }
-- columns.line_no    = { type = "BIGINT", help = "Its line." }
-- ///
WITH tied AS (
  SELECT
    CASE $tied_by
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id,
    coalesce(hop, '') AS hop_name,
    coalesce(user_agent, '') AS caller,
    method,
    route,
    status,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) AS started_us,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) + coalesce(duration_us, 0) AS ended_us,
    source_id,
    line_no
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') IN ($outer_hop, $inner_hop)
),
seen AS (
  SELECT
    hop_name,
    caller,
    method,
    route,
    started_us,
    source_id,
    line_no,
    max(CASE WHEN hop_name = $outer_hop THEN ended_us END) OVER (
      PARTITION BY call_id ORDER BY started_us, source_id, line_no ROWS UNBOUNDED PRECEDING
    ) AS ended_us,
    max(CASE WHEN hop_name = $outer_hop AND status = 499 THEN ended_us END) OVER (
      PARTITION BY call_id ORDER BY started_us, source_id, line_no ROWS UNBOUNDED PRECEDING
    ) AS hung_up_us
  FROM tied
  WHERE call_id IS NOT NULL
),
late AS (
  SELECT
    row_number() OVER (ORDER BY started_us, source_id, line_no) AS broken_no,
    count(*) OVER () AS broken,
    caller,
    count(*) OVER (PARTITION BY caller) AS by_caller,
    method,
    route,
    started_us - hung_up_us AS late_us,
    source_id,
    line_no
  FROM seen
  WHERE hop_name = $inner_hop
    AND hung_up_us = ended_us
    AND started_us > hung_up_us + $clock_us
)
SELECT broken_no, broken, caller, by_caller, method, route, late_us, source_id, line_no
FROM late
WHERE broken_no <= $most_lines
ORDER BY broken_no, source_id, line_no
