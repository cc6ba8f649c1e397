-- /// query
-- title   = "Who sent the acts that took effect more than once"
-- answers = "From which channel and caller came each business act with more than one effect?"
-- kind    = "measure"
-- needs   = ["callers", "effects", "payments"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an act repeated." }
-- columns.business_key = { type = "VARCHAR", help = "What names the act." }
-- columns.channel      = { type = "VARCHAR", help = "Where it came from; empty when the ledger does not say." }
-- columns.caller       = { type = "VARCHAR", help = "User agent that sent it; empty when no log tells." }
-- ///
WITH repeated AS (
  SELECT business_key, min(order_id) AS order_id
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key
  HAVING count(*) >= $min_effects
),
channels AS (
  SELECT order_id, min(coalesce(channel, '')) AS channel
  FROM payments
  WHERE order_id IS NOT NULL
  GROUP BY order_id
)
SELECT
  r.business_key,
  coalesce(min(h.channel), '') AS channel,
  coalesce(min(c.caller), '') AS caller
FROM repeated AS r
LEFT JOIN channels AS h ON h.order_id = r.order_id
LEFT JOIN callers AS c ON c.order_id = r.order_id
GROUP BY r.business_key
ORDER BY r.business_key
