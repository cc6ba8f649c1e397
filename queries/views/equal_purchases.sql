-- /// query
-- title   = "Equal purchases of one customer"
-- answers = "Which effects repeat the customer, currency and amount of an earlier one under another order, and how long after it?"
-- kind    = "view"
-- needs   = ["effects"]
-- columns.source_id       = { type = "BIGINT", help = "File the later row stands in." }
-- columns.line_no         = { type = "BIGINT", help = "Line or row in that file." }
-- columns.first_source_id = { type = "BIGINT", help = "File of the effect before it of the same customer, currency and amount." }
-- columns.first_line_no   = { type = "BIGINT", help = "Line or row in that file." }
-- columns.customer_id     = { type = "VARCHAR", help = "Who pays." }
-- columns.currency        = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.amount          = { type = "DECIMAL(18,4)", help = "Amount of either." }
-- columns.first_at        = { type = "TIMESTAMP", help = "When the earlier one was booked, UTC." }
-- columns.created_at      = { type = "TIMESTAMP", help = "When the later one was booked, UTC." }
-- columns.gap_us          = { type = "BIGINT", help = "Microseconds between them." }
-- columns.purchases       = { type = "BIGINT", help = "Effects of that customer, currency and amount in the whole ledger." }
-- ///
-- Most customers pay most amounts once: only the others are put in order of time.
WITH several AS (
  SELECT customer_id, currency, amount, count(*) AS purchases
  FROM effects
  WHERE customer_id <> ''
  GROUP BY customer_id, currency, amount
  HAVING count(*) > 1
),
chained AS (
  SELECT
    e.source_id,
    e.line_no,
    e.customer_id,
    e.currency,
    e.amount,
    e.business_key,
    e.created_at,
    s.purchases,
    lag(e.source_id) OVER (
      PARTITION BY e.customer_id, e.currency, e.amount ORDER BY e.created_at, e.source_id, e.line_no
    ) AS first_source_id,
    lag(e.line_no) OVER (
      PARTITION BY e.customer_id, e.currency, e.amount ORDER BY e.created_at, e.source_id, e.line_no
    ) AS first_line_no,
    lag(e.business_key) OVER (
      PARTITION BY e.customer_id, e.currency, e.amount ORDER BY e.created_at, e.source_id, e.line_no
    ) AS first_key,
    lag(e.created_at) OVER (
      PARTITION BY e.customer_id, e.currency, e.amount ORDER BY e.created_at, e.source_id, e.line_no
    ) AS first_at
  FROM effects AS e
  JOIN several AS s ON s.customer_id = e.customer_id AND s.currency = e.currency AND s.amount = e.amount
)
SELECT
  source_id,
  line_no,
  first_source_id,
  first_line_no,
  customer_id,
  currency,
  amount,
  first_at,
  created_at,
  date_diff('microsecond', first_at, created_at) AS gap_us,
  purchases
FROM chained
WHERE first_at IS NOT NULL
  AND (business_key IS NULL OR first_key IS NULL OR business_key <> first_key)
