-- /// query
-- title   = "Deliveries behind the rows of repeated orders"
-- answers = "Which broker deliveries name the orders that have more than one effect?"
-- kind    = "measure"
-- needs   = ["effects", "deliveries"]
-- params.min_effects = { type = "BIGINT", default = 2, help = "Fewest effects that make an order repeated." }
-- columns.order_id     = { type = "VARCHAR", help = "Business key." }
-- columns.message_id   = { type = "VARCHAR", help = "The message." }
-- columns.delivered_at = { type = "TIMESTAMP", help = "When the consumer got it, UTC." }
-- columns.published_at = { type = "TIMESTAMP", help = "When the sender put it on the broker, UTC; NULL when not known." }
-- columns.delivery_no  = { type = "BIGINT", help = "Count as the broker gives it." }
-- columns.redelivered  = { type = "BOOLEAN", help = "The broker's own flag." }
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- ///
WITH repeated AS (
  SELECT order_id
  FROM effects
  WHERE order_id IS NOT NULL
  GROUP BY order_id
  HAVING count(*) >= $min_effects
)
SELECT
  r.order_id,
  d.message_id,
  d.delivered_at,
  d.published_at,
  d.delivery_no,
  d.redelivered,
  d.source_id,
  d.line_no
FROM repeated AS r
JOIN deliveries AS d ON d.business_key = r.order_id
ORDER BY r.order_id, d.delivered_at, d.source_id, d.line_no
