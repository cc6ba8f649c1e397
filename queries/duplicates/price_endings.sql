-- /// query
-- title   = "How prices end"
-- answers = "Of the orders paid once, how many amounts end alike: by the last three figures before a point, or by the last one and those after it?"
-- kind    = "measure"
-- needs   = ["effects"]
-- columns.currency = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.modulus  = { type = "DECIMAL(18,4)", help = "1000 where all amounts of the currency are whole, else 10." }
-- columns.ending   = { type = "DECIMAL(18,4)", help = "Remainder of the amount by it." }
-- columns.orders   = { type = "BIGINT", help = "Orders paid once whose amount ends so." }
-- ///
WITH single AS (
  SELECT currency, min(amount) AS amount
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key, currency
  HAVING count(*) = 1
),
moduli AS (
  SELECT
    currency,
    CASE WHEN max(amount % 1) > 0 THEN CAST(10 AS DECIMAL(18,4)) ELSE CAST(1000 AS DECIMAL(18,4)) END AS modulus
  FROM single
  GROUP BY currency
),
ended AS (
  SELECT s.currency, m.modulus, CAST(s.amount % m.modulus AS DECIMAL(18,4)) AS ending
  FROM single AS s
  JOIN moduli AS m ON m.currency = s.currency
)
SELECT currency, modulus, ending, count(*) AS orders
FROM ended
GROUP BY currency, modulus, ending
ORDER BY currency, modulus, ending
