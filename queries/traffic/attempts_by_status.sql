-- /// query
-- title   = "Attempts by status"
-- answers = "With what status did first attempts and retries end?"
-- kind    = "measure"
-- needs   = ["requests"]
-- columns.method   = { type = "VARCHAR", help = "GET, POST, ..." }
-- columns.attempt  = { type = "INTEGER", help = "Attempt number; -1 when the request does not say." }
-- columns.status   = { type = "INTEGER", help = "Answer's status; -1 when the log has none." }
-- columns.requests = { type = "BIGINT", help = "Requests." }
-- ///
SELECT
  method,
  coalesce(attempt, -1) AS attempt,
  coalesce(status, -1) AS status,
  count(*) AS requests
FROM requests
GROUP BY method, coalesce(attempt, -1), coalesce(status, -1)
ORDER BY method, attempt, status
