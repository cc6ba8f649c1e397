-- /// query
-- title   = "Ledger rows by business act"
-- answers = "Which business act does each ledger row belong to?"
-- kind    = "view"
-- needs   = ["payments"]
-- columns.business_key    = { type = "VARCHAR", help = "What names the act: the order number, unless a scan groups by other columns; NULL when the row names none." }
-- columns.source_id       = { type = "BIGINT", help = "Which file: sources.source_id." }
-- columns.line_no         = { type = "BIGINT", help = "Physical line (text) or row (sheet, Parquet) in that file, from 1." }
-- columns.payment_id      = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.order_id        = { type = "VARCHAR", help = "The order this payment is for." }
-- columns.idempotency_key = { type = "VARCHAR", help = "Key the caller sent, if any." }
-- columns.amount          = { type = "DECIMAL(18,4)", help = "Amount in major units of its currency, as booked." }
-- columns.currency        = { type = "VARCHAR", help = "ISO 4217 code; NULL when the source names none." }
-- columns.status          = { type = "VARCHAR", help = "captured | authorised | failed | voided | refunded | pending | unknown." }
-- columns.status_raw      = { type = "VARCHAR", help = "The source's own word." }
-- columns.kind            = { type = "VARCHAR", help = "charge | capture | topup | authorisation | refund | void | verification | amendment | chargeback | ..." }
-- columns.kind_raw        = { type = "VARCHAR", help = "The source's own word." }
-- columns.created_at      = { type = "TIMESTAMP", help = "When the row was booked, UTC." }
-- columns.customer_id     = { type = "VARCHAR", help = "Who pays." }
-- columns.instrument      = { type = "VARCHAR", help = "Card or account, masked as in the source." }
-- columns.provider_ref    = { type = "VARCHAR", help = "The provider's reference of the movement." }
-- columns.channel         = { type = "VARCHAR", help = "Where the act came from: web, app, batch, ..." }
-- columns.sender          = { type = "VARCHAR", help = "Sending system or server." }
-- columns.message_no      = { type = "VARCHAR", help = "Message number within the sender." }
-- columns.batch_id        = { type = "VARCHAR", help = "File or run that carried the row." }
-- columns.operator        = { type = "VARCHAR", help = "Person who keyed the row in; NULL for machines." }
-- columns.request_id      = { type = "VARCHAR", help = "Id of the request that made the row." }
-- columns.instalment      = { type = "VARCHAR", help = "Instalment or series number, if the source has one." }
-- columns.original_ref    = { type = "VARCHAR", help = "Id of the payment a refund or void refers to." }
-- columns.memo            = { type = "VARCHAR", help = "Free text of the row." }
-- ///
SELECT
  nullif(order_id, '') AS business_key,
  source_id,
  line_no,
  payment_id,
  order_id,
  idempotency_key,
  amount,
  currency,
  status,
  status_raw,
  kind,
  kind_raw,
  created_at,
  customer_id,
  instrument,
  provider_ref,
  channel,
  sender,
  message_no,
  batch_id,
  operator,
  request_id,
  instalment,
  original_ref,
  memo
FROM payments
