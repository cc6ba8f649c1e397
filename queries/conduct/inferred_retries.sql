-- /// query
-- title   = "Retries that no id ties, inferred"
-- answers = "Which callers were seen to retry a final answer elsewhere in the log, and how often did the same address do it again without any id or attempt number?"
-- kind    = "measure"
-- needs   = ["payments", "requests", "sources"]
-- params.tied_by = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id, order_id (in the path, or by the ledger row of the request) or caller (address and user agent, with attempt numbers)." }
-- params.at_hop  = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- columns.caller  = { type = "VARCHAR", help = "User agent; empty when it sends none." }
-- columns.status  = { type = "INTEGER", help = "The answer." }
-- columns.answers = { type = "BIGINT", help = "Answers to requests of the caller that bear neither id nor attempt number." }
-- columns.retried = { type = "BIGINT", help = "Those after which the same address asked the same again, no later than the caller's longest wait where ids show it." }
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
    coalesce(r.client, '') AS address,
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
shown AS (
  SELECT caller, status, max(waited_us) AS longest_us
  FROM followed
  WHERE retried = 1
    AND (status BETWEEN 400 AND 431 OR status = 451)
    AND status NOT IN (408, 421, 423, 424, 425, 429)
  GROUP BY caller, status
),
bare AS (
  SELECT
    caller,
    status,
    ended_us,
    lead(started_us) OVER (PARTITION BY caller, address, method, path ORDER BY ended_us, source_id, line_no) AS next_us
  FROM calls
  WHERE call_id IS NULL
    AND attempt IS NULL
)
SELECT
  b.caller,
  b.status,
  count(*) AS answers,
  count(CASE WHEN b.next_us - b.ended_us <= s.longest_us THEN 1 END) AS retried
FROM bare AS b
JOIN shown AS s ON s.caller = b.caller AND s.status = b.status
GROUP BY b.caller, b.status
ORDER BY b.caller, b.status
