-- /// query
-- title   = "What only the ledger has, row by row"
-- answers = "Which movements has the provider not settled: those of repeated orders, and the largest of the others?"
-- kind    = "detection"
-- needs   = ["effects", "unsettled"]
-- params.covered_from = { type = "TIMESTAMP", default = "1000-01-01 00:00:00", help = "Movements from then on must stand on the other side, UTC." }
-- params.covered_to   = { type = "TIMESTAMP", default = "9999-12-31 00:00:00", help = "Movements until then must stand on the other side, UTC." }
-- params.most_rows    = { type = "BIGINT", default = 100000, help = "Most rows beside those of repeated orders." }
-- columns.source_id  = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no    = { type = "BIGINT", help = "Line or row in that file." }
-- columns.direction  = { type = "INTEGER", help = "1 money came in, -1 it went back." }
-- columns.payment_id = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.order_id   = { type = "VARCHAR", help = "Business key." }
-- columns.amount     = { type = "DECIMAL(18,4)", help = "Amount, negative where money went back." }
-- columns.currency   = { type = "VARCHAR", help = "ISO 4217; XXX when unknown." }
-- columns.created_at = { type = "TIMESTAMP", help = "When it was booked, UTC." }
-- columns.place      = { type = "VARCHAR", help = "before | within | after the time covered." }
-- ///
WITH repeated AS (
  SELECT order_id
  FROM effects
  WHERE order_id IS NOT NULL
  GROUP BY order_id
  HAVING count(*) > 1
),
placed AS (
  SELECT
    u.source_id,
    u.line_no,
    u.direction,
    u.payment_id,
    u.order_id,
    u.amount,
    u.currency,
    u.created_at,
    CASE WHEN u.created_at < $covered_from THEN 'before' WHEN u.created_at > $covered_to THEN 'after' ELSE 'within' END
      AS place,
    CASE WHEN r.order_id IS NULL THEN 0 ELSE 1 END AS is_repeated
  FROM unsettled AS u
  LEFT JOIN repeated AS r ON r.order_id = u.order_id
),
ranked AS (
  SELECT
    source_id,
    line_no,
    direction,
    payment_id,
    order_id,
    amount,
    currency,
    created_at,
    place,
    is_repeated,
    row_number() OVER (
      PARTITION BY is_repeated
      ORDER BY CASE WHEN place = 'within' THEN 0 ELSE 1 END, abs(amount) DESC, source_id, line_no, direction
    ) AS nth
  FROM placed
)
SELECT source_id, line_no, direction, payment_id, order_id, amount, currency, created_at, place
FROM ranked
WHERE is_repeated = 1 OR nth <= $most_rows
ORDER BY source_id, line_no, direction
