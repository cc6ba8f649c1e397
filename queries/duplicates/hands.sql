-- /// query
-- title   = "Rows keyed in by people"
-- answers = "How many rows of the whole ledger name an operator, where any does?"
-- kind    = "measure"
-- needs   = ["payments"]
-- columns.row_count   = { type = "BIGINT", help = "Rows." }
-- columns.by_operator = { type = "BIGINT", help = "Those that name the person who keyed them in." }
-- ///
SELECT
  count(*) AS row_count,
  count(operator) AS by_operator
FROM payments
HAVING count(operator) > 0
ORDER BY count(*)
