-- /// query
-- title   = "Retries of the calls that ended together"
-- answers = "Of the calls whose first attempt ended between two times: when did each attempt end that was followed by another, and when did that one start?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.tied_by    = { type = "VARCHAR", default = "request_id", help = "What ties attempts: request_id, idempotency_key, trace_id or order_id." }
-- params.at_hop     = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.from_us    = { type = "BIGINT", default = 0, help = "The first attempts ended at or after this, microseconds since 1970 UTC." }
-- params.to_us      = { type = "BIGINT", default = 9000000000000000, help = "The first attempts ended before this, microseconds since 1970 UTC." }
-- params.horizon_us = { type = "BIGINT", default = 600000000, help = "Retries that start later than this after from_us are left out." }
-- params.grid_us    = { type = "BIGINT", default = 100000, help = "Length of a step of the times returned, microseconds." }
-- columns.attempt      = { type = "BIGINT", help = "Number of the attempt that started, from 2." }
-- columns.ended_step   = { type = "BIGINT", help = "Step after from_us in which the attempt before it ended." }
-- columns.started_step = { type = "BIGINT", help = "Step after from_us in which it started." }
-- columns.retries      = { type = "BIGINT", help = "Attempts with these times." }
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
touched AS (
  SELECT call_id
  FROM tied
  WHERE call_id IS NOT NULL
    AND started_us + took_us >= $from_us
    AND started_us + took_us < $to_us
  GROUP BY call_id
),
numbered AS (
  SELECT
    t.call_id,
    t.started_us,
    t.started_us + t.took_us AS ended_us,
    row_number() OVER (PARTITION BY t.call_id ORDER BY t.started_us, t.source_id, t.line_no) AS nth,
    lag(t.started_us + t.took_us)
      OVER (PARTITION BY t.call_id ORDER BY t.started_us, t.source_id, t.line_no) AS before_us
  FROM tied AS t
  JOIN touched AS c ON t.call_id = c.call_id
),
cohort AS (
  SELECT call_id
  FROM numbered
  WHERE nth = 1
    AND ended_us >= $from_us
    AND ended_us < $to_us
)
SELECT
  n.nth AS attempt,
  CAST(floor((n.before_us - $from_us) / $grid_us) AS BIGINT) AS ended_step,
  CAST(floor((n.started_us - $from_us) / $grid_us) AS BIGINT) AS started_step,
  count(*) AS retries
FROM numbered AS n
JOIN cohort AS c ON n.call_id = c.call_id
WHERE n.nth > 1
  AND n.started_us - $from_us <= $horizon_us
GROUP BY
  n.nth,
  CAST(floor((n.before_us - $from_us) / $grid_us) AS BIGINT),
  CAST(floor((n.started_us - $from_us) / $grid_us) AS BIGINT)
ORDER BY attempt, ended_step, started_step
