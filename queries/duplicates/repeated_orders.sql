-- /// query
-- title   = "Orders paid more than once"
-- answers = "Which orders have more than one effect, and how much money moved for each?"
-- kind    = "detection"
-- needs   = ["effects"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an order repeated." }
-- columns.business_key = { type = "VARCHAR", help = "What names the business act: the order number, unless other columns were chosen." }
-- columns.currency     = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.effects      = { type = "BIGINT", help = "Rows that moved money." }
-- columns.total        = { type = "DECIMAL(38,4)", help = "Sum of their amounts." }
-- columns.first_at     = { type = "TIMESTAMP", help = "First effect, UTC." }
-- columns.last_at      = { type = "TIMESTAMP", help = "Last effect, UTC." }
-- ///
SELECT
  business_key,
  currency,
  count(*) AS effects,
  sum(amount) AS total,
  min(created_at) AS first_at,
  max(created_at) AS last_at
FROM effects
WHERE business_key IS NOT NULL
GROUP BY business_key, currency
HAVING count(*) >= $min_effects
ORDER BY effects DESC, business_key, currency
