-- /// query
-- title   = "How often an amount is bought again"
-- answers = "Of the amounts that a customer paid twice within the window: how many purchases are there, and how many are followed by an equal one in the day after the window?"
-- kind    = "measure"
-- needs   = ["effects", "equal_purchases"]
-- params.checkout_window_us = { type = "BIGINT", default = 7200000000, help = "Longest time between a checkout and the second one after a false failure, in microseconds." }
-- params.control_us         = { type = "BIGINT", default = 86400000000, help = "Length of the stretch after the window in which equal purchases are taken as chance, in microseconds." }
-- columns.currency  = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.amount    = { type = "DECIMAL(18,4)", help = "The amount." }
-- columns.purchases = { type = "BIGINT", help = "Effects of that amount that name a customer." }
-- columns.later     = { type = "BIGINT", help = "Equal purchases of one customer in the stretch after the window." }
-- ///
WITH at_issue AS (
  SELECT
    currency,
    amount,
    count(CASE WHEN gap_us > $checkout_window_us AND gap_us <= $checkout_window_us + $control_us THEN 1 END) AS later
  FROM equal_purchases
  GROUP BY currency, amount
  HAVING count(CASE WHEN gap_us <= $checkout_window_us THEN 1 END) > 0
)
SELECT a.currency, a.amount, count(*) AS purchases, max(a.later) AS later
FROM at_issue AS a
JOIN effects AS e ON e.currency = a.currency AND e.amount = a.amount
WHERE e.customer_id <> ''
GROUP BY a.currency, a.amount
ORDER BY a.currency, a.amount
