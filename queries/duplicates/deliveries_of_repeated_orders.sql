-- /// query
-- title   = "Deliveries behind the rows of repeated orders"
-- answers = "Which broker deliveries name the orders that have more than one effect?"
-- kind    = "measure"
-- needs   = ["effects", "deliveries"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an order repeated." }
-- columns.business_key = { type = "VARCHAR", help = "What names the business act in the ledger." }
-- columns.message_id   = { type = "VARCHAR", help = "The message." }
-- columns.delivered_at = { type = "TIMESTAMP", help = "When the consumer got it, UTC." }
-- columns.published_at = { type = "TIMESTAMP", help = "When the sender put it on the broker, UTC; NULL when not known." }
-- columns.delivery_no  = { type = "BIGINT", help = "Count as the broker gives it." }
-- columns.redelivered  = { type = "BOOLEAN", help = "The broker's own flag." }
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- ///
WITH repeated AS (
  SELECT business_key
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key
  HAVING count(*) >= $min_effects
),
-- A broker knows an act by its order number, or by the name that the ledger's own columns give it.
names AS (
  SELECT r.business_key, r.business_key AS name
  FROM repeated AS r
  UNION
  SELECT r.business_key, e.order_id
  FROM repeated AS r
  JOIN effects AS e ON e.business_key = r.business_key
  WHERE e.order_id IS NOT NULL
)
SELECT
  n.business_key,
  d.message_id,
  d.delivered_at,
  d.published_at,
  d.delivery_no,
  d.redelivered,
  d.source_id,
  d.line_no
FROM names AS n
JOIN deliveries AS d ON d.business_key = n.name
ORDER BY n.business_key, d.delivered_at, d.source_id, d.line_no
