-- /// query
-- title   = "What tells attempts apart"
-- answers = "At each hop, how many requests that can make an effect, health checks left out, carry an attempt number, a key, a request id, a trace id, an order?"
-- kind    = "measure"
-- needs   = ["probes", "requests"]
-- columns.hop           = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none." }
-- columns.requests      = { type = "BIGINT", help = "Requests with a state-changing method." }
-- columns.with_attempt  = { type = "BIGINT", help = "Those that say which attempt they are." }
-- columns.numbered_one  = { type = "BIGINT", help = "Those that say they are attempt 1." }
-- columns.with_key      = { type = "BIGINT", help = "Those with an idempotency key." }
-- columns.with_request  = { type = "BIGINT", help = "Those with a request id." }
-- columns.with_trace    = { type = "BIGINT", help = "Those with a trace id." }
-- columns.with_order    = { type = "BIGINT", help = "Those whose path names an order." }
-- columns.first_at      = { type = "TIMESTAMP", help = "First of them, UTC." }
-- columns.last_at       = { type = "TIMESTAMP", help = "Last of them, UTC." }
-- ///
SELECT
  coalesce(r.hop, '') AS hop,
  count(*) AS requests,
  count(r.attempt) AS with_attempt,
  count(CASE WHEN r.attempt = 1 THEN 1 END) AS numbered_one,
  count(r.idempotency_key) AS with_key,
  count(r.request_id) AS with_request,
  count(r.trace_id) AS with_trace,
  count(r.order_id) AS with_order,
  min(r.started_at) AS first_at,
  max(r.started_at) AS last_at
FROM requests AS r
LEFT JOIN probes AS p
  ON p.client = coalesce(r.client, '')
  AND p.user_agent = coalesce(r.user_agent, '')
  AND p.route = r.route
  AND p.method = r.method
  AND p.hop = coalesce(r.hop, '')
WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
  AND p.route IS NULL
GROUP BY coalesce(r.hop, '')
ORDER BY coalesce(r.hop, '')
