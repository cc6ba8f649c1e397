-- /// query
-- title   = "What tells attempts apart"
-- answers = "At each hop, how many requests that can make an effect carry an attempt number, a key, a request id, a trace id, an order, and how often does each repeat?"
-- kind    = "measure"
-- needs   = ["requests"]
-- columns.hop           = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none." }
-- columns.requests      = { type = "BIGINT", help = "Requests with a state-changing method." }
-- columns.with_attempt  = { type = "BIGINT", help = "Those that say which attempt they are." }
-- columns.numbered_one  = { type = "BIGINT", help = "Those that say they are attempt 1." }
-- columns.with_key      = { type = "BIGINT", help = "Those with an idempotency key." }
-- columns.keys          = { type = "BIGINT", help = "Distinct keys." }
-- columns.with_request  = { type = "BIGINT", help = "Those with a request id." }
-- columns.request_ids   = { type = "BIGINT", help = "Distinct request ids." }
-- columns.with_trace    = { type = "BIGINT", help = "Those with a trace id." }
-- columns.traces        = { type = "BIGINT", help = "Distinct trace ids." }
-- columns.with_order    = { type = "BIGINT", help = "Those whose path names an order." }
-- columns.orders        = { type = "BIGINT", help = "Distinct orders." }
-- columns.first_at      = { type = "TIMESTAMP", help = "First of them, UTC." }
-- columns.last_at       = { type = "TIMESTAMP", help = "Last of them, UTC." }
-- ///
SELECT
  coalesce(hop, '') AS hop,
  count(*) AS requests,
  count(attempt) AS with_attempt,
  count(CASE WHEN attempt = 1 THEN 1 END) AS numbered_one,
  count(idempotency_key) AS with_key,
  count(DISTINCT idempotency_key) AS keys,
  count(request_id) AS with_request,
  count(DISTINCT request_id) AS request_ids,
  count(trace_id) AS with_trace,
  count(DISTINCT trace_id) AS traces,
  count(order_id) AS with_order,
  count(DISTINCT order_id) AS orders,
  min(started_at) AS first_at,
  max(started_at) AS last_at
FROM requests
WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
GROUP BY coalesce(hop, '')
ORDER BY coalesce(hop, '')
