-- /// query
-- title   = "Requests of one call at two hops"
-- answers = "When a call came to one hop so many times, how many requests of it came to the hop behind, and how many failed?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by   = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- params.outer_hop = { type = "VARCHAR", default = "", help = "The hop nearer to the caller." }
-- params.inner_hop = { type = "VARCHAR", default = "", help = "The hop behind it." }
-- params.since_us  = { type = "BIGINT", default = 0, help = "Start of the span, microseconds since 1970 UTC." }
-- params.until_us  = { type = "BIGINT", default = 9000000000000000, help = "End of the span, not in it, microseconds since 1970 UTC." }
-- columns.in_span        = { type = "INTEGER", help = "1 for calls whose first request at either hop lies in the span, else 0." }
-- columns.outer_requests = { type = "BIGINT", help = "Requests of the call at the outer hop." }
-- columns.outer_failures = { type = "BIGINT", help = "Those that ended in 408, 429, 499 or 5xx." }
-- columns.inner_requests = { type = "BIGINT", help = "Requests of the call at the inner hop." }
-- columns.inner_failures = { type = "BIGINT", help = "Those that ended in 408, 429, 499 or 5xx." }
-- columns.calls          = { type = "BIGINT", help = "Calls with these numbers." }
-- ///
WITH tied AS (
  SELECT
    coalesce(hop, '') AS hop_name,
    CASE $tied_by
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id,
    CASE WHEN status IN (408, 429, 499) OR status >= 500 THEN 1 ELSE 0 END AS failed,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) AS started_us
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') IN ($outer_hop, $inner_hop)
),
calls AS (
  SELECT
    call_id,
    CASE WHEN min(started_us) >= $since_us AND min(started_us) < $until_us THEN 1 ELSE 0 END AS in_span,
    count(CASE WHEN hop_name = $outer_hop THEN 1 END) AS outer_requests,
    count(CASE WHEN hop_name = $outer_hop AND failed = 1 THEN 1 END) AS outer_failures,
    count(CASE WHEN hop_name = $inner_hop THEN 1 END) AS inner_requests,
    count(CASE WHEN hop_name = $inner_hop AND failed = 1 THEN 1 END) AS inner_failures
  FROM tied
  WHERE call_id IS NOT NULL
  GROUP BY call_id
)
SELECT
  in_span,
  outer_requests,
  outer_failures,
  inner_requests,
  inner_failures,
  count(*) AS calls
FROM calls
WHERE outer_requests > 0 AND inner_requests > 0
GROUP BY in_span, outer_requests, outer_failures, inner_requests, inner_failures
ORDER BY in_span, outer_requests, outer_failures, inner_requests, inner_failures
