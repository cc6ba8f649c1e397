-- /// query
-- title   = "Ledger rows written again"
-- answers = "Which ledger rows repeat, cell for cell, the id, kind, status, amount and currency of an earlier one?"
-- kind    = "view"
-- needs   = ["payments"]
-- columns.source_id = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no   = { type = "BIGINT", help = "Line or row in that file." }
-- ///
WITH repeated_ids AS (
  SELECT payment_id
  FROM payments
  WHERE payment_id IS NOT NULL
  GROUP BY payment_id
  HAVING count(*) > 1
),
counted AS (
  SELECT
    p.source_id,
    p.line_no,
    row_number() OVER (
      PARTITION BY p.order_id, p.payment_id, p.kind, p.status, p.amount, p.currency
      ORDER BY p.created_at, p.source_id, p.line_no
    ) AS nth
  FROM payments AS p
  JOIN repeated_ids AS r ON r.payment_id = p.payment_id
)
SELECT source_id, line_no
FROM counted
WHERE nth > 1
