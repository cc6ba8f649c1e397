-- /// query
-- title   = "What only the provider has, in sums"
-- answers = "How many rows of the settlement has the ledger not booked: outside its period, doubled, booked without effect, unknown?"
-- kind    = "measure"
-- needs   = ["unbooked"]
-- params.covered_from = { type = "TIMESTAMP", default = "1000-01-01 00:00:00", help = "Movements from then on must stand on the other side, UTC." }
-- params.covered_to   = { type = "TIMESTAMP", default = "9999-12-31 00:00:00", help = "Movements until then must stand on the other side, UTC." }
-- params.longest_us   = { type = "BIGINT", default = 518400000000, help = "Equal rows of an order further apart than this are a series, not duplicates, microseconds." }
-- columns.currency = { type = "VARCHAR", help = "ISO 4217; XXX when unknown." }
-- columns.class    = { type = "VARCHAR", help = "before | after the time the ledger covers; duplicate: the provider has it twice; not_an_effect: the ledger has it, as failed or voided; fee: a fee of its own; unknown." }
-- columns.members  = { type = "BIGINT", help = "Provider's rows." }
-- columns.fee_rows = { type = "BIGINT", help = "Those from which something was kept." }
-- columns.gross    = { type = "DECIMAL(38,4)", help = "Sum before fees." }
-- columns.net      = { type = "DECIMAL(38,4)", help = "Sum after fees." }
-- ///
WITH classed AS (
  SELECT
    currency,
    gross,
    net,
    CASE
      WHEN gross = 0 THEN 'fee'
      WHEN settled_at < $covered_from THEN 'before'
      WHEN settled_at > $covered_to THEN 'after'
      WHEN twin_us <= $longest_us THEN 'duplicate'
      WHEN ledger_status IS NOT NULL THEN 'not_an_effect'
      ELSE 'unknown'
    END AS class
  FROM unbooked
)
SELECT
  currency,
  class,
  count(*) AS members,
  count(CASE WHEN gross <> net THEN 1 END) AS fee_rows,
  sum(gross) AS gross,
  sum(net) AS net
FROM classed
GROUP BY currency, class
ORDER BY currency, class
