-- /// query
-- title   = "When calls that were tried again first ended"
-- answers = "In each step of time, how many first attempts ended whose call was then tried again?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.wave_us = { type = "BIGINT", default = 1000000, help = "Length of a step, in microseconds." }
-- columns.step  = { type = "BIGINT", help = "Number of the step since 1970 UTC." }
-- columns.calls = { type = "BIGINT", help = "First attempts that ended in it and were followed by another." }
-- ///
WITH tied AS (
  SELECT
    CASE $tied_by
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) AS started_us,
    coalesce(duration_us, 0) AS took_us,
    source_id,
    line_no
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') = $at_hop
),
repeated AS (
  SELECT call_id
  FROM tied
  WHERE call_id IS NOT NULL
  GROUP BY call_id
  HAVING count(*) > 1
),
numbered AS (
  SELECT
    t.started_us + t.took_us AS ended_us,
    row_number() OVER (PARTITION BY t.call_id ORDER BY t.started_us, t.source_id, t.line_no) AS nth
  FROM tied AS t
  JOIN repeated AS r ON t.call_id = r.call_id
)
SELECT
  CAST(floor(ended_us / $wave_us) AS BIGINT) AS step,
  count(*) AS calls
FROM numbered
WHERE nth = 1
GROUP BY CAST(floor(ended_us / $wave_us) AS BIGINT)
ORDER BY step
