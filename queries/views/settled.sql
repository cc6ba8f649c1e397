-- /// query
-- title   = "Movements of the provider"
-- answers = "What did the provider move for each row of its settlement, before and after its fee?"
-- kind    = "view"
-- needs   = ["payments", "settlements"]
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- columns.direction    = { type = "INTEGER", help = "1 money came in, -1 it went back." }
-- columns.provider_ref = { type = "VARCHAR", help = "The provider's reference." }
-- columns.order_id     = { type = "VARCHAR", help = "Merchant order number." }
-- columns.gross        = { type = "DECIMAL(18,4)", help = "Before fees, negative where money went back; 0 for a row that is a fee." }
-- columns.net          = { type = "DECIMAL(18,4)", help = "After fees: as written, else gross less fee." }
-- columns.currency     = { type = "VARCHAR", help = "The row's, else the ledger's where it has exactly one, else NULL." }
-- columns.settled_at   = { type = "TIMESTAMP", help = "When it was settled, UTC." }
-- columns.payout       = { type = "VARCHAR", help = "Payout or settlement day." }
-- ///
SELECT
  source_id,
  line_no,
  CASE WHEN coalesce(movement, 'payment') <> 'fee' AND amount < 0 THEN -1 ELSE 1 END AS direction,
  provider_ref,
  order_id,
  CASE WHEN movement = 'fee' THEN CAST(0 AS DECIMAL(18,4)) ELSE amount END AS gross,
  CAST(
    CASE
      WHEN movement = 'fee' THEN -abs(amount)
      WHEN net IS NULL THEN amount - CASE WHEN amount > 0 THEN abs(coalesce(fee, 0)) ELSE coalesce(fee, 0) END
      WHEN amount < 0 THEN -abs(net)
      ELSE net
    END AS DECIMAL(18,4)
  ) AS net,
  coalesce(
    currency,
    (SELECT CASE WHEN min(p.currency) = max(p.currency) THEN min(p.currency) END FROM payments AS p)
  ) AS currency,
  settled_at,
  payout
FROM settlements
WHERE coalesce(movement, 'payment') <> 'payout'
