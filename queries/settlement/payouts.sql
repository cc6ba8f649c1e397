-- /// query
-- title   = "Payouts against the ledger"
-- answers = "What does each payout hold, what had the ledger booked for it, and when was it cut off?"
-- kind    = "measure"
-- needs   = ["settled", "settlement_pairs"]
-- columns.payout        = { type = "VARCHAR", help = "Payout or settlement day as the provider names it; empty when it names none." }
-- columns.currency      = { type = "VARCHAR", help = "ISO 4217; XXX when unknown." }
-- columns.provider_rows = { type = "BIGINT", help = "Rows of the payout." }
-- columns.ledger_rows   = { type = "BIGINT", help = "Ledger rows found for them." }
-- columns.gross         = { type = "DECIMAL(38,4)", help = "Before fees." }
-- columns.net           = { type = "DECIMAL(38,4)", help = "What was paid out." }
-- columns.ledger_amount = { type = "DECIMAL(38,4)", help = "Sum of the ledger rows found." }
-- columns.first_at      = { type = "TIMESTAMP", help = "First settled row, UTC." }
-- columns.last_at       = { type = "TIMESTAMP", help = "Last settled row, UTC." }
-- ///
WITH booked AS (
  SELECT
    provider_source_id,
    provider_line_no,
    min(ledger_currency) AS currency,
    sum(ledger_amount) AS amount,
    sum(ledger_rows) AS members
  FROM settlement_pairs
  GROUP BY provider_source_id, provider_line_no
),
listed AS (
  SELECT
    coalesce(s.payout, '') AS payout,
    coalesce(s.currency, b.currency, 'XXX') AS currency,
    s.gross,
    s.net,
    s.settled_at,
    b.amount,
    b.members
  FROM settled AS s
  LEFT JOIN booked AS b ON b.provider_source_id = s.source_id AND b.provider_line_no = s.line_no
)
SELECT
  payout,
  currency,
  count(*) AS provider_rows,
  CAST(coalesce(sum(members), 0) AS BIGINT) AS ledger_rows,
  sum(gross) AS gross,
  sum(net) AS net,
  coalesce(sum(amount), 0) AS ledger_amount,
  min(settled_at) AS first_at,
  max(settled_at) AS last_at
FROM listed
GROUP BY payout, currency
ORDER BY payout, currency
