-- /// query
-- title   = "What ledger and settlement share"
-- answers = "How many movements were found on both sides, by what, and how do their amounts compare?"
-- kind    = "measure"
-- needs   = ["settlement_pairs"]
-- columns.how               = { type = "VARCHAR", help = "reference | order | split." }
-- columns.ledger_currency   = { type = "VARCHAR", help = "Currency of the ledger rows." }
-- columns.provider_currency = { type = "VARCHAR", help = "Currency of the provider's rows." }
-- columns.ledger_rows       = { type = "BIGINT", help = "Ledger rows matched." }
-- columns.provider_rows     = { type = "BIGINT", help = "Provider's rows matched." }
-- columns.differing_rows    = { type = "BIGINT", help = "Pairs whose amounts differ." }
-- columns.fee_rows          = { type = "BIGINT", help = "Provider's rows from which something was kept." }
-- columns.ledger_amount     = { type = "DECIMAL(38,4)", help = "Sum of the ledger rows." }
-- columns.gross             = { type = "DECIMAL(38,4)", help = "Sum of the provider's rows before fees." }
-- columns.net               = { type = "DECIMAL(38,4)", help = "Sum of the provider's rows after fees." }
-- ///
SELECT
  how,
  ledger_currency,
  provider_currency,
  count(CASE WHEN ledger_rows = 1 THEN 1 END) AS ledger_rows,
  count(CASE WHEN provider_rows = 1 THEN 1 END) AS provider_rows,
  count(CASE WHEN how <> 'split' AND ledger_amount <> gross THEN 1 END) AS differing_rows,
  count(CASE WHEN gross <> net THEN 1 END) AS fee_rows,
  sum(ledger_amount) AS ledger_amount,
  sum(gross) AS gross,
  sum(net) AS net
FROM settlement_pairs
GROUP BY how, ledger_currency, provider_currency
ORDER BY how, ledger_currency, provider_currency
