-- /// query
-- title   = "Two windows, split"
-- answers = "Which routes, clients, user agents or hops carry the growth: requests, first attempts and retries of each in the baseline and in the incident?"
-- kind    = "measure"
-- needs   = ["probes", "requests"]
-- params.split_by          = { type = "VARCHAR", default = "route", help = "What to split by: route, client, user_agent or hop." }
-- params.at_hop            = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.basis             = { type = "VARCHAR", default = "attempt", help = "What tells attempts apart: attempt, retry_header (sent on retries only), idempotency_key, request_id, trace_id, order_id or none." }
-- params.slow_us           = { type = "BIGINT", default = 1000000, help = "An answer that took this long, in microseconds, came too late for callers that give up." }
-- params.baseline_start_us = { type = "BIGINT", default = 0, help = "Microseconds since 1970 UTC." }
-- params.baseline_end_us   = { type = "BIGINT", default = 0, help = "Not in it; microseconds since 1970 UTC." }
-- params.incident_start_us = { type = "BIGINT", default = 0, help = "Microseconds since 1970 UTC." }
-- params.incident_end_us   = { type = "BIGINT", default = 9000000000000000, help = "Not in it; microseconds since 1970 UTC." }
-- params.most              = { type = "BIGINT", default = 10, help = "Parts to list." }
-- columns.place               = { type = "BIGINT", help = "1 for the part with most requests in the incident." }
-- columns.part                = { type = "VARCHAR", help = "The route, client, user agent or hop; empty when the log does not say." }
-- columns.baseline_first      = { type = "BIGINT", help = "Requests of the baseline that are attempt 1." }
-- columns.baseline_retries    = { type = "BIGINT", help = "Those that are a later attempt." }
-- columns.baseline_unnumbered = { type = "BIGINT", help = "Those that do not say." }
-- columns.incident_first      = { type = "BIGINT", help = "Requests of the incident that are attempt 1." }
-- columns.incident_retries    = { type = "BIGINT", help = "Those that are a later attempt." }
-- columns.incident_unnumbered = { type = "BIGINT", help = "Those that do not say." }
-- columns.incident_good       = { type = "BIGINT", help = "Requests of the incident that were answered below 400." }
-- columns.incident_orders     = { type = "BIGINT", help = "Distinct orders in the paths of the incident's requests; 0 when paths name none." }
-- columns.parts               = { type = "BIGINT", help = "Parts with a request in either window, listed or not." }
-- columns.incident_parts      = { type = "BIGINT", help = "Parts with a request in the incident, listed or not." }
-- ///
WITH touched AS (
  SELECT CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END AS call_id
  FROM requests AS r
  WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(r.hop, '') = $at_hop
    AND CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END IS NOT NULL
    AND (
      (date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $incident_start_us AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $incident_end_us)
      OR (date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $baseline_start_us AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $baseline_end_us)
    )
  GROUP BY CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END
),
calls AS (
  SELECT
    coalesce(
      CASE $split_by
        WHEN 'route' THEN r.route
        WHEN 'client' THEN r.client
        WHEN 'user_agent' THEN r.user_agent
        WHEN 'hop' THEN r.hop
      END,
      ''
    ) AS part_name,
    CASE
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $incident_start_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $incident_end_us
        THEN 1
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $baseline_start_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $baseline_end_us
        THEN 0
    END AS in_incident,
    r.started_at,
    CASE
      WHEN r.status IN (408, 429, 499) OR r.status >= 500 OR r.duration_us >= $slow_us THEN 1
      ELSE 0
    END AS trouble,
    CASE WHEN r.status < 400 THEN 1 ELSE 0 END AS good,
    r.order_id,
    CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END AS call_id,
    r.source_id,
    r.line_no
  FROM requests AS r
  JOIN touched AS t ON t.call_id = CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END
  LEFT JOIN probes AS p
    ON p.client = coalesce(r.client, '')
    AND p.user_agent = coalesce(r.user_agent, '')
    AND p.route = r.route
    AND p.method = r.method
    AND p.hop = coalesce(r.hop, '')
  WHERE r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(r.hop, '') = $at_hop
    AND p.route IS NULL
),
repeated AS (
  SELECT
    part_name,
    in_incident,
    good,
    order_id,
    row_number() OVER (PARTITION BY call_id ORDER BY started_at, source_id, line_no) AS place_in_call,
    lag(trouble) OVER (PARTITION BY call_id ORDER BY started_at, source_id, line_no) AS trouble_before
  FROM calls
),
stated AS (
  SELECT
    coalesce(
      CASE $split_by
        WHEN 'route' THEN r.route
        WHEN 'client' THEN r.client
        WHEN 'user_agent' THEN r.user_agent
        WHEN 'hop' THEN r.hop
      END,
      ''
    ) AS part_name,
    CASE
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $incident_start_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $incident_end_us
        THEN 1
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) >= $baseline_start_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', r.started_at) < $baseline_end_us
        THEN 0
    END AS in_incident,
    CASE WHEN r.status < 400 THEN 1 ELSE 0 END AS good,
    r.order_id,
    CASE
      WHEN $basis = 'attempt' THEN r.attempt
      WHEN $basis = 'retry_header' THEN coalesce(r.attempt, 1)
    END AS nth
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
    AND CASE $basis
      WHEN 'idempotency_key' THEN r.idempotency_key
      WHEN 'request_id' THEN r.request_id
      WHEN 'trace_id' THEN r.trace_id
      WHEN 'order_id' THEN r.order_id
    END IS NULL
),
numbered AS (
  SELECT part_name, in_incident, good, order_id, CAST(nth AS BIGINT) AS nth
  FROM stated
  WHERE in_incident IS NOT NULL
  UNION ALL
  SELECT
    part_name,
    in_incident,
    good,
    order_id,
    CASE WHEN $basis = 'order_id' AND trouble_before = 0 THEN 1 ELSE place_in_call END AS nth
  FROM repeated
  WHERE in_incident IS NOT NULL
),
counted AS (
  SELECT
    part_name,
    count(CASE WHEN in_incident = 0 AND nth = 1 THEN 1 END) AS first_before,
    count(CASE WHEN in_incident = 0 AND nth > 1 THEN 1 END) AS retries_before,
    count(CASE WHEN in_incident = 0 AND nth IS NULL THEN 1 END) AS silent_before,
    count(CASE WHEN in_incident = 1 AND nth = 1 THEN 1 END) AS first_during,
    count(CASE WHEN in_incident = 1 AND nth > 1 THEN 1 END) AS retries_during,
    count(CASE WHEN in_incident = 1 AND nth IS NULL THEN 1 END) AS silent_during,
    count(CASE WHEN in_incident = 1 AND good = 1 THEN 1 END) AS good_during,
    count(DISTINCT CASE WHEN in_incident = 1 THEN order_id END) AS orders_during,
    count(CASE WHEN in_incident = 1 THEN 1 END) AS all_during
  FROM numbered
  GROUP BY part_name
),
ranked AS (
  SELECT
    row_number() OVER (ORDER BY all_during DESC, part_name) AS nth,
    part_name,
    first_before,
    retries_before,
    silent_before,
    first_during,
    retries_during,
    silent_during,
    good_during,
    orders_during
  FROM counted
)
SELECT
  nth AS place,
  max(part_name) AS part,
  max(first_before) AS baseline_first,
  max(retries_before) AS baseline_retries,
  max(silent_before) AS baseline_unnumbered,
  max(first_during) AS incident_first,
  max(retries_during) AS incident_retries,
  max(silent_during) AS incident_unnumbered,
  max(good_during) AS incident_good,
  max(orders_during) AS incident_orders,
  (SELECT count(*) FROM counted) AS parts,
  (SELECT count(*) FROM counted WHERE all_during > 0) AS incident_parts
FROM ranked
WHERE nth <= $most
GROUP BY nth
ORDER BY place
