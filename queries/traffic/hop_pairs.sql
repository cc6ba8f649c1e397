-- /// query
-- title   = "Which hop stands before which"
-- answers = "For each two hops that saw the same calls: which of them was asked first, took longer and was asked less often?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- columns.hop_a       = { type = "VARCHAR", help = "One hop; empty for logs whose file names none." }
-- columns.hop_b       = { type = "VARCHAR", help = "The other; the later name." }
-- columns.calls       = { type = "BIGINT", help = "Calls that both saw." }
-- columns.a_earlier   = { type = "BIGINT", help = "Calls that a saw first." }
-- columns.b_earlier   = { type = "BIGINT", help = "Calls that b saw first." }
-- columns.a_longer    = { type = "BIGINT", help = "Calls whose longest request took longer at a." }
-- columns.b_longer    = { type = "BIGINT", help = "Calls whose longest request took longer at b." }
-- columns.a_fewer     = { type = "BIGINT", help = "Calls with fewer requests at a." }
-- columns.b_fewer     = { type = "BIGINT", help = "Calls with fewer requests at b." }
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
    started_at,
    duration_us
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
calls AS (
  SELECT
    hop_name,
    call_id,
    count(*) AS requests,
    min(started_at) AS began_at,
    max(duration_us) AS longest_us
  FROM tied
  WHERE call_id IS NOT NULL
  GROUP BY hop_name, call_id
)
SELECT
  a.hop_name AS hop_a,
  b.hop_name AS hop_b,
  count(*) AS calls,
  count(CASE WHEN a.began_at < b.began_at THEN 1 END) AS a_earlier,
  count(CASE WHEN b.began_at < a.began_at THEN 1 END) AS b_earlier,
  count(CASE WHEN a.longest_us > b.longest_us THEN 1 END) AS a_longer,
  count(CASE WHEN b.longest_us > a.longest_us THEN 1 END) AS b_longer,
  count(CASE WHEN a.requests < b.requests THEN 1 END) AS a_fewer,
  count(CASE WHEN b.requests < a.requests THEN 1 END) AS b_fewer
FROM calls AS a
JOIN calls AS b ON a.call_id = b.call_id AND a.hop_name < b.hop_name
GROUP BY a.hop_name, b.hop_name
ORDER BY hop_a, hop_b
