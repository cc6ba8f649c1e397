-- /// query
-- title   = "First attempts and retries over time"
-- answers = "How many requests that can make an effect came in each step of time: first attempts, retries, those that do not say, and failures?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.bin_us = { type = "BIGINT", default = 60000000, help = "Length of a step, in microseconds." }
-- params.basis  = { type = "VARCHAR", default = "attempt", help = "What tells attempts apart: attempt, retry_header (sent on retries only), idempotency_key, request_id, trace_id or order_id." }
-- params.at_hop = { type = "VARCHAR", default = "", help = "Hop to count at; empty for logs whose file names none." }
-- columns.bin            = { type = "BIGINT", help = "Number of the step since 1970 UTC." }
-- columns.first_attempts = { type = "BIGINT", help = "Requests that are attempt 1." }
-- columns.retries        = { type = "BIGINT", help = "Requests that are a later attempt." }
-- columns.unnumbered     = { type = "BIGINT", help = "Requests that do not say." }
-- columns.failures       = { type = "BIGINT", help = "Requests that ended in 408, 429, 499 or 5xx." }
-- ///
WITH calls AS (
  SELECT
    started_at,
    status,
    attempt,
    source_id,
    line_no,
    CASE $basis
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') = $at_hop
),
numbered AS (
  SELECT
    started_at,
    status,
    CASE
      WHEN $basis = 'attempt' THEN attempt
      WHEN $basis = 'retry_header' THEN coalesce(attempt, 1)
      WHEN call_id IS NOT NULL
        THEN row_number() OVER (PARTITION BY call_id ORDER BY started_at, source_id, line_no)
    END AS nth
  FROM calls
)
SELECT
  CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) / $bin_us) AS BIGINT) AS bin,
  count(CASE WHEN nth = 1 THEN 1 END) AS first_attempts,
  count(CASE WHEN nth > 1 THEN 1 END) AS retries,
  count(CASE WHEN nth IS NULL THEN 1 END) AS unnumbered,
  count(CASE WHEN status IN (408, 429, 499) OR status >= 500 THEN 1 END) AS failures
FROM numbered
GROUP BY CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) / $bin_us) AS BIGINT)
ORDER BY bin
