-- /// query
-- title   = "How often customers buy the same again"
-- answers = "How many purchases name a customer, how many are followed by an equal one of the same customer within the window, and how many in the day after it?"
-- kind    = "measure"
-- needs   = ["effects", "equal_purchases"]
-- params.checkout_window_us = { type = "BIGINT", default = 7200000000, help = "Longest time between a checkout and the second one after a false failure, in microseconds." }
-- params.control_us         = { type = "BIGINT", default = 86400000000, help = "Length of the stretch after the window in which equal purchases are taken as chance, in microseconds." }
-- columns.effects     = { type = "BIGINT", help = "Rows that moved money." }
-- columns.purchases   = { type = "BIGINT", help = "Those that name a customer." }
-- columns.within      = { type = "BIGINT", help = "Equal purchases within the window after another." }
-- columns.later       = { type = "BIGINT", help = "Equal purchases in the stretch after the window." }
-- columns.exposure_us = { type = "BIGINT", help = "How much of that stretch the ledger covers, summed over the purchases, in microseconds." }
-- columns.first_at    = { type = "TIMESTAMP", help = "First purchase, UTC." }
-- columns.last_at     = { type = "TIMESTAMP", help = "Last purchase, UTC." }
-- ///
WITH span AS (
  SELECT max(created_at) AS last_at
  FROM effects
  WHERE customer_id <> ''
),
watched AS (
  SELECT
    e.customer_id,
    e.created_at,
    date_diff('microsecond', e.created_at, s.last_at) - $checkout_window_us AS left_us
  FROM effects AS e
  CROSS JOIN span AS s
)
SELECT
  count(*) AS effects,
  count(CASE WHEN customer_id <> '' THEN 1 END) AS purchases,
  (SELECT count(*) FROM equal_purchases WHERE gap_us <= $checkout_window_us) AS within,
  (
    SELECT count(*)
    FROM equal_purchases
    WHERE gap_us > $checkout_window_us AND gap_us <= $checkout_window_us + $control_us
  ) AS later,
  CAST(
    coalesce(
      sum(
        CASE
          WHEN coalesce(customer_id, '') = '' OR left_us <= 0 THEN 0
          WHEN left_us > $control_us THEN $control_us
          ELSE left_us
        END
      ),
      0
    ) AS BIGINT
  ) AS exposure_us,
  min(CASE WHEN customer_id <> '' THEN created_at END) AS first_at,
  max(CASE WHEN customer_id <> '' THEN created_at END) AS last_at
FROM watched
