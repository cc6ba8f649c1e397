-- /// query
-- title   = "A second submission under the key of the first"
-- answers = "How often was a key sent again although its caller had an answer, or still waited for one: a second click, which bears the key of the first?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.within_us = { type = "BIGINT", default = 2000000, help = "A request this soon after the start of one answered 2xx is a second click; callers that lost the answer wait longer." }
-- params.clock_us  = { type = "BIGINT", default = 1000000, help = "How far the stamps of two lines may be out." }
-- columns.again = { type = "BIGINT", help = "Requests sent again under the key, at one hop." }
-- ///
WITH keyed AS (
  SELECT
    started_at,
    lag(started_at) OVER (PARTITION BY hop, idempotency_key ORDER BY started_at, source_id, line_no) AS before_at,
    lag(duration_us) OVER (PARTITION BY hop, idempotency_key ORDER BY started_at, source_id, line_no) AS before_us,
    lag(status) OVER (PARTITION BY hop, idempotency_key ORDER BY started_at, source_id, line_no) AS before_status,
    attempt,
    request_id,
    lag(request_id) OVER (PARTITION BY hop, idempotency_key ORDER BY started_at, source_id, line_no) AS before_id
  FROM requests
  WHERE idempotency_key IS NOT NULL
    AND method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
steps AS (
  SELECT
    date_diff('microsecond', before_at, started_at) AS after_us,
    before_us,
    before_status
  FROM keyed
  WHERE before_at IS NOT NULL
    AND coalesce(attempt, 1) = 1
    AND (request_id IS NULL OR before_id IS NULL OR request_id <> before_id)
)
SELECT count(*) AS again
FROM steps
WHERE (before_status BETWEEN 200 AND 299 AND before_us <= $within_us AND after_us <= $within_us)
   OR (before_status = 499 AND after_us + $clock_us < before_us)
