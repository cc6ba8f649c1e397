-- /// query
-- title   = "All rows of the repeated orders"
-- answers = "What stands in the ledger for every order that has more than one effect: effects, declines, refunds, all of it?"
-- kind    = "measure"
-- needs   = ["acts", "effects"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an order repeated." }
-- columns.business_key    = { type = "VARCHAR", help = "What names the business act." }
-- columns.order_id        = { type = "VARCHAR", help = "Order number; NULL when acts are named by other columns and the row has none." }
-- columns.created_at      = { type = "TIMESTAMP", help = "When the row was booked, UTC." }
-- columns.source_id       = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no         = { type = "BIGINT", help = "Line or row in that file." }
-- columns.payment_id      = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.amount          = { type = "DECIMAL(18,4)", help = "Amount booked." }
-- columns.currency        = { type = "VARCHAR", help = "ISO 4217; XXX when the source names none." }
-- columns.status          = { type = "VARCHAR", help = "Canonical status." }
-- columns.kind            = { type = "VARCHAR", help = "Canonical kind." }
-- columns.customer_id     = { type = "VARCHAR", help = "Who pays." }
-- columns.instrument      = { type = "VARCHAR", help = "Card or account, masked." }
-- columns.idempotency_key = { type = "VARCHAR", help = "Key the caller sent." }
-- columns.request_id      = { type = "VARCHAR", help = "Id of the request that made the row." }
-- columns.channel         = { type = "VARCHAR", help = "Where the act came from." }
-- columns.sender          = { type = "VARCHAR", help = "Sending system." }
-- columns.message_no      = { type = "VARCHAR", help = "Message number." }
-- columns.batch_id        = { type = "VARCHAR", help = "File or run." }
-- columns.operator        = { type = "VARCHAR", help = "Person who keyed it in." }
-- columns.instalment      = { type = "VARCHAR", help = "Instalment or series number." }
-- columns.memo            = { type = "VARCHAR", help = "Free text." }
-- columns.provider_ref    = { type = "VARCHAR", help = "The provider's reference." }
-- columns.original_ref    = { type = "VARCHAR", help = "Payment a refund refers to." }
-- ///
WITH repeated AS (
  SELECT business_key
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key
  HAVING count(*) >= $min_effects
)
SELECT
  p.business_key,
  p.order_id,
  p.created_at,
  p.source_id,
  p.line_no,
  p.payment_id,
  p.amount,
  coalesce(p.currency, 'XXX') AS currency,
  p.status,
  p.kind,
  p.customer_id,
  p.instrument,
  p.idempotency_key,
  p.request_id,
  p.channel,
  p.sender,
  p.message_no,
  p.batch_id,
  p.operator,
  p.instalment,
  p.memo,
  p.provider_ref,
  p.original_ref
FROM acts AS p
JOIN repeated AS r ON p.business_key = r.business_key
ORDER BY p.business_key, p.created_at, p.source_id, p.line_no
