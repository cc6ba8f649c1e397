-- /// query
-- title   = "What the ledger and the settlement cover"
-- answers = "When do the ledger and the settlement begin and end?"
-- kind    = "measure"
-- needs   = ["payments", "settled", "settlement_pairs"]
-- columns.ledger_first   = { type = "TIMESTAMP", help = "First ledger row of any status, UTC." }
-- columns.ledger_last    = { type = "TIMESTAMP", help = "Last ledger row, UTC." }
-- columns.provider_first = { type = "TIMESTAMP", help = "First settled row, UTC." }
-- columns.provider_last  = { type = "TIMESTAMP", help = "Last settled row, UTC." }
-- columns.booked_first   = { type = "TIMESTAMP", help = "Earliest ledger row that the provider has settled, UTC." }
-- columns.booked_last    = { type = "TIMESTAMP", help = "Latest ledger row that the provider has settled, UTC." }
-- columns.paid_first     = { type = "TIMESTAMP", help = "Earliest settled row that the ledger has booked, UTC." }
-- columns.paid_last      = { type = "TIMESTAMP", help = "Latest settled row that the ledger has booked, UTC." }
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
  count(*) AS settled_rows
FROM settled
