-- /// query
-- title   = "The ledger in figures"
-- answers = "How many rows, orders and effects are there, and how many rows name no order?"
-- kind    = "measure"
-- needs   = ["effects", "payments"]
-- columns.rows           = { type = "BIGINT", help = "Ledger rows of any status." }
-- columns.orders         = { type = "BIGINT", help = "Distinct orders." }
-- columns.effects        = { type = "BIGINT", help = "Rows that moved money." }
-- columns.without_order  = { type = "BIGINT", help = "Rows that name no order." }
-- columns.unknown_status = { type = "BIGINT", help = "Rows whose status no one could read." }
-- ///
SELECT
  count(*) AS "rows",
  count(DISTINCT order_id) AS orders,
  (SELECT count(*) FROM effects) AS effects,
  count(CASE WHEN order_id IS NULL THEN 1 END) AS without_order,
  count(CASE WHEN status = 'unknown' THEN 1 END) AS unknown_status
FROM payments
