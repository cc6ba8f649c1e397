-- /// query
-- title   = "Health checks that are counted apart"
-- answers = "Which callers behave as health checks do, how regular are they, and how many of their requests are left out of the counts?"
-- kind    = "measure"
-- needs   = ["probes"]
-- columns.hop        = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none." }
-- columns.client     = { type = "VARCHAR", help = "Caller's address; empty when the log does not say." }
-- columns.user_agent = { type = "VARCHAR", help = "Its user agent; empty when it sends none." }
-- columns.method     = { type = "VARCHAR", help = "POST, PUT, PATCH or DELETE; others are not counted anyway." }
-- columns.route      = { type = "VARCHAR", help = "The one route." }
-- columns.requests   = { type = "BIGINT", help = "Its requests with this method and route." }
-- columns.regular    = { type = "BIGINT", help = "Gaps between them within 15 % (or a second) of the period." }
-- columns.period_us  = { type = "BIGINT", help = "Mean time from one to the next, microseconds." }
-- columns.good_bytes = { type = "BIGINT", help = "Size of every answer below 400; NULL when none was good or the log has no sizes." }
-- columns.first_at   = { type = "TIMESTAMP", help = "First of them, UTC." }
-- columns.last_at    = { type = "TIMESTAMP", help = "Last of them, UTC." }
-- ///
SELECT
  hop,
  client,
  user_agent,
  method,
  route,
  max(requests) AS requests,
  max(regular) AS regular,
  max(period_us) AS period_us,
  max(good_bytes) AS good_bytes,
  min(first_at) AS first_at,
  max(last_at) AS last_at
FROM probes
GROUP BY hop, client, user_agent, method, route
ORDER BY hop, client, user_agent, method, route
