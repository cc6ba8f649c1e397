-- /// query
-- title   = "Idempotency keys by channel and caller"
-- answers = "In each channel and from each caller, how many orders bear no key, a key of their own, several keys, or a key that was sent for another order too?"
-- kind    = "measure"
-- needs   = ["callers", "effects", "idempotency_log", "payments", "requests"]
-- columns.channel      = { type = "VARCHAR", help = "Where the act came from; empty when the ledger does not say." }
-- columns.caller       = { type = "VARCHAR", help = "User agent that sent the order; empty when no log tells." }
-- columns.without_key  = { type = "BIGINT", help = "Orders without any key." }
-- columns.own_key      = { type = "BIGINT", help = "Orders with one key that no other order bears." }
-- columns.several_keys = { type = "BIGINT", help = "Orders with more than one key, none of them shared." }
-- columns.shared_key   = { type = "BIGINT", help = "Orders with a key that another order bears too, in the ledger, the log or the receiver's list of keys." }
-- columns.payments     = { type = "BIGINT", help = "Rows of these orders that moved money." }
-- ///
WITH keyed AS (
  SELECT order_id, idempotency_key, min(coalesce(channel, '')) AS channel
  FROM payments
  WHERE order_id IS NOT NULL
  GROUP BY order_id, idempotency_key
),
sent AS (
  SELECT order_id, idempotency_key
  FROM keyed
  WHERE idempotency_key IS NOT NULL
  UNION
  SELECT business_key, key
  FROM idempotency_log
  WHERE business_key IS NOT NULL
  UNION
  SELECT order_id, idempotency_key
  FROM requests
  WHERE order_id IS NOT NULL
    AND idempotency_key IS NOT NULL
    AND method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
shared AS (
  SELECT idempotency_key
  FROM sent
  GROUP BY idempotency_key
  HAVING count(*) > 1
),
per_order AS (
  SELECT
    k.order_id,
    min(k.channel) AS channel,
    count(k.idempotency_key) AS keys,
    count(s.idempotency_key) AS shared_keys
  FROM keyed AS k
  LEFT JOIN shared AS s ON s.idempotency_key = k.idempotency_key
  GROUP BY k.order_id
),
moved AS (
  SELECT order_id, count(*) AS payments
  FROM effects
  WHERE order_id IS NOT NULL
  GROUP BY order_id
)
SELECT
  o.channel,
  coalesce(c.caller, '') AS caller,
  count(CASE WHEN o.keys = 0 THEN 1 END) AS without_key,
  count(CASE WHEN o.keys = 1 AND o.shared_keys = 0 THEN 1 END) AS own_key,
  count(CASE WHEN o.keys > 1 AND o.shared_keys = 0 THEN 1 END) AS several_keys,
  count(CASE WHEN o.shared_keys > 0 THEN 1 END) AS shared_key,
  CAST(coalesce(sum(m.payments), 0) AS BIGINT) AS payments
FROM per_order AS o
LEFT JOIN callers AS c ON c.order_id = o.order_id
LEFT JOIN moved AS m ON m.order_id = o.order_id
GROUP BY o.channel, coalesce(c.caller, '')
ORDER BY o.channel, caller
