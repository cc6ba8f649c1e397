-- /// query
-- title   = "Amounts that differ"
-- answers = "For which movements do ledger and provider name another amount or currency, the largest first?"
-- kind    = "detection"
-- needs   = ["payments", "settlement_pairs"]
-- params.most_each = { type = "BIGINT", default = 100, help = "Most rows of a class." }
-- columns.source_id          = { type = "BIGINT", help = "File of the ledger row." }
-- columns.line_no            = { type = "BIGINT", help = "Its line." }
-- columns.direction          = { type = "INTEGER", help = "1 money came in, -1 it went back." }
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
    d.ledger_source_id AS source_id,
    d.ledger_line_no AS line_no,
    d.direction,
    d.provider_source_id,
    d.provider_line_no,
    p.order_id,
    d.ledger_amount,
    d.ledger_currency,
    d.gross,
    d.provider_currency,
    CAST(abs(d.ledger_amount - d.gross) AS DECIMAL(18,4)) AS apart
  FROM settlement_pairs AS d
  JOIN payments AS p ON p.source_id = d.ledger_source_id AND p.line_no = d.ledger_line_no
  WHERE d.how <> 'split' AND (d.ledger_amount <> d.gross OR d.ledger_currency <> d.provider_currency)
)
SELECT
  source_id,
  line_no,
  direction,
  provider_source_id,
  provider_line_no,
  order_id,
  ledger_amount,
  ledger_currency,
  gross,
  provider_currency,
  apart
FROM differing
ORDER BY apart DESC, source_id, line_no, direction
LIMIT $most_each
