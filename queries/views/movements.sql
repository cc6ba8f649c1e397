-- /// query
-- title   = "Movements of the ledger"
-- answers = "Which ledger rows moved money either way, each payment once, and by how much?"
-- kind    = "view"
-- needs   = ["payments", "settlements", "written_again"]
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
WITH orders_with_refunds AS (
  SELECT order_id
  FROM payments
  WHERE order_id IS NOT NULL AND kind IN ('refund', 'chargeback', 'void') AND status NOT IN ('failed', 'pending')
  GROUP BY order_id
),
-- A void takes money back only where the ledger counts what it voids.
undone AS (
  SELECT DISTINCT v.source_id, v.line_no
  FROM payments AS v
  JOIN payments AS e ON e.order_id = v.order_id AND e.amount = abs(v.amount)
  WHERE v.kind = 'void' AND v.status NOT IN ('failed', 'pending', 'unknown')
    AND e.status IN ('captured', 'refunded') AND e.kind IN ('charge', 'capture', 'topup') AND e.amount > 0
),
-- The first branch is the view `effects`.
moved AS (
  SELECT source_id, line_no, 1 AS direction, payment_id, provider_ref, order_id, amount, currency, created_at
  FROM payments
  WHERE status IN ('captured', 'refunded') AND kind IN ('charge', 'capture', 'topup') AND amount > 0
  UNION ALL
  SELECT source_id, line_no, -1, payment_id, provider_ref, order_id, -abs(amount), currency, created_at
  FROM payments
  WHERE kind IN ('refund', 'chargeback') AND status NOT IN ('failed', 'pending', 'unknown') AND amount <> 0
  UNION ALL
  SELECT
    v.source_id, v.line_no, -1, v.payment_id, v.provider_ref, v.order_id, -abs(v.amount), v.currency, v.created_at
  FROM payments AS v
  JOIN undone AS u ON u.source_id = v.source_id AND u.line_no = v.line_no
  UNION ALL
  SELECT e.source_id, e.line_no, -1, e.payment_id, e.provider_ref, e.order_id, -e.amount, e.currency, e.created_at
  FROM payments AS e
  LEFT JOIN orders_with_refunds AS o ON o.order_id = e.order_id
  WHERE e.status = 'refunded' AND e.kind IN ('charge', 'capture', 'topup') AND e.amount > 0 AND o.order_id IS NULL
)
SELECT
  m.source_id,
  m.line_no,
  m.direction,
  m.payment_id,
  m.provider_ref,
  m.order_id,
  m.amount,
  coalesce(
    m.currency,
    (
      SELECT CASE WHEN min(s.currency) = max(s.currency) THEN min(s.currency) END
      FROM settlements AS s
      WHERE NOT EXISTS (SELECT 1 AS one FROM payments AS q WHERE q.currency IS NOT NULL)
    ),
    'XXX'
  ) AS currency,
  m.created_at
FROM moved AS m
LEFT JOIN written_again AS w ON w.source_id = m.source_id AND w.line_no = m.line_no
WHERE w.source_id IS NULL
