-- /// query
-- title   = "What callers do with the key when they try again"
-- answers = "In each channel and from each caller, how many orders that were sent more than once bore one key throughout, or several, and how often did one key hold the order to one effect, or not?"
-- kind    = "measure"
-- needs   = ["callers", "effects", "idempotency_log", "payments", "requests"]
-- params.expired_us = { type = "BIGINT", default = 3600000000, help = "Two effects of one key this far apart: the receiver forgot the key." }
-- params.race_us    = { type = "BIGINT", default = 10000000, help = "Two effects of one key within this: both were under way at once." }
-- columns.channel  = { type = "VARCHAR", help = "Where the act came from; empty when the ledger does not say." }
-- columns.caller   = { type = "VARCHAR", help = "User agent that sent the order; empty when no log tells." }
-- columns.kept     = { type = "BIGINT", help = "Orders sent more than once under one key." }
-- columns.renewed  = { type = "BIGINT", help = "Orders sent more than once under several keys." }
-- columns.honoured = { type = "BIGINT", help = "Of the kept: orders with one effect." }
-- columns.expired  = { type = "BIGINT", help = "Orders with two effects of one key, far apart." }
-- columns.race     = { type = "BIGINT", help = "Orders with two effects of one key, at once." }
-- ///
WITH owners AS (
  SELECT idempotency_key, min(order_id) AS order_id
  FROM payments
  WHERE idempotency_key IS NOT NULL
    AND order_id IS NOT NULL
  GROUP BY idempotency_key
),
sent AS (
  SELECT business_key AS order_id, key AS idempotency_key
  FROM idempotency_log
  WHERE business_key IS NOT NULL
  UNION ALL
  SELECT coalesce(r.order_id, w.order_id), r.idempotency_key
  FROM requests AS r
  LEFT JOIN owners AS w ON w.idempotency_key = r.idempotency_key
  WHERE r.idempotency_key IS NOT NULL
    AND r.method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
seen AS (
  SELECT order_id, count(*) AS times, count(DISTINCT idempotency_key) AS keys
  FROM sent
  WHERE order_id IS NOT NULL
  GROUP BY order_id
),
apart AS (
  SELECT
    order_id,
    date_diff(
      'microsecond',
      lag(created_at) OVER (PARTITION BY order_id, idempotency_key ORDER BY created_at, source_id, line_no),
      created_at
    ) AS gap_us
  FROM effects
  WHERE order_id IS NOT NULL
    AND idempotency_key IS NOT NULL
),
repeats AS (
  SELECT order_id, count(*) AS effects, max(gap_us) AS longest_us, min(gap_us) AS shortest_us
  FROM apart
  GROUP BY order_id
),
orders AS (
  SELECT order_id, min(coalesce(channel, '')) AS channel
  FROM payments
  WHERE order_id IS NOT NULL
  GROUP BY order_id
)
SELECT
  o.channel,
  coalesce(c.caller, '') AS caller,
  count(CASE WHEN s.times > 1 AND s.keys = 1 THEN 1 END) AS kept,
  count(CASE WHEN s.times > 1 AND s.keys > 1 THEN 1 END) AS renewed,
  count(CASE WHEN s.times > 1 AND s.keys = 1 AND r.effects = 1 THEN 1 END) AS honoured,
  count(CASE WHEN r.longest_us > $expired_us THEN 1 END) AS expired,
  count(CASE WHEN r.longest_us <= $expired_us AND r.shortest_us <= $race_us THEN 1 END) AS race
FROM orders AS o
LEFT JOIN callers AS c ON c.order_id = o.order_id
LEFT JOIN seen AS s ON s.order_id = o.order_id
LEFT JOIN repeats AS r ON r.order_id = o.order_id
GROUP BY o.channel, coalesce(c.caller, '')
ORDER BY o.channel, caller
