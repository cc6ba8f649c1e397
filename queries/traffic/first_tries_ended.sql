-- /// query
-- title   = "When calls that were tried again first ended"
-- answers = "In each step of time, how many first attempts ended whose call was then tried again?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.wave_us = { type = "BIGINT", default = 1000000, help = "Length of a step, in microseconds." }
-- params.since_us = { type = "BIGINT", default = 0, help = "Start of the span, microseconds since 1970 UTC." }
-- params.until_us = { type = "BIGINT", default = 9000000000000000, help = "End of the span, not in it, microseconds since 1970 UTC." }
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
numbered AS (
  SELECT
    started_us + took_us AS ended_us,
    row_number() OVER (PARTITION BY call_id ORDER BY started_us, source_id, line_no) AS nth,
    lead(started_us) OVER (PARTITION BY call_id ORDER BY started_us, source_id, line_no) AS next_us
  FROM tied
  WHERE call_id IS NOT NULL
)
SELECT
  CAST(floor(ended_us / $wave_us) AS BIGINT) AS step,
  count(*) AS calls
FROM numbered
WHERE nth = 1
  AND next_us IS NOT NULL
  AND ended_us >= $since_us
  AND ended_us < $until_us
GROUP BY CAST(floor(ended_us / $wave_us) AS BIGINT)
ORDER BY step
