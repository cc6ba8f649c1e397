-- /// query
-- title   = "Time from booking to settlement"
-- answers = "How long after the ledger does the provider write the movements that both have?"
-- kind    = "measure"
-- needs   = ["settlement_pairs"]
-- columns.lag_s = { type = "BIGINT", help = "Settled less booked, in whole seconds, rounded down." }
-- columns.pairs = { type = "BIGINT", help = "Pairs with that lag." }
-- ///
SELECT
  CAST(floor(date_diff('microsecond', created_at, settled_at) / 1000000) AS BIGINT) AS lag_s,
  count(*) AS pairs
FROM settlement_pairs
WHERE created_at IS NOT NULL AND settled_at IS NOT NULL
GROUP BY CAST(floor(date_diff('microsecond', created_at, settled_at) / 1000000) AS BIGINT)
ORDER BY lag_s
