-- /// query
-- title   = "Effects of delivered acts"
-- answers = "Of the acts that messages are about: how many were delivered so often, and took effect how many times?"
-- kind    = "measure"
-- needs   = ["deliveries", "effects"]
-- columns.messages  = { type = "BIGINT", help = "Messages about the act." }
-- columns.delivered = { type = "VARCHAR", help = "once or again: whether any of them was delivered more than once." }
-- columns.effects   = { type = "BIGINT", help = "Effects of the act in the ledger." }
-- columns.acts      = { type = "BIGINT", help = "How many acts that is." }
-- ///
WITH acts AS (
  SELECT business_key, count(DISTINCT message_id) AS messages, count(*) AS deliveries
  FROM deliveries
  WHERE business_key IS NOT NULL
  GROUP BY business_key
),
paid AS (
  SELECT order_id, count(*) AS effects
  FROM effects
  WHERE order_id IS NOT NULL
  GROUP BY order_id
)
SELECT
  a.messages,
  CASE WHEN a.deliveries > a.messages THEN 'again' ELSE 'once' END AS delivered,
  coalesce(p.effects, 0) AS effects,
  count(*) AS acts
FROM acts AS a
LEFT JOIN paid AS p ON p.order_id = a.business_key
GROUP BY a.messages, CASE WHEN a.deliveries > a.messages THEN 'again' ELSE 'once' END, coalesce(p.effects, 0)
ORDER BY messages, delivered, effects
