-- /// query
-- title   = "Orders paid more than once"
-- answers = "Which orders have more than one effect, and how much money moved for each?"
-- kind    = "detection"
-- needs   = ["effects"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an order repeated." }
-- columns.order_id = { type = "VARCHAR", help = "Business key." }
-- columns.currency = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.effects  = { type = "BIGINT", help = "Rows that moved money." }
-- columns.total    = { type = "DECIMAL(38,4)", help = "Sum of their amounts." }
-- columns.first_at = { type = "TIMESTAMP", help = "First effect, UTC." }
-- columns.last_at  = { type = "TIMESTAMP", help = "Last effect, UTC." }
-- ///
SELECT
  order_id,
  currency,
  count(*) AS effects,
  sum(amount) AS total,
  min(created_at) AS first_at,
  max(created_at) AS last_at
FROM effects
WHERE order_id IS NOT NULL
GROUP BY order_id, currency
HAVING count(*) >= $min_effects
ORDER BY effects DESC, order_id, currency
