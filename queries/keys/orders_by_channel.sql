-- /// query
-- title   = "Idempotency keys by channel"
-- answers = "In each channel, how many orders bear no key, a key of their own, several keys, or a key that was sent for another order too?"
-- kind    = "measure"
-- needs   = ["idempotency_log", "payments", "requests"]
-- columns.channel      = { type = "VARCHAR", help = "Where the act came from; empty when the ledger does not say." }
-- columns.without_key  = { type = "BIGINT", help = "Orders without any key." }
-- columns.own_key      = { type = "BIGINT", help = "Orders with one key that no other order bears." }
-- columns.several_keys = { type = "BIGINT", help = "Orders with more than one key, none of them shared." }
-- columns.shared_key   = { type = "BIGINT", help = "Orders with a key that another order bears too, in the ledger, the log or the receiver's list of keys." }
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
)
SELECT
  channel,
  count(CASE WHEN keys = 0 THEN 1 END) AS without_key,
  count(CASE WHEN keys = 1 AND shared_keys = 0 THEN 1 END) AS own_key,
  count(CASE WHEN keys > 1 AND shared_keys = 0 THEN 1 END) AS several_keys,
  count(CASE WHEN shared_keys > 0 THEN 1 END) AS shared_key
FROM per_order
GROUP BY channel
ORDER BY channel
