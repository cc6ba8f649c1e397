-- /// query
-- title   = "What only the ledger has, in sums"
-- answers = "How many movements has the provider not settled, before, within and after the time that its settlement covers?"
-- kind    = "measure"
-- needs   = ["unsettled"]
-- params.covered_from = { type = "TIMESTAMP", default = "1000-01-01 00:00:00", help = "Movements from then on must stand on the other side, UTC." }
-- params.covered_to   = { type = "TIMESTAMP", default = "9999-12-31 00:00:00", help = "Movements until then must stand on the other side, UTC." }
-- columns.currency = { type = "VARCHAR", help = "ISO 4217; XXX when unknown." }
-- columns.place    = { type = "VARCHAR", help = "before | within | after the time covered." }
-- columns.members  = { type = "BIGINT", help = "Ledger rows." }
-- columns.amount   = { type = "DECIMAL(38,4)", help = "Sum of their amounts, what went back being negative." }
-- ///
WITH placed AS (
  SELECT
    currency,
    amount,
    CASE WHEN created_at < $covered_from THEN 'before' WHEN created_at > $covered_to THEN 'after' ELSE 'within' END
      AS place
  FROM unsettled
)
SELECT currency, place, count(*) AS members, sum(amount) AS amount
FROM placed
GROUP BY currency, place
ORDER BY currency, place
