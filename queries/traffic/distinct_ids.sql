-- /// query
-- title   = "How often an id repeats"
-- answers = "At each hop, how many requests that can make an effect bear the id, and how many different ids are these?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- columns.hop      = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none. No row where none bears the id." }
-- columns.requests = { type = "BIGINT", help = "Requests that bear the id." }
-- columns.ids      = { type = "BIGINT", help = "Different ids." }
-- ///
WITH tied AS (
  SELECT
    coalesce(hop, '') AS hop_name,
    CASE $tied_by
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
calls AS (
  SELECT hop_name, call_id, count(*) AS bearing
  FROM tied
  WHERE call_id IS NOT NULL
  GROUP BY hop_name, call_id
)
SELECT hop_name AS hop, CAST(sum(bearing) AS BIGINT) AS requests, count(*) AS ids
FROM calls
GROUP BY hop_name
ORDER BY hop
