-- /// query
-- title   = "Health checks, by their behaviour"
-- answers = "Which callers ask one route at a constant period from the log's beginning to its end, always get the same size, and name no order, no key and no retry?"
-- kind    = "view"
-- needs   = ["requests"]
-- columns.hop        = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none." }
-- columns.client     = { type = "VARCHAR", help = "Caller's address; empty when the log does not say." }
-- columns.user_agent = { type = "VARCHAR", help = "Its user agent; empty when it sends none." }
-- columns.method     = { type = "VARCHAR", help = "A state-changing one: others are not counted anyway." }
-- columns.route      = { type = "VARCHAR", help = "The one route." }
-- columns.requests   = { type = "BIGINT", help = "Its requests with this method and route; at least 30." }
-- columns.regular    = { type = "BIGINT", help = "Gaps between them within 15 % (or a second) of the period; at least nine in ten." }
-- columns.period_us  = { type = "BIGINT", help = "Mean time from one to the next, microseconds; 5 s to 15 minutes." }
-- columns.good_bytes = { type = "BIGINT", help = "Size of every answer below 400; NULL when none was good or the log has no sizes." }
-- columns.first_at   = { type = "TIMESTAMP", help = "First of them, UTC." }
-- columns.last_at    = { type = "TIMESTAMP", help = "Last of them, UTC; from first to last at least four fifths of the hop's log." }
-- ///
WITH spans AS (
  SELECT coalesce(hop, '') AS at_hop, date_diff('microsecond', min(started_at), max(started_at)) AS log_us
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
  GROUP BY coalesce(hop, '')
),
quiet AS (
  SELECT
    coalesce(hop, '') AS at_hop,
    coalesce(client, '') AS caller,
    coalesce(user_agent, '') AS agent,
    method AS verb,
    route AS place,
    count(*) AS calls,
    min(started_at) AS began_at,
    max(started_at) AS ended_at,
    date_diff('microsecond', min(started_at), max(started_at)) AS lasted_us,
    max(CASE WHEN status < 400 THEN bytes END) AS size
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND (client IS NOT NULL OR user_agent IS NOT NULL)
  GROUP BY coalesce(hop, ''), coalesce(client, ''), coalesce(user_agent, ''), method, route
  HAVING count(*) >= 30
    AND count(order_id) = 0
    AND count(idempotency_key) = 0
    AND coalesce(max(attempt), 1) = 1
    AND coalesce(min(CASE WHEN status < 400 THEN bytes END), 0) = coalesce(max(CASE WHEN status < 400 THEN bytes END), 0)
),
throughout AS (
  SELECT
    q.at_hop,
    q.caller,
    q.agent,
    q.verb,
    q.place,
    q.calls,
    q.began_at,
    q.ended_at,
    q.size,
    CAST(floor(q.lasted_us / (q.calls - 1)) AS BIGINT) AS mean_us
  FROM quiet AS q
  JOIN spans AS s ON s.at_hop = q.at_hop
  WHERE 5 * q.lasted_us >= 4 * s.log_us
    AND q.lasted_us >= 5000000 * (q.calls - 1)
    AND q.lasted_us <= 900000000 * (q.calls - 1)
),
gaps AS (
  SELECT
    t.at_hop,
    t.caller,
    t.agent,
    t.verb,
    t.place,
    t.mean_us,
    date_diff(
      'microsecond',
      lag(r.started_at) OVER (
        PARTITION BY t.at_hop, t.caller, t.agent, t.verb, t.place ORDER BY r.started_at, r.source_id, r.line_no
      ),
      r.started_at
    ) AS gap_us
  FROM throughout AS t
  JOIN requests AS r
    ON coalesce(r.client, '') = t.caller
    AND coalesce(r.user_agent, '') = t.agent
    AND r.route = t.place
    AND r.method = t.verb
    AND coalesce(r.hop, '') = t.at_hop
),
kept AS (
  SELECT at_hop, caller, agent, verb, place, count(*) AS near_mean
  FROM gaps
  WHERE abs(gap_us - mean_us) <= 1000000
    OR 100 * abs(gap_us - mean_us) <= 15 * mean_us
  GROUP BY at_hop, caller, agent, verb, place
)
SELECT
  t.at_hop AS hop,
  t.caller AS client,
  t.agent AS user_agent,
  t.verb AS method,
  t.place AS route,
  t.calls AS requests,
  k.near_mean AS regular,
  t.mean_us AS period_us,
  t.size AS good_bytes,
  t.began_at AS first_at,
  t.ended_at AS last_at
FROM throughout AS t
JOIN kept AS k
  ON k.at_hop = t.at_hop
  AND k.caller = t.caller
  AND k.agent = t.agent
  AND k.verb = t.verb
  AND k.place = t.place
WHERE 10 * k.near_mean >= 9 * (t.calls - 1)
