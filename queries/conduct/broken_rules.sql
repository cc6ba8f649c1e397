-- /// query
-- title   = "Requests that break a rule of retrying"
-- answers = "Which requests came after an answer that a retry cannot change, sooner than Retry-After asked, or after the caller's own deadline?"
-- kind    = "detection"
-- needs   = ["payments", "requests", "sources"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id, order_id (in the path, or by the ledger row of the request) or caller (address and user agent, with attempt numbers)." }
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.most_lines = { type = "BIGINT", default = 200, help = "Most rows to return for each rule." }
-- columns.rule       = { type = "VARCHAR", help = "retried_400, ..., retry_after_ignored, attempts_over_deadline." }
-- columns.broken_no  = { type = "BIGINT", help = "Number of the row within its rule, by time of the answer before it." }
-- columns.caller     = { type = "VARCHAR", help = "User agent; empty when it sends none." }
-- columns.method     = { type = "VARCHAR", help = "POST, ..." }
-- columns.route      = { type = "VARCHAR", help = "Path with ids folded." }
-- columns.waited_us  = { type = "BIGINT", help = "From the answer to this request; NULL where no answer is meant." }
-- columns.source_id  = { type = "BIGINT", help = "Log file of the request." }
-- columns.line_no    = { type = "BIGINT", help = "Its line." }
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
),
broken AS (
  SELECT
    'retried_' || CAST(status AS VARCHAR) AS rule,
    caller,
    method,
    route,
    waited_us,
    started_us,
    next_source_id AS source_id,
    next_line_no AS line_no
  FROM followed
  WHERE retried = 1
    AND (status BETWEEN 400 AND 431 OR status = 451)
    AND status NOT IN (408, 421, 423, 424, 425, 429)
  UNION ALL
  SELECT 'retry_after_ignored', caller, method, route, waited_us, started_us, next_source_id, next_line_no
  FROM followed
  WHERE retried = 1
    AND waited_enough = 0
  UNION ALL
  SELECT 'attempts_over_deadline', caller, method, route, CAST(NULL AS BIGINT), started_us, source_id, line_no
  FROM followed
  WHERE over_deadline = 1
),
numbered AS (
  SELECT
    rule,
    row_number() OVER (PARTITION BY rule ORDER BY started_us, source_id, line_no) AS broken_no,
    caller,
    method,
    route,
    waited_us,
    source_id,
    line_no
  FROM broken
)
SELECT rule, broken_no, caller, method, route, waited_us, source_id, line_no
FROM numbered
WHERE broken_no <= $most_lines
ORDER BY rule, broken_no, source_id, line_no
