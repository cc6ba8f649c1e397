-- /// query
-- title   = "Orders by key mode"
-- answers = "How does each order use idempotency keys: none, one for the act, a new one for every attempt, or one that other orders bear too?"
-- kind    = "measure"
-- needs   = ["payments"]
-- columns.key_mode = { type = "VARCHAR", help = "none, one_key, key_per_attempt or key_reused." }
-- columns.orders   = { type = "BIGINT", help = "Orders." }
-- ///
WITH keyed AS (
  SELECT order_id, idempotency_key, count(*) AS uses
  FROM payments
  WHERE order_id IS NOT NULL
  GROUP BY order_id, idempotency_key
),
shared AS (
  SELECT idempotency_key
  FROM keyed
  WHERE idempotency_key IS NOT NULL
  GROUP BY idempotency_key
  HAVING count(*) > 1
),
per_order AS (
  SELECT
    k.order_id,
    count(k.idempotency_key) AS keys,
    count(s.idempotency_key) AS shared_keys
  FROM keyed AS k
  LEFT JOIN shared AS s ON s.idempotency_key = k.idempotency_key
  GROUP BY k.order_id
)
SELECT
  CASE
    WHEN shared_keys > 0 THEN 'key_reused'
    WHEN keys = 0 THEN 'none'
    WHEN keys = 1 THEN 'one_key'
    ELSE 'key_per_attempt'
  END AS key_mode,
  count(*) AS orders
FROM per_order
GROUP BY
  CASE
    WHEN shared_keys > 0 THEN 'key_reused'
    WHEN keys = 0 THEN 'none'
    WHEN keys = 1 THEN 'one_key'
    ELSE 'key_per_attempt'
  END
ORDER BY key_mode
