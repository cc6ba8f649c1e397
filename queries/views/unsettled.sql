-- /// query
-- title   = "Movements that only the ledger has"
-- answers = "Which movements of the ledger has the provider not settled?"
-- kind    = "view"
-- needs   = ["movements", "settlement_pairs"]
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- columns.direction    = { type = "INTEGER", help = "1 money came in, -1 it went back." }
-- columns.payment_id   = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.order_id     = { type = "VARCHAR", help = "Business key." }
-- columns.amount       = { type = "DECIMAL(18,4)", help = "Amount, negative where money went back." }
-- columns.currency     = { type = "VARCHAR", help = "ISO 4217; XXX when unknown." }
-- columns.created_at   = { type = "TIMESTAMP", help = "When it was booked, UTC." }
-- ///
SELECT
  m.source_id,
  m.line_no,
  m.direction,
  m.payment_id,
  m.order_id,
  m.amount,
  m.currency,
  m.created_at
FROM movements AS m
LEFT JOIN settlement_pairs AS d
  ON d.ledger_source_id = m.source_id AND d.ledger_line_no = m.line_no AND d.direction = m.direction
WHERE d.ledger_source_id IS NULL
