-- /// query
-- title   = "Callers of orders"
-- answers = "Which program sent each order first, as far as the access logs tell?"
-- kind    = "view"
-- needs   = ["payments", "requests"]
-- columns.order_id = { type = "VARCHAR", help = "Order number." }
-- columns.caller   = { type = "VARCHAR", help = "User agent of its first request that can make an effect." }
-- ///
WITH told AS (
  SELECT request_id, idempotency_key, order_id, user_agent, started_at, source_id, line_no
  FROM requests
  WHERE user_agent IS NOT NULL
    AND method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
by_request AS (
  SELECT request_id, min(order_id) AS order_id
  FROM payments
  WHERE request_id IS NOT NULL
    AND order_id IS NOT NULL
  GROUP BY request_id
),
-- A key that several orders bear says nothing about who sent any one of them.
by_key AS (
  SELECT idempotency_key, min(order_id) AS owner
  FROM payments
  WHERE idempotency_key IS NOT NULL
    AND order_id IS NOT NULL
  GROUP BY idempotency_key
  HAVING min(order_id) = max(order_id)
),
sent AS (
  SELECT
    coalesce(t.order_id, r.order_id, k.owner) AS order_id,
    t.user_agent,
    t.started_at,
    t.source_id,
    t.line_no
  FROM told AS t
  LEFT JOIN by_request AS r ON r.request_id = t.request_id
  LEFT JOIN by_key AS k ON k.idempotency_key = t.idempotency_key
),
ranked AS (
  SELECT
    order_id,
    user_agent,
    row_number() OVER (PARTITION BY order_id ORDER BY started_at, source_id, line_no) AS place
  FROM sent
  WHERE order_id IS NOT NULL
)
SELECT order_id, user_agent AS caller
FROM ranked
WHERE place = 1
