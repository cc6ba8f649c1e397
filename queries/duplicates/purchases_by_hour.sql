-- /// query
-- title   = "Purchases by the hour"
-- answers = "How many purchases that name a customer fall into each hour, and how many of them repeat an equal one within the window?"
-- kind    = "measure"
-- needs   = ["effects", "equal_purchases"]
-- params.checkout_window_us = { type = "BIGINT", default = 7200000000, help = "Longest time between a checkout and the second one after a false failure, in microseconds." }
-- columns.hour_no   = { type = "BIGINT", help = "Whole hours since 1970 UTC." }
-- columns.purchases = { type = "BIGINT", help = "Effects that name a customer." }
-- columns.again     = { type = "BIGINT", help = "Those that repeat an equal one of the same customer under another order within the window." }
-- ///
WITH marked AS (
  SELECT created_at, 1 AS purchase, 0 AS again
  FROM effects
  WHERE customer_id <> ''
  UNION ALL
  SELECT created_at, 0, 1
  FROM equal_purchases
  WHERE gap_us <= $checkout_window_us
),
hours AS (
  SELECT
    CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', created_at) / 3600000000) AS BIGINT) AS hour_no,
    purchase,
    again
  FROM marked
)
SELECT hour_no, CAST(sum(purchase) AS BIGINT) AS purchases, CAST(sum(again) AS BIGINT) AS again
FROM hours
GROUP BY hour_no
ORDER BY hour_no
