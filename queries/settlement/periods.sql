-- /// query
-- title   = "What the ledger and the settlement cover"
-- answers = "When do the ledger and the settlement begin and end?"
-- kind    = "measure"
-- needs   = ["payments", "settled", "settlement_pairs", "written_again"]
-- columns.ledger_first   = { type = "TIMESTAMP", help = "First ledger row of any status, UTC." }
-- columns.ledger_last    = { type = "TIMESTAMP", help = "Last ledger row, UTC." }
-- columns.provider_first = { type = "TIMESTAMP", help = "First settled row, UTC." }
-- columns.provider_last  = { type = "TIMESTAMP", help = "Last settled row, UTC." }
-- columns.booked_first   = { type = "TIMESTAMP", help = "Earliest ledger row that the provider has settled, UTC." }
-- columns.booked_last    = { type = "TIMESTAMP", help = "Latest ledger row that the provider has settled, UTC." }
-- columns.paid_first     = { type = "TIMESTAMP", help = "Earliest settled row that the ledger has booked, UTC." }
-- columns.paid_last      = { type = "TIMESTAMP", help = "Latest settled row that the ledger has booked, UTC." }
-- columns.recorded_twice = { type = "BIGINT", help = "Movements of the ledger that repeat an earlier row and were left out." }
-- columns.settled_rows   = { type = "BIGINT", help = "Rows of the settlement that are movements or fees." }
-- ///
SELECT
  (SELECT min(created_at) FROM payments) AS ledger_first,
  (SELECT max(created_at) FROM payments) AS ledger_last,
  min(settled_at) AS provider_first,
  max(settled_at) AS provider_last,
  (SELECT min(created_at) FROM settlement_pairs) AS booked_first,
  (SELECT max(created_at) FROM settlement_pairs) AS booked_last,
  (SELECT min(settled_at) FROM settlement_pairs) AS paid_first,
  (SELECT max(settled_at) FROM settlement_pairs) AS paid_last,
  (
    SELECT count(*)
    FROM payments AS p
    JOIN written_again AS w ON w.source_id = p.source_id AND w.line_no = p.line_no
    WHERE p.status IN ('captured', 'refunded') AND p.kind IN ('charge', 'capture', 'topup', 'refund', 'chargeback')
  ) AS recorded_twice,
  count(*) AS settled_rows
FROM settled
