-- /// query
-- title   = "Requests sent while nothing succeeded"
-- answers = "In which stretches did a caller fail many times in a row and go on sending, and how many requests would a circuit breaker have saved?"
-- kind    = "detection"
-- needs   = ["requests", "sources"]
-- params.at_hop           = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.breaker_failures = { type = "BIGINT", default = 10, help = "Failures in a row after which a breaker opens." }
-- params.probe_us         = { type = "BIGINT", default = 5000000, help = "A request this long after the one before is a probe, which a breaker sends too." }
-- columns.caller     = { type = "VARCHAR", help = "User agent, or address when it sends none." }
-- columns.stretch_no = { type = "BIGINT", help = "Answers that were no failure before the stretch." }
-- columns.failures_before = { type = "BIGINT", help = "Failures before the stretch." }
-- columns.failures   = { type = "BIGINT", help = "Failures in a row: 5xx, or the caller hung up (499). 429 counts neither way." }
-- columns.needless   = { type = "BIGINT", help = "Those sent after the breaker would have opened, probes left out." }
-- columns.probes     = { type = "BIGINT", help = "Those sent after it one by one, with silence before each." }
-- columns.lasted_us  = { type = "BIGINT", help = "From the first failure's start to the last one's end." }
-- columns.source_id  = { type = "BIGINT", help = "Log file of the failure that would have opened it." }
-- columns.line_no    = { type = "BIGINT", help = "Its line." }
-- ///
WITH sent AS (
  SELECT
    coalesce(r.user_agent, r.client, '') AS caller,
    CASE WHEN r.status >= 500 OR r.status = 499 THEN 1 ELSE 0 END AS failed,
    coalesce(s.resolution_us, 0) AS step_us,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) AS started_us,
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) + coalesce(r.duration_us, 0) AS ended_us,
    r.source_id,
    r.line_no
  FROM requests AS r
  LEFT JOIN sources AS s ON s.source_id = r.source_id
  WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(r.hop, '') = $at_hop
    AND r.status IS NOT NULL
    AND r.status <> 429
),
placed AS (
  SELECT
    caller,
    failed,
    step_us,
    started_us,
    ended_us,
    source_id,
    line_no,
    sum(1 - failed) OVER (
      PARTITION BY caller ORDER BY ended_us, source_id, line_no ROWS UNBOUNDED PRECEDING
    ) AS stretch_no,
    sum(failed) OVER (
      PARTITION BY caller ORDER BY ended_us, source_id, line_no ROWS UNBOUNDED PRECEDING
    ) AS failures_so_far,
    started_us - lag(started_us) OVER (PARTITION BY caller ORDER BY ended_us, source_id, line_no) AS silence_us
  FROM sent
),
failures AS (
  SELECT
    caller,
    CAST(stretch_no AS BIGINT) AS stretch_no,
    CAST(failures_so_far AS BIGINT) AS failures_so_far,
    step_us,
    started_us,
    ended_us,
    silence_us,
    source_id,
    line_no,
    row_number() OVER (PARTITION BY caller, stretch_no ORDER BY ended_us, source_id, line_no) AS nth
  FROM placed
  WHERE failed = 1
),
opened AS (
  SELECT caller, stretch_no, ended_us AS opened_us, source_id, line_no
  FROM failures
  WHERE nth = $breaker_failures
)
SELECT
  o.caller,
  o.stretch_no,
  min(f.failures_so_far) - 1 AS failures_before,
  count(*) AS failures,
  count(
    CASE
      WHEN f.nth > $breaker_failures AND f.started_us + f.step_us >= o.opened_us AND f.silence_us < $probe_us THEN 1
    END
  ) AS needless,
  count(CASE WHEN f.nth > $breaker_failures AND f.silence_us >= $probe_us THEN 1 END) AS probes,
  max(f.ended_us) - min(f.started_us) AS lasted_us,
  o.source_id,
  o.line_no
FROM opened AS o
JOIN failures AS f ON f.caller = o.caller AND f.stretch_no = o.stretch_no
GROUP BY o.caller, o.stretch_no, o.source_id, o.line_no
HAVING count(*) > $breaker_failures
ORDER BY o.caller, o.stretch_no, o.source_id, o.line_no
