-- /// query
-- title   = "Movements of the ledger"
-- answers = "Which ledger rows moved money either way, each payment once, and by how much?"
-- kind    = "view"
-- needs   = ["effects", "payments", "settlements"]
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- columns.direction    = { type = "INTEGER", help = "1 money came in, -1 it went back. A charge whose status says that it was given back has both." }
-- columns.payment_id   = { type = "VARCHAR", help = "The ledger's own id of the row." }
-- columns.provider_ref = { type = "VARCHAR", help = "The provider's reference." }
-- columns.order_id     = { type = "VARCHAR", help = "Business key; NULL when the row names none." }
-- columns.amount       = { type = "DECIMAL(18,4)", help = "Amount, negative where money went back." }
-- columns.currency     = { type = "VARCHAR", help = "ISO 4217; the settlement's only one where the ledger names none at all, else XXX." }
-- columns.created_at   = { type = "TIMESTAMP", help = "When it was booked, UTC." }
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
),
written_again AS (
  SELECT source_id, line_no
  FROM counted
  WHERE nth > 1
),
undone AS (
  SELECT DISTINCT v.source_id, v.line_no
  FROM payments AS v
  JOIN effects AS e ON e.order_id = v.order_id AND e.amount = abs(v.amount)
  WHERE v.kind = 'void' AND v.status NOT IN ('failed', 'pending', 'unknown')
),
orders_with_refunds AS (
  SELECT order_id
  FROM payments
  WHERE order_id IS NOT NULL AND kind IN ('refund', 'chargeback', 'void') AND status NOT IN ('failed', 'pending')
  GROUP BY order_id
),
moved AS (
  SELECT source_id, line_no, 1 AS direction, amount
  FROM effects
  UNION ALL
  SELECT source_id, line_no, -1, -abs(amount)
  FROM payments
  WHERE kind IN ('refund', 'chargeback') AND status NOT IN ('failed', 'pending', 'unknown') AND amount <> 0
  UNION ALL
  SELECT v.source_id, v.line_no, -1, -abs(v.amount)
  FROM payments AS v
  JOIN undone AS u ON u.source_id = v.source_id AND u.line_no = v.line_no
  UNION ALL
  SELECT e.source_id, e.line_no, -1, -e.amount
  FROM effects AS e
  LEFT JOIN orders_with_refunds AS o ON o.order_id = e.order_id
  WHERE e.status = 'refunded' AND o.order_id IS NULL
)
SELECT
  m.source_id,
  m.line_no,
  m.direction,
  p.payment_id,
  p.provider_ref,
  p.order_id,
  m.amount,
  coalesce(
    p.currency,
    (
      SELECT CASE WHEN min(s.currency) = max(s.currency) THEN min(s.currency) END
      FROM settlements AS s
      WHERE NOT EXISTS (SELECT 1 AS one FROM payments AS q WHERE q.currency IS NOT NULL)
    ),
    'XXX'
  ) AS currency,
  p.created_at
FROM moved AS m
JOIN payments AS p ON p.source_id = m.source_id AND p.line_no = m.line_no
LEFT JOIN written_again AS w ON w.source_id = m.source_id AND w.line_no = m.line_no
WHERE w.source_id IS NULL
