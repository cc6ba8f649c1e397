-- /// query
-- title   = "What only the provider has, row by row"
-- answers = "Which rows of the settlement has the ledger not booked, the largest of each class?"
-- kind    = "detection"
-- needs   = ["unbooked"]
-- params.covered_from = { type = "TIMESTAMP", default = "1000-01-01 00:00:00", help = "Movements from then on must stand on the other side, UTC." }
-- params.covered_to   = { type = "TIMESTAMP", default = "9999-12-31 00:00:00", help = "Movements until then must stand on the other side, UTC." }
-- params.longest_us   = { type = "BIGINT", default = 518400000000, help = "Equal rows of an order further apart than this are a series, not duplicates, microseconds." }
-- params.most_each    = { type = "BIGINT", default = 100, help = "Most rows of a class." }
-- columns.class        = { type = "VARCHAR", help = "before | after | duplicate | not_an_effect | fee | unknown, as in unbooked_sums." }
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- columns.provider_ref = { type = "VARCHAR", help = "The provider's reference." }
-- columns.order_id     = { type = "VARCHAR", help = "Merchant order number." }
-- columns.gross        = { type = "DECIMAL(18,4)", help = "Before fees, negative where money went back." }
-- columns.currency     = { type = "VARCHAR", help = "ISO 4217; XXX when unknown." }
-- columns.settled_at   = { type = "TIMESTAMP", help = "When it was settled, UTC." }
-- ///
WITH classed AS (
  SELECT
    CASE
      WHEN gross = 0 THEN 'fee'
      WHEN settled_at < $covered_from THEN 'before'
      WHEN settled_at > $covered_to THEN 'after'
      WHEN twin_us <= $longest_us THEN 'duplicate'
      WHEN ledger_status IS NOT NULL THEN 'not_an_effect'
      ELSE 'unknown'
    END AS class,
    source_id,
    line_no,
    provider_ref,
    order_id,
    gross,
    currency,
    settled_at
  FROM unbooked
),
ranked AS (
  SELECT
    class,
    source_id,
    line_no,
    provider_ref,
    order_id,
    gross,
    currency,
    settled_at,
    row_number() OVER (PARTITION BY class ORDER BY abs(gross) DESC, source_id, line_no) AS nth
  FROM classed
)
SELECT class, source_id, line_no, provider_ref, order_id, gross, currency, settled_at
FROM ranked
WHERE nth <= $most_each
ORDER BY class, source_id, line_no
