-- /// query
-- title   = "Effects"
-- answers = "Which ledger rows moved money?"
-- kind    = "view"
-- needs   = ["payments"]
-- columns.source_id       = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no         = { type = "BIGINT", help = "Line or row in that file." }
-- columns.payment_id      = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.order_id        = { type = "VARCHAR", help = "Business key; NULL when the row names none." }
-- columns.amount          = { type = "DECIMAL(18,4)", help = "Amount booked." }
-- columns.currency        = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.status          = { type = "VARCHAR", help = "captured, or refunded when it was given back later." }
-- columns.kind            = { type = "VARCHAR", help = "charge, capture or topup." }
-- columns.created_at      = { type = "TIMESTAMP", help = "When it was booked, UTC." }
-- columns.idempotency_key = { type = "VARCHAR", help = "Key the caller sent." }
-- columns.channel         = { type = "VARCHAR", help = "Where the act came from." }
-- ///
SELECT
  source_id,
  line_no,
  payment_id,
  order_id,
  amount,
  coalesce(currency, 'XXX') AS currency,
  status,
  kind,
  created_at,
  idempotency_key,
  channel
FROM payments
WHERE status IN ('captured', 'refunded')
  AND kind IN ('charge', 'capture', 'topup')
  AND amount > 0
