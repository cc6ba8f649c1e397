-- /// query
-- title   = "Price steps"
-- answers = "Of the orders paid once, how many amounts are multiples of 100, 50, 10, 5 and 1 units, of 0.5 and of 0.1?"
-- kind    = "measure"
-- needs   = ["effects"]
-- columns.currency = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.step     = { type = "DECIMAL(18,4)", help = "The step." }
-- columns.orders   = { type = "BIGINT", help = "Orders paid once." }
-- columns.on_step  = { type = "BIGINT", help = "Those whose amount is a multiple of the step." }
-- ///
WITH single AS (
  SELECT currency, min(amount) AS amount
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key, currency
  HAVING count(*) = 1
),
steps AS (
  SELECT CAST(1000 AS DECIMAL(18,4)) AS step
  UNION ALL SELECT CAST(100 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(50 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(10 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(5 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(1 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(0.5 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(0.1 AS DECIMAL(18,4))
  UNION ALL SELECT CAST(0.05 AS DECIMAL(18,4))
)
SELECT
  s.currency,
  t.step,
  count(*) AS orders,
  count(CASE WHEN s.amount % t.step = 0 THEN 1 END) AS on_step
FROM single AS s
CROSS JOIN steps AS t
GROUP BY s.currency, t.step
ORDER BY s.currency, t.step DESC
