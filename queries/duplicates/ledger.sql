-- /// query
-- title   = "The ledger in figures"
-- answers = "How many rows, orders and effects are there, and how many rows name none?"
-- kind    = "measure"
-- needs   = ["acts", "effects"]
-- columns.rows           = { type = "BIGINT", help = "Ledger rows of any status." }
-- columns.orders         = { type = "BIGINT", help = "Distinct business acts: orders, unless acts are named by other columns." }
-- columns.effects        = { type = "BIGINT", help = "Rows that moved money." }
-- columns.without_order  = { type = "BIGINT", help = "Rows that name no business act." }
-- columns.unknown_status = { type = "BIGINT", help = "Rows whose status no one could read." }
-- ///
SELECT
  count(*) AS "rows",
  count(DISTINCT business_key) AS orders,
  (SELECT count(*) FROM effects) AS effects,
  count(CASE WHEN business_key IS NULL THEN 1 END) AS without_order,
  count(CASE WHEN status = 'unknown' THEN 1 END) AS unknown_status
FROM acts
