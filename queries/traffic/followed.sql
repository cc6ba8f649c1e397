-- /// query
-- title   = "What each request followed"
-- answers = "Of the requests in a span of time, health checks left out, by the attempt they state: how many came soon after one of the same client, route and user agent that failed or was slow, after one answered well, or after none?"
-- kind    = "measure"
-- needs   = ["probes", "requests"]
-- params.at_hop   = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.since_us = { type = "BIGINT", default = 0, help = "Start of the span, microseconds since 1970 UTC." }
-- params.until_us = { type = "BIGINT", default = 9000000000000000, help = "End of the span, not in it, microseconds since 1970 UTC." }
-- params.reach_us = { type = "BIGINT", default = 60000000, help = "A retry comes no later than this after the attempt before it started, in microseconds." }
-- params.slow_us  = { type = "BIGINT", default = 1000000, help = "An answer that took this long, in microseconds, came too late for callers that give up." }
-- columns.stated    = { type = "INTEGER", help = "1: says it is a first attempt; 2: says it is a later one; 0: does not say." }
-- columns.followed  = { type = "VARCHAR", help = "What came before it within reach: trouble (failed or slow), answer, nothing, or unknown without a client." }
-- columns.requests  = { type = "BIGINT", help = "Requests." }
-- columns.troubled  = { type = "BIGINT", help = "Those that themselves failed or were slow." }
-- ///
WITH near AS (
  SELECT
    date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) AS started_us,
    CASE WHEN r.attempt IS NULL THEN 0 WHEN r.attempt > 1 THEN 2 ELSE 1 END AS says,
    CASE
      WHEN r.status IN (408, 429, 499) OR r.status >= 500 OR coalesce(r.duration_us, 0) >= $slow_us THEN 1
      ELSE 0
    END AS trouble,
    r.client,
    r.route,
    r.user_agent,
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
    AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $since_us - $reach_us
    AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $until_us
),
pairs AS (
  SELECT
    started_us,
    says,
    trouble,
    client,
    lag(started_us) OVER (PARTITION BY client, route, user_agent ORDER BY started_us, source_id, line_no) AS before_us,
    lag(trouble) OVER (PARTITION BY client, route, user_agent ORDER BY started_us, source_id, line_no) AS trouble_before
  FROM near
),
told AS (
  SELECT
    says,
    trouble,
    CASE
      WHEN client IS NULL THEN 'unknown'
      WHEN before_us IS NULL OR started_us - before_us > $reach_us THEN 'nothing'
      WHEN trouble_before = 1 THEN 'trouble'
      ELSE 'answer'
    END AS came_after
  FROM pairs
  WHERE started_us >= $since_us
)
SELECT
  says AS stated,
  came_after AS followed,
  count(*) AS requests,
  count(CASE WHEN trouble = 1 THEN 1 END) AS troubled
FROM told
GROUP BY says, came_after
ORDER BY stated, followed
