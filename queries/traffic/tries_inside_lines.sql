-- /// query
-- title   = "Tries that a proxy made inside one request"
-- answers = "What did the tries behind each hop end with, as its own log lists them, and did the request fail?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.since_us = { type = "BIGINT", default = 0, help = "Start of the span, microseconds since 1970 UTC." }
-- params.until_us = { type = "BIGINT", default = 9000000000000000, help = "End of the span, not in it, microseconds since 1970 UTC." }
-- columns.in_span           = { type = "INTEGER", help = "1 for requests in the span, else 0." }
-- columns.hop               = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none." }
-- columns.failed            = { type = "INTEGER", help = "1 when the request itself ended in 408, 429, 499 or 5xx, else 0." }
-- columns.upstream_statuses = { type = "VARCHAR", help = "Statuses of its tries, as logged." }
-- columns.requests          = { type = "BIGINT", help = "Requests." }
-- ///
WITH tried AS (
  SELECT
    coalesce(hop, '') AS hop_name,
    CASE WHEN status IN (408, 429, 499) OR status >= 500 THEN 1 ELSE 0 END AS has_failed,
    upstream_statuses,
    CASE
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) >= $since_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) < $until_us
        THEN 1
      ELSE 0
    END AS in_span
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND upstream_statuses IS NOT NULL
)
SELECT
  in_span,
  hop_name AS hop,
  has_failed AS failed,
  upstream_statuses,
  count(*) AS requests
FROM tried
GROUP BY in_span, hop_name, has_failed, upstream_statuses
ORDER BY in_span, hop, failed, upstream_statuses
