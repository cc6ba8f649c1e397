-- /// query
-- title   = "Equal purchases soon after one another"
-- answers = "Which effects repeat customer, currency and amount of one under another order within the window, and what stands beside them in the ledger?"
-- kind    = "detection"
-- needs   = ["acts", "effects", "equal_purchases"]
-- params.checkout_window_us = { type = "BIGINT", default = 7200000000, help = "Longest time between a checkout and the second one after a false failure, in microseconds." }
-- params.most_purchases = { type = "BIGINT", default = 50, help = "Customers who pay an amount more often than this are not looked at: that is a habit, or a stand-in for many customers." }
-- columns.source_id         = { type = "BIGINT", help = "File the later row stands in." }
-- columns.line_no           = { type = "BIGINT", help = "Line or row in that file." }
-- columns.first_source_id   = { type = "BIGINT", help = "File the earlier row stands in." }
-- columns.first_line_no     = { type = "BIGINT", help = "Line or row in that file." }
-- columns.customer_id       = { type = "VARCHAR", help = "Who pays." }
-- columns.currency          = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.amount            = { type = "DECIMAL(18,4)", help = "Amount of either." }
-- columns.gap_us            = { type = "BIGINT", help = "Microseconds between them." }
-- columns.others            = { type = "BIGINT", help = "Effects of that customer, currency and amount that lie further than the window from both." }
-- columns.failed_between    = { type = "BIGINT", help = "Rows of the same customer, currency and amount between the two that failed or whose end is not known." }
-- columns.given_back        = { type = "BIGINT", help = "Refunds, voids and chargebacks that name the order or the payment of either." }
-- columns.created_at        = { type = "TIMESTAMP", help = "When the later one was booked, UTC." }
-- columns.first_at          = { type = "TIMESTAMP", help = "When the earlier one was booked, UTC." }
-- columns.business_key      = { type = "VARCHAR", help = "What names the later act; NULL when the row names none." }
-- columns.first_key         = { type = "VARCHAR", help = "What names the earlier act." }
-- columns.order_id          = { type = "VARCHAR", help = "Order of the later one." }
-- columns.first_order_id    = { type = "VARCHAR", help = "Order of the earlier one." }
-- columns.payment_id        = { type = "VARCHAR", help = "The ledger's own id of the later one." }
-- columns.first_payment_id  = { type = "VARCHAR", help = "The ledger's own id of the earlier one." }
-- columns.provider_ref      = { type = "VARCHAR", help = "The provider's reference of the later one." }
-- columns.first_ref         = { type = "VARCHAR", help = "The provider's reference of the earlier one." }
-- columns.status            = { type = "VARCHAR", help = "Canonical status of the later one." }
-- columns.first_status      = { type = "VARCHAR", help = "Canonical status of the earlier one." }
-- columns.kind              = { type = "VARCHAR", help = "Canonical kind of the later one." }
-- columns.first_kind        = { type = "VARCHAR", help = "Canonical kind of the earlier one." }
-- columns.channel           = { type = "VARCHAR", help = "Where the later one came from." }
-- columns.first_channel     = { type = "VARCHAR", help = "Where the earlier one came from." }
-- columns.instrument        = { type = "VARCHAR", help = "Card or account of the later one, masked." }
-- columns.first_instrument  = { type = "VARCHAR", help = "Card or account of the earlier one, masked." }
-- columns.idempotency_key   = { type = "VARCHAR", help = "Key of the later one." }
-- columns.first_idempotency_key = { type = "VARCHAR", help = "Key of the earlier one." }
-- columns.request_id        = { type = "VARCHAR", help = "Request of the later one." }
-- columns.first_request_id  = { type = "VARCHAR", help = "Request of the earlier one." }
-- columns.instalment        = { type = "VARCHAR", help = "Instalment or series number of the later one." }
-- columns.first_instalment  = { type = "VARCHAR", help = "Instalment or series number of the earlier one." }
-- ///
WITH pairs AS (
  SELECT
    source_id, line_no, first_source_id, first_line_no, customer_id, currency, amount, first_at, created_at, gap_us
  FROM equal_purchases
  WHERE gap_us <= $checkout_window_us
    AND purchases <= $most_purchases
),
habits AS (
  SELECT
    p.source_id,
    p.line_no,
    count(
      CASE
        WHEN date_diff('microsecond', e.created_at, p.first_at) > $checkout_window_us
          OR date_diff('microsecond', p.created_at, e.created_at) > $checkout_window_us THEN 1
      END
    ) AS others
  FROM pairs AS p
  JOIN effects AS e ON e.customer_id = p.customer_id AND e.currency = p.currency AND e.amount = p.amount
  GROUP BY p.source_id, p.line_no
),
failures AS (
  SELECT p.source_id, p.line_no, count(*) AS failed_between
  FROM pairs AS p
  JOIN acts AS a ON a.customer_id = p.customer_id AND a.amount = p.amount AND coalesce(a.currency, 'XXX') = p.currency
  WHERE a.status IN ('failed', 'pending', 'unknown')
    AND a.created_at BETWEEN p.first_at AND p.created_at
  GROUP BY p.source_id, p.line_no
),
sides AS (
  SELECT p.source_id, p.line_no, a.business_key, a.payment_id, a.provider_ref
  FROM pairs AS p
  JOIN acts AS a ON a.source_id = p.source_id AND a.line_no = p.line_no
  UNION ALL
  SELECT p.source_id, p.line_no, a.business_key, a.payment_id, a.provider_ref
  FROM pairs AS p
  JOIN acts AS a ON a.source_id = p.first_source_id AND a.line_no = p.first_line_no
),
backs AS (
  SELECT business_key, original_ref
  FROM acts
  WHERE kind IN ('refund', 'void', 'chargeback')
    AND coalesce(status, '') NOT IN ('failed', 'pending')
),
backed AS (
  SELECT s.source_id, s.line_no
  FROM sides AS s
  JOIN backs AS b ON b.business_key = s.business_key
  UNION ALL
  SELECT s.source_id, s.line_no
  FROM sides AS s
  JOIN backs AS b ON b.original_ref = s.payment_id
  UNION ALL
  SELECT s.source_id, s.line_no
  FROM sides AS s
  JOIN backs AS b ON b.original_ref = s.provider_ref
),
given AS (
  SELECT source_id, line_no, count(*) AS given_back
  FROM backed
  GROUP BY source_id, line_no
)
SELECT
  p.source_id,
  p.line_no,
  p.first_source_id,
  p.first_line_no,
  p.customer_id,
  p.currency,
  p.amount,
  p.gap_us,
  h.others,
  coalesce(x.failed_between, 0) AS failed_between,
  coalesce(g.given_back, 0) AS given_back,
  p.created_at,
  p.first_at,
  s.business_key,
  f.business_key AS first_key,
  s.order_id,
  f.order_id AS first_order_id,
  s.payment_id,
  f.payment_id AS first_payment_id,
  s.provider_ref,
  f.provider_ref AS first_ref,
  s.status,
  f.status AS first_status,
  s.kind,
  f.kind AS first_kind,
  s.channel,
  f.channel AS first_channel,
  s.instrument,
  f.instrument AS first_instrument,
  s.idempotency_key,
  f.idempotency_key AS first_idempotency_key,
  s.request_id,
  f.request_id AS first_request_id,
  s.instalment,
  f.instalment AS first_instalment
FROM pairs AS p
JOIN acts AS s ON s.source_id = p.source_id AND s.line_no = p.line_no
JOIN acts AS f ON f.source_id = p.first_source_id AND f.line_no = p.first_line_no
JOIN habits AS h ON h.source_id = p.source_id AND h.line_no = p.line_no
LEFT JOIN failures AS x ON x.source_id = p.source_id AND x.line_no = p.line_no
LEFT JOIN given AS g ON g.source_id = p.source_id AND g.line_no = p.line_no
ORDER BY p.source_id, p.line_no
