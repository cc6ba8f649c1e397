-- /// query
-- title   = "Effects"
-- answers = "Which ledger rows moved money?"
-- kind    = "view"
-- needs   = ["acts"]
-- columns.source_id       = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no         = { type = "BIGINT", help = "Line or row in that file." }
-- columns.payment_id      = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.business_key    = { type = "VARCHAR", help = "What names the business act; NULL when the row names none." }
-- columns.order_id        = { type = "VARCHAR", help = "Order number; NULL when the row names none." }
-- columns.amount          = { type = "DECIMAL(18,4)", help = "Amount booked." }
-- columns.currency        = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.status          = { type = "VARCHAR", help = "captured, or refunded when it was given back later." }
-- columns.kind            = { type = "VARCHAR", help = "charge, capture or topup." }
-- columns.created_at      = { type = "TIMESTAMP", help = "When it was booked, UTC." }
-- columns.idempotency_key = { type = "VARCHAR", help = "Key the caller sent." }
-- columns.channel         = { type = "VARCHAR", help = "Where the act came from." }
-- columns.sender          = { type = "VARCHAR", help = "Sending system." }
-- columns.message_no      = { type = "VARCHAR", help = "Message number." }
-- columns.provider_ref    = { type = "VARCHAR", help = "The provider's reference." }
-- columns.customer_id     = { type = "VARCHAR", help = "Who pays." }
-- columns.operator        = { type = "VARCHAR", help = "Person who keyed the row in; NULL for machines." }
-- ///
SELECT
  source_id,
  line_no,
  payment_id,
  business_key,
  order_id,
  amount,
  coalesce(currency, 'XXX') AS currency,
  status,
  kind,
  created_at,
  idempotency_key,
  channel,
  sender,
  message_no,
  provider_ref,
  customer_id,
  operator
FROM acts
WHERE status IN ('captured', 'refunded')
  AND kind IN ('charge', 'capture', 'topup')
  AND amount > 0
