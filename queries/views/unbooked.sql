-- /// query
-- title   = "Movements that only the provider has"
-- answers = "Which rows of the settlement has the ledger not booked, and does it know their order?"
-- kind    = "view"
-- needs   = ["payments", "settled", "settlement_pairs"]
-- columns.source_id     = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no       = { type = "BIGINT", help = "Line or row in that file." }
-- columns.provider_ref  = { type = "VARCHAR", help = "The provider's reference." }
-- columns.order_id      = { type = "VARCHAR", help = "Merchant order number." }
-- columns.gross         = { type = "DECIMAL(18,4)", help = "Before fees, negative where money went back." }
-- columns.net           = { type = "DECIMAL(18,4)", help = "After fees." }
-- columns.currency      = { type = "VARCHAR", help = "The row's, else that of the ledger row of its twin; XXX when unknown." }
-- columns.settled_at    = { type = "TIMESTAMP", help = "When it was settled, UTC." }
-- columns.twin_us       = { type = "BIGINT", help = "Time to the nearest settled row of the same order (or reference), direction and amount that the ledger has; NULL when there is none." }
-- columns.ledger_status = { type = "VARCHAR", help = "Status of a ledger row with this reference that moved no money; NULL when there is none." }
-- ///
WITH unpaired AS (
  SELECT s.source_id, s.line_no, s.direction, s.provider_ref, s.order_id, s.gross, s.net, s.currency, s.settled_at
  FROM settled AS s
  LEFT JOIN settlement_pairs AS d ON d.provider_source_id = s.source_id AND d.provider_line_no = s.line_no
  WHERE d.provider_source_id IS NULL
),
twins AS (
  SELECT
    u.source_id,
    u.line_no,
    d.ledger_currency,
    coalesce(abs(date_diff('microsecond', u.settled_at, t.settled_at)), 0) AS apart_us
  FROM unpaired AS u
  JOIN settled AS t ON t.order_id = u.order_id AND t.direction = u.direction AND t.gross = u.gross
  JOIN settlement_pairs AS d ON d.provider_source_id = t.source_id AND d.provider_line_no = t.line_no
  UNION ALL
  SELECT
    u.source_id,
    u.line_no,
    d.ledger_currency,
    coalesce(abs(date_diff('microsecond', u.settled_at, d.settled_at)), 0)
  FROM unpaired AS u
  JOIN payments AS p ON p.order_id = u.order_id
  JOIN settlement_pairs AS d
    ON d.ledger_source_id = p.source_id AND d.ledger_line_no = p.line_no
    AND d.direction = u.direction AND d.gross = u.gross
  UNION ALL
  SELECT
    u.source_id,
    u.line_no,
    d.ledger_currency,
    coalesce(abs(date_diff('microsecond', u.settled_at, t.settled_at)), 0)
  FROM unpaired AS u
  JOIN settled AS t ON t.provider_ref = u.provider_ref AND t.direction = u.direction AND t.gross = u.gross
  JOIN settlement_pairs AS d ON d.provider_source_id = t.source_id AND d.provider_line_no = t.line_no
),
nearest_twin AS (
  SELECT source_id, line_no, min(apart_us) AS twin_us, min(ledger_currency) AS currency
  FROM twins
  GROUP BY source_id, line_no
),
not_moved AS (
  SELECT u.source_id, u.line_no, min(p.status) AS status
  FROM unpaired AS u
  JOIN payments AS p ON p.provider_ref = u.provider_ref
  WHERE p.status NOT IN ('captured', 'refunded')
  GROUP BY u.source_id, u.line_no
)
SELECT
  u.source_id,
  u.line_no,
  u.provider_ref,
  u.order_id,
  u.gross,
  u.net,
  coalesce(u.currency, t.currency, 'XXX') AS currency,
  u.settled_at,
  t.twin_us,
  n.status AS ledger_status
FROM unpaired AS u
LEFT JOIN nearest_twin AS t ON t.source_id = u.source_id AND t.line_no = u.line_no
LEFT JOIN not_moved AS n ON n.source_id = u.source_id AND n.line_no = u.line_no
