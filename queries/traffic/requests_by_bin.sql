-- /// query
-- title   = "First attempts and retries over time"
-- answers = "How many requests that can make an effect, health checks left out, came in each step of time: first attempts, retries, those that do not say, failures and slow answers?"
-- kind    = "measure"
-- needs   = ["probes", "requests"]
-- params.bin_us = { type = "BIGINT", default = 60000000, help = "Length of a step, in microseconds." }
-- params.basis  = { type = "VARCHAR", default = "attempt", help = "What tells attempts apart: attempt, retry_header (sent on retries only), idempotency_key, request_id, trace_id, order_id or none." }
-- params.at_hop = { type = "VARCHAR", default = "", help = "Hop to count at; empty for logs whose file names none." }
-- params.slow_us = { type = "BIGINT", default = 1000000, help = "An answer that took this long, in microseconds, came too late for callers that give up." }
-- columns.bin            = { type = "BIGINT", help = "Number of the step since 1970 UTC." }
-- columns.first_attempts = { type = "BIGINT", help = "Requests that are attempt 1." }
-- columns.retries        = { type = "BIGINT", help = "Requests that are a later attempt." }
-- columns.unnumbered     = { type = "BIGINT", help = "Requests that do not say." }
-- columns.failures       = { type = "BIGINT", help = "Requests that ended in 408, 429, 499 or 5xx." }
-- columns.slow           = { type = "BIGINT", help = "Requests that did not fail and took slow_us or longer." }
-- columns.asked_again    = { type = "BIGINT", help = "Requests that repeat an id though the one before was answered well and in time: of an order a person's own second act, counted as attempt 1; of another id counted as a retry." }
-- ///
WITH calls AS (
  SELECT
    r.started_at,
    CASE WHEN r.status IN (408, 429, 499) OR r.status >= 500 THEN 1 ELSE 0 END AS failed,
    CASE WHEN r.duration_us >= $slow_us THEN 1 ELSE 0 END AS late,
    CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END AS call_id,
    r.source_id,
    r.line_no
  FROM requests AS r
  LEFT JOIN probes AS p
    ON p.client = coalesce(r.client, '')
    AND p.user_agent = coalesce(r.user_agent, '')
    AND p.route = r.route
    AND p.method = r.method
    AND p.hop = coalesce(r.hop, '')
  WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(r.hop, '') = $at_hop
    AND p.route IS NULL
    AND CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END IS NOT NULL
),
repeated AS (
  SELECT
    started_at,
    failed,
    late,
    row_number() OVER (PARTITION BY call_id ORDER BY started_at, source_id, line_no) AS place,
    lag(failed + late) OVER (PARTITION BY call_id ORDER BY started_at, source_id, line_no) AS trouble_before
  FROM calls
),
stated AS (
  SELECT
    r.started_at,
    CASE WHEN r.status IN (408, 429, 499) OR r.status >= 500 THEN 1 ELSE 0 END AS failed,
    CASE WHEN r.duration_us >= $slow_us THEN 1 ELSE 0 END AS late,
    CASE
      WHEN $basis = 'attempt' THEN r.attempt
      WHEN $basis = 'retry_header' THEN coalesce(r.attempt, 1)
    END AS nth
  FROM requests AS r
  LEFT JOIN probes AS p
    ON p.client = coalesce(r.client, '')
    AND p.user_agent = coalesce(r.user_agent, '')
    AND p.route = r.route
    AND p.method = r.method
    AND p.hop = coalesce(r.hop, '')
  WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(r.hop, '') = $at_hop
    AND p.route IS NULL
    AND CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END IS NULL
),
numbered AS (
  SELECT
    started_at,
    failed,
    late,
    CAST(nth AS BIGINT) AS nth,
    0 AS again
  FROM stated
  UNION ALL
  SELECT
    started_at,
    failed,
    late,
    CASE WHEN $basis = 'order_id' AND trouble_before = 0 THEN 1 ELSE place END AS nth,
    CASE WHEN trouble_before = 0 THEN 1 ELSE 0 END AS again
  FROM repeated
)
SELECT
  CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) / $bin_us) AS BIGINT) AS bin,
  count(CASE WHEN nth = 1 THEN 1 END) AS first_attempts,
  count(CASE WHEN nth > 1 THEN 1 END) AS retries,
  count(CASE WHEN nth IS NULL THEN 1 END) AS unnumbered,
  count(CASE WHEN failed = 1 THEN 1 END) AS failures,
  count(CASE WHEN failed = 0 AND late = 1 THEN 1 END) AS slow,
  count(CASE WHEN again = 1 THEN 1 END) AS asked_again
FROM numbered
GROUP BY CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) / $bin_us) AS BIGINT)
ORDER BY bin
