-- /// query
-- title   = "Clients that sent most, in two windows"
-- answers = "Which clients started most calls in the incident, how many in the baseline, and how many of them were answered well?"
-- kind    = "measure"
-- needs   = ["requests"]
-- params.at_hop            = { type = "VARCHAR", default = "", help = "Hop to look at; empty for logs whose file names none." }
-- params.basis             = { type = "VARCHAR", default = "attempt", help = "What tells attempts apart: attempt, retry_header (sent on retries only), idempotency_key, request_id, trace_id, order_id or none." }
-- params.baseline_start_us = { type = "BIGINT", default = 0, help = "Microseconds since 1970 UTC." }
-- params.baseline_end_us   = { type = "BIGINT", default = 0, help = "Not in it; microseconds since 1970 UTC." }
-- params.incident_start_us = { type = "BIGINT", default = 0, help = "Microseconds since 1970 UTC." }
-- params.incident_end_us   = { type = "BIGINT", default = 9000000000000000, help = "Not in it; microseconds since 1970 UTC." }
-- params.most              = { type = "BIGINT", default = 10, help = "Clients to list." }
-- columns.place            = { type = "BIGINT", help = "1 for the client that started most calls in the incident." }
-- columns.client           = { type = "VARCHAR", help = "Address or name; empty when the log does not say." }
-- columns.baseline_calls   = { type = "BIGINT", help = "Calls it started in the baseline: first attempts, or ids where they tell attempts." }
-- columns.incident_calls   = { type = "BIGINT", help = "Calls it started in the incident." }
-- columns.incident_good    = { type = "BIGINT", help = "Its requests of the incident that were answered below 400." }
-- columns.incident_orders  = { type = "BIGINT", help = "Distinct orders in the paths of its requests of the incident; 0 when paths name none." }
-- columns.clients          = { type = "BIGINT", help = "Clients in the incident, listed or not." }
-- ///
WITH near AS (
  SELECT
    coalesce(client, '') AS caller,
    CASE
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) >= $incident_start_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) < $incident_end_us
        THEN 1
      WHEN date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) >= $baseline_start_us
        AND date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', started_at) < $baseline_end_us
        THEN 0
    END AS in_incident,
    CASE WHEN $basis IN ('attempt', 'retry_header', 'none') AND coalesce(attempt, 1) = 1 THEN 1 ELSE 0 END AS is_first,
    CASE $basis
      WHEN 'idempotency_key' THEN idempotency_key
      WHEN 'request_id' THEN request_id
      WHEN 'trace_id' THEN trace_id
      WHEN 'order_id' THEN order_id
    END AS call_id,
    order_id,
    CASE WHEN status < 400 THEN 1 ELSE 0 END AS good
  FROM requests
  WHERE method IN ('POST', 'PUT', 'PATCH', 'DELETE')
    AND coalesce(hop, '') = $at_hop
),
callers AS (
  SELECT
    caller,
    count(CASE WHEN in_incident = 0 AND is_first = 1 THEN 1 END)
      + count(DISTINCT CASE WHEN in_incident = 0 THEN call_id END) AS calls_before,
    count(CASE WHEN in_incident = 1 AND is_first = 1 THEN 1 END)
      + count(DISTINCT CASE WHEN in_incident = 1 THEN call_id END) AS calls_during,
    count(CASE WHEN in_incident = 1 AND good = 1 THEN 1 END) AS good_during,
    count(DISTINCT CASE WHEN in_incident = 1 THEN order_id END) AS orders_during
  FROM near
  WHERE in_incident IS NOT NULL
  GROUP BY caller
),
ranked AS (
  SELECT
    row_number() OVER (ORDER BY calls_during DESC, caller) AS nth,
    caller,
    calls_before,
    calls_during,
    good_during,
    orders_during
  FROM callers
)
SELECT
  nth AS place,
  max(caller) AS client,
  max(calls_before) AS baseline_calls,
  max(calls_during) AS incident_calls,
  max(good_during) AS incident_good,
  max(orders_during) AS incident_orders,
  (SELECT count(*) FROM callers WHERE calls_during > 0) AS clients
FROM ranked
WHERE nth <= $most
GROUP BY nth
ORDER BY place
