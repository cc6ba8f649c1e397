-- /// query
-- title   = "Amounts that differ"
-- answers = "For which movements do ledger and provider name another amount or currency, the largest first?"
-- kind    = "detection"
-- needs   = ["settlement_pairs"]
-- params.most_each = { type = "BIGINT", default = 100, help = "Most rows of a class." }
-- columns.ledger_source_id   = { type = "BIGINT", help = "File of the ledger row." }
-- columns.ledger_line_no     = { type = "BIGINT", help = "Its line." }
-- columns.provider_source_id = { type = "BIGINT", help = "File of the provider's row." }
-- columns.provider_line_no   = { type = "BIGINT", help = "Its line." }
-- columns.order_id           = { type = "VARCHAR", help = "The ledger's order." }
-- columns.ledger_amount      = { type = "DECIMAL(18,4)", help = "As the ledger has it." }
-- columns.ledger_currency    = { type = "VARCHAR", help = "As the ledger has it." }
-- columns.gross              = { type = "DECIMAL(18,4)", help = "As the provider has it." }
-- columns.provider_currency  = { type = "VARCHAR", help = "As the provider has it." }
-- columns.apart              = { type = "DECIMAL(18,4)", help = "How far the amounts lie apart." }
-- ///
WITH differing AS (
  SELECT
    ledger_source_id,
    ledger_line_no,
    provider_source_id,
    provider_line_no,
    order_id,
    ledger_amount,
    ledger_currency,
    gross,
    provider_currency,
    CAST(abs(ledger_amount - gross) AS DECIMAL(18,4)) AS apart
  FROM settlement_pairs
  WHERE how <> 'split' AND (ledger_amount <> gross OR ledger_currency <> provider_currency)
)
SELECT
  ledger_source_id,
  ledger_line_no,
  provider_source_id,
  provider_line_no,
  order_id,
  ledger_amount,
  ledger_currency,
  gross,
  provider_currency,
  apart
FROM differing
ORDER BY
  apart DESC,
  ledger_source_id,
  ledger_line_no,
  provider_source_id,
  provider_line_no
LIMIT $most_each
