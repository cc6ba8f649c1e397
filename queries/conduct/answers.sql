-- /// query
-- title   = "What callers did after each answer"
-- answers = "For each caller and status: how many answers were followed by another attempt of the same call, too soon after Retry-After, without a key, or past the caller's deadline?"
-- kind    = "measure"
-- needs   = ["payments", "requests", "sources"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id, order_id (in the path, or by the ledger row of the request) or caller (address and user agent, with attempt numbers)." }
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.most_attempts = { type = "BIGINT", default = 10, help = "Attempts of one call beyond which no further one is sensible." }
-- columns.caller           = { type = "VARCHAR", help = "User agent; empty when it sends none." }
-- columns.status           = { type = "INTEGER", help = "The answer; -1 when the log has none." }
-- columns.answers          = { type = "BIGINT", help = "Requests that can make an effect and ended so." }
-- columns.tied             = { type = "BIGINT", help = "Those that bear what ties attempts." }
-- columns.retried          = { type = "BIGINT", help = "Those after which the same call was tried again." }
-- columns.posts_unkeyed    = { type = "BIGINT", help = "Of the retried ones: POSTs without an idempotency key." }
-- columns.told_to_wait     = { type = "BIGINT", help = "429 and 503 with Retry-After, tried again." }
-- columns.waited_enough    = { type = "BIGINT", help = "Of those: the next attempt came when it was asked to, or later." }
-- columns.with_deadline    = { type = "BIGINT", help = "Requests that carry the caller's deadline." }
-- columns.over_deadline    = { type = "BIGINT", help = "Of those: begun after it." }
-- columns.longest_wait_us  = { type = "BIGINT", help = "Longest time from the answer to the next attempt." }
-- columns.waits_us         = { type = "BIGINT", help = "Sum of the times from the answer to the next attempt; NULL when none followed." }
-- columns.numbered         = { type = "BIGINT", help = "Requests that say which attempt they are." }
-- columns.beyond_cap       = { type = "BIGINT", help = "Those with a number above the cap." }
-- columns.highest_attempt  = { type = "INTEGER", help = "Highest attempt number; NULL when none is sent." }
-- ///
WITH orders AS (
  SELECT request_id, min(order_id) AS order_id
  FROM payments
  WHERE request_id IS NOT NULL
    AND order_id IS NOT NULL
  GROUP BY request_id
),
calls AS (
  SELECT
    CASE $tied_by
      WHEN 'request_id' THEN r.request_id
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN coalesce(r.order_id, o.order_id)
      WHEN 'caller' THEN coalesce(r.client, '') || ' ' || coalesce(r.user_agent, '')
    END AS call_id,
    coalesce(r.user_agent, '') AS caller,
    r.method,
    r.path,
    r.route,
    r.status,
    r.attempt,
    r.idempotency_key,
    r.retry_after_s,
    r.deadline_at,
    r.started_at,
    r.duration_us,
    coalesce(s.resolution_us, 0) AS step_us,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) AS started_us,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) + coalesce(r.duration_us, 0) AS ended_us,
    r.source_id,
    r.line_no
  FROM requests AS r
  LEFT JOIN sources AS s ON s.source_id = r.source_id
  LEFT JOIN orders AS o ON o.request_id = r.request_id
  WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(r.hop, '') = $at_hop
),
paired AS (
  SELECT
    call_id,
    caller,
    method,
    route,
    status,
    attempt,
    idempotency_key,
    retry_after_s,
    deadline_at,
    started_at,
    step_us,
    started_us,
    ended_us,
    source_id,
    line_no,
    lead(attempt) OVER (PARTITION BY call_id, method, path ORDER BY ended_us, source_id, line_no) AS next_attempt,
    lead(started_us) OVER (PARTITION BY call_id, method, path ORDER BY ended_us, source_id, line_no) AS next_us,
    lead(source_id) OVER (PARTITION BY call_id, method, path ORDER BY ended_us, source_id, line_no) AS next_source_id,
    lead(line_no) OVER (PARTITION BY call_id, method, path ORDER BY ended_us, source_id, line_no) AS next_line_no
  FROM calls
),
followed AS (
  SELECT
    call_id,
    caller,
    method,
    route,
    status,
    attempt,
    idempotency_key,
    retry_after_s,
    deadline_at,
    started_at,
    step_us,
    started_us,
    source_id,
    line_no,
    next_source_id,
    next_line_no,
    next_us - ended_us AS waited_us,
    CASE
      WHEN call_id IS NULL OR next_us IS NULL THEN 0
      WHEN $tied_by IN ('order_id', 'caller') AND next_attempt = coalesce(attempt, 1) + 1 THEN 1
      WHEN $tied_by IN ('order_id', 'caller') THEN 0
      WHEN next_attempt <= attempt THEN 0
      ELSE 1
    END AS retried,
    CASE
      WHEN retry_after_s IS NULL OR status NOT IN (429, 503) THEN NULL
      WHEN next_us - ended_us + CASE WHEN step_us > 50000 THEN step_us ELSE 50000 END
        >= CAST(floor(retry_after_s * 1000000) AS BIGINT) THEN 1
      ELSE 0
    END AS waited_enough,
    CASE
      WHEN deadline_at IS NULL THEN NULL
      WHEN 2 * date_diff('microsecond', deadline_at, started_at) + step_us > 0 THEN 1
      ELSE 0
    END AS over_deadline
  FROM paired
)
SELECT
  caller,
  coalesce(status, -1) AS status,
  count(*) AS answers,
  count(call_id) AS tied,
  count(CASE WHEN retried = 1 THEN 1 END) AS retried,
  count(CASE WHEN retried = 1 AND method = 'POST' AND idempotency_key IS NULL THEN 1 END) AS posts_unkeyed,
  count(CASE WHEN retried = 1 AND waited_enough IS NOT NULL THEN 1 END) AS told_to_wait,
  count(CASE WHEN retried = 1 AND waited_enough = 1 THEN 1 END) AS waited_enough,
  count(over_deadline) AS with_deadline,
  count(CASE WHEN over_deadline = 1 THEN 1 END) AS over_deadline,
  max(CASE WHEN retried = 1 THEN waited_us END) AS longest_wait_us,
  CAST(sum(CASE WHEN retried = 1 THEN waited_us END) AS BIGINT) AS waits_us,
  count(attempt) AS numbered,
  count(CASE WHEN attempt > $most_attempts THEN 1 END) AS beyond_cap,
  max(attempt) AS highest_attempt
FROM followed
GROUP BY caller, coalesce(status, -1)
ORDER BY caller, status
