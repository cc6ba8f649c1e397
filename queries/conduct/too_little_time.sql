-- /// query
-- title   = "Calls begun with too little time left"
-- answers = "Which requests began with less time before their caller's deadline than half of the successes of their route needed?"
-- kind    = "detection"
-- needs   = ["requests"]
-- params.at_hop = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.fewest_successes = { type = "BIGINT", default = 20, help = "Fewest successes that tell how long a route takes." }
-- params.most_lines = { type = "BIGINT", default = 200, help = "Most rows to return." }
-- columns.broken_no  = { type = "BIGINT", help = "Number of the row, by its start." }
-- columns.broken     = { type = "BIGINT", help = "How many there are in all." }
-- columns.caller     = { type = "VARCHAR", help = "User agent; empty when it sends none." }
-- columns.by_caller  = { type = "BIGINT", help = "How many of them are this caller's." }
-- columns.method     = { type = "VARCHAR", help = "POST, ..." }
-- columns.route      = { type = "VARCHAR", help = "Path with ids folded." }
-- columns.left_us    = { type = "BIGINT", help = "Time from the start to the deadline." }
-- columns.median_us  = { type = "BIGINT", help = "What half of the route's successes took at most." }
-- columns.source_id  = { type = "BIGINT", help = "Log file of the request." }
-- columns.line_no    = { type = "BIGINT", help = "Its line." }
-- ///
WITH calls AS (
  SELECT
    coalesce(user_agent, '') AS caller,
    method,
    route,
    status,
    duration_us,
    started_at,
    date_diff('microsecond', started_at, deadline_at) AS left_us,
    source_id,
    line_no
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') = $at_hop
),
successes AS (
  SELECT
    method,
    route,
    duration_us,
    row_number() OVER (PARTITION BY method, route ORDER BY duration_us, source_id, line_no) AS nth,
    count(*) OVER (PARTITION BY method, route) AS successes
  FROM calls
  WHERE status BETWEEN 200 AND 299
    AND duration_us IS NOT NULL
),
medians AS (
  SELECT method, route, duration_us AS median_us
  FROM successes
  WHERE 2 * nth - successes IN (0, 1)
    AND successes >= $fewest_successes
),
short AS (
  SELECT
    row_number() OVER (ORDER BY c.started_at, c.source_id, c.line_no) AS broken_no,
    count(*) OVER () AS broken,
    c.caller,
    count(*) OVER (PARTITION BY c.caller) AS by_caller,
    c.method,
    c.route,
    c.left_us,
    m.median_us,
    c.source_id,
    c.line_no
  FROM calls AS c
  JOIN medians AS m ON m.method = c.method AND m.route = c.route
  WHERE c.left_us >= 0
    AND c.left_us < m.median_us
)
SELECT broken_no, broken, caller, by_caller, method, route, left_us, median_us, source_id, line_no
FROM short
WHERE broken_no <= $most_lines
ORDER BY broken_no, source_id, line_no
