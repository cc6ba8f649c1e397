-- /// query
-- title   = "Purchases by hour of the day"
-- answers = "How many purchases that name a customer fall into each hour of the day, UTC?"
-- kind    = "measure"
-- needs   = ["effects"]
-- columns.hour      = { type = "BIGINT", help = "Hour of the day, UTC, 0 to 23." }
-- columns.purchases = { type = "BIGINT", help = "Effects that name a customer." }
-- ///
WITH hours AS (
  SELECT
    CAST(floor(date_diff('microsecond', TIMESTAMP '2000-01-01 00:00:00', created_at) / 3600000000) AS BIGINT) AS hour_no
  FROM effects
  WHERE customer_id <> ''
)
SELECT hour_no % 24 AS "hour", count(*) AS purchases
FROM hours
GROUP BY hour_no % 24
ORDER BY "hour"
