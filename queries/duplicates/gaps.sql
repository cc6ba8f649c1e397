-- /// query
-- title   = "Gaps between the effects of one order"
-- answers = "How much time lies between one effect and the next of the same order, amount and currency?"
-- kind    = "measure"
-- needs   = ["effects"]
-- params.max_gap_us = { type = "BIGINT", default = 86400000000, help = "Longest gap listed, in microseconds." }
-- columns.business_key = { type = "VARCHAR", help = "What names the business act." }
-- columns.payment_id   = { type = "VARCHAR", help = "The later of the two effects." }
-- columns.previous_id  = { type = "VARCHAR", help = "The earlier of the two effects." }
-- columns.created_at   = { type = "TIMESTAMP", help = "When the later one was booked, UTC." }
-- columns.amount       = { type = "DECIMAL(18,4)", help = "Amount of either." }
-- columns.currency     = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.gap_us       = { type = "BIGINT", help = "Microseconds between them." }
-- columns.source_id    = { type = "BIGINT", help = "File the later row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- ///
WITH chained AS (
  SELECT
    business_key,
    payment_id,
    lag(payment_id) OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS previous_id,
    lag(created_at) OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS previous_at,
    created_at,
    amount,
    currency,
    source_id,
    line_no
  FROM effects
  WHERE business_key IS NOT NULL
)
SELECT
  business_key,
  payment_id,
  previous_id,
  created_at,
  amount,
  currency,
  date_diff('microsecond', previous_at, created_at) AS gap_us,
  source_id,
  line_no
FROM chained
WHERE previous_at IS NOT NULL
  AND date_diff('microsecond', previous_at, created_at) <= $max_gap_us
ORDER BY business_key, created_at, source_id, line_no
