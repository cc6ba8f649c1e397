-- /// query
-- title   = "What the attempt header says of requests that share an id"
-- answers = "Of the requests whose id was seen before: how many say they are attempt 1, and how many a later one?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- columns.hop        = { type = "VARCHAR", help = "The hop; no row when no id repeats there." }
-- columns.repeats    = { type = "BIGINT", help = "Requests with an attempt number whose id an earlier one bears." }
-- columns.say_first  = { type = "BIGINT", help = "Those that say they are attempt 1." }
-- columns.highest    = { type = "INTEGER", help = "Highest attempt number of them; NULL without any." }
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
    attempt,
    started_at,
    source_id,
    line_no
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') = $at_hop
),
numbered AS (
  SELECT
    hop_name,
    attempt,
    row_number() OVER (PARTITION BY call_id ORDER BY started_at, source_id, line_no) AS nth
  FROM tied
  WHERE call_id IS NOT NULL
)
SELECT
  hop_name AS hop,
  count(*) AS repeats,
  count(CASE WHEN attempt = 1 THEN 1 END) AS say_first,
  max(attempt) AS highest
FROM numbered
WHERE nth > 1
  AND attempt IS NOT NULL
GROUP BY hop_name
ORDER BY hop
