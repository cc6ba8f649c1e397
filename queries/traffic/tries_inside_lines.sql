-- /// query
-- title   = "Tries that a proxy made inside one request"
-- answers = "What did the tries behind each hop end with, as its own log lists them, and did the request fail?"
-- kind    = "measure"
-- needs   = ["requests"]
-- columns.hop               = { type = "VARCHAR", help = "Hop that wrote the lines; empty when the file names none." }
-- columns.failed            = { type = "INTEGER", help = "1 when the request itself ended in 408, 429, 499 or 5xx, else 0." }
-- columns.upstream_statuses = { type = "VARCHAR", help = "Statuses of its tries, as logged." }
-- columns.requests          = { type = "BIGINT", help = "Requests." }
-- ///
WITH tried AS (
  SELECT
    coalesce(hop, '') AS hop_name,
    CASE WHEN status IN (408, 429, 499) OR status >= 500 THEN 1 ELSE 0 END AS has_failed,
    upstream_statuses
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND upstream_statuses IS NOT NULL
)
SELECT
  hop_name AS hop,
  has_failed AS failed,
  upstream_statuses,
  count(*) AS requests
FROM tried
GROUP BY hop_name, has_failed, upstream_statuses
ORDER BY hop, failed, upstream_statuses
