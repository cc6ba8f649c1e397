-- /// query
-- title   = "What the ledger and the settlement cover"
-- answers = "When do the ledger and the settlement begin and end?"
-- kind    = "measure"
-- needs   = ["payments", "settled"]
-- columns.ledger_first   = { type = "TIMESTAMP", help = "First ledger row of any status, UTC." }
-- columns.ledger_last    = { type = "TIMESTAMP", help = "Last ledger row, UTC." }
-- columns.provider_first = { type = "TIMESTAMP", help = "First settled row, UTC." }
-- columns.provider_last  = { type = "TIMESTAMP", help = "Last settled row, UTC." }
-- columns.settled_rows   = { type = "BIGINT", help = "Rows of the settlement that are movements or fees." }
-- ///
SELECT
  (SELECT min(created_at) FROM payments) AS ledger_first,
  (SELECT max(created_at) FROM payments) AS ledger_last,
  min(settled_at) AS provider_first,
  max(settled_at) AS provider_last,
  count(*) AS settled_rows
FROM settled
