-- /// query
-- title   = "Ledger rows and the provider's rows for them"
-- answers = "Which row of the settlement belongs to which movement of the ledger, and how is that known?"
-- kind    = "view"
-- needs   = ["movements", "settled"]
-- columns.how                = { type = "VARCHAR", help = "reference: the provider's reference (or the ledger's own id, where the provider uses it); order: order number and amount, nearest in time; split: one row here, several there, equal in sum." }
-- columns.ledger_source_id   = { type = "BIGINT", help = "File of the ledger row." }
-- columns.ledger_line_no     = { type = "BIGINT", help = "Its line." }
-- columns.direction          = { type = "INTEGER", help = "1 money came in, -1 it went back." }
-- columns.provider_source_id = { type = "BIGINT", help = "File of the provider's row." }
-- columns.provider_line_no   = { type = "BIGINT", help = "Its line." }
-- columns.ledger_rows        = { type = "INTEGER", help = "1, or 0 where the ledger row was counted in another pair of a split." }
-- columns.provider_rows      = { type = "INTEGER", help = "1, or 0 where the provider's row was counted in another pair." }
-- columns.ledger_amount      = { type = "DECIMAL(18,4)", help = "Amount of the ledger row, 0 where counted elsewhere: sums are right." }
-- columns.gross              = { type = "DECIMAL(18,4)", help = "Gross of the provider's row, 0 where counted elsewhere." }
-- columns.net                = { type = "DECIMAL(18,4)", help = "Net of the provider's row, 0 where counted elsewhere." }
-- columns.ledger_currency    = { type = "VARCHAR", help = "Currency of the ledger row." }
-- columns.provider_currency  = { type = "VARCHAR", help = "Currency of the provider's row, the ledger's where it names none." }
-- columns.created_at         = { type = "TIMESTAMP", help = "When the ledger booked it, UTC." }
-- columns.settled_at         = { type = "TIMESTAMP", help = "When the provider settled it, UTC." }
-- ///
WITH ledger_repeats AS (
  SELECT coalesce(provider_ref, payment_id) AS reference, direction
  FROM movements
  WHERE coalesce(provider_ref, payment_id) IS NOT NULL
  GROUP BY coalesce(provider_ref, payment_id), direction
  HAVING count(*) > 1
),
provider_repeats AS (
  SELECT provider_ref, direction
  FROM settled
  WHERE provider_ref IS NOT NULL AND gross <> 0
  GROUP BY provider_ref, direction
  HAVING count(*) > 1
),
-- Nearly all: one row on either side bears the reference, and the amounts agree.
plain AS (
  SELECT
    m.source_id AS l_source,
    m.line_no AS l_line,
    m.direction,
    s.source_id AS p_source,
    s.line_no AS p_line,
    m.amount,
    s.gross,
    s.net,
    m.currency AS l_currency,
    coalesce(s.currency, m.currency) AS p_currency,
    m.created_at,
    s.settled_at
  FROM movements AS m
  JOIN settled AS s
    ON s.provider_ref = coalesce(m.provider_ref, m.payment_id) AND s.direction = m.direction AND s.gross = m.amount
  LEFT JOIN ledger_repeats AS a
    ON a.reference = coalesce(m.provider_ref, m.payment_id) AND a.direction = m.direction
  LEFT JOIN provider_repeats AS b ON b.provider_ref = s.provider_ref AND b.direction = s.direction
  WHERE a.reference IS NULL AND b.provider_ref IS NULL
),
provider AS (
  SELECT
    s.source_id,
    s.line_no,
    s.direction,
    s.provider_ref,
    s.order_id,
    s.gross,
    s.net,
    s.currency,
    s.settled_at
  FROM settled AS s
  LEFT JOIN plain AS d ON d.p_source = s.source_id AND d.p_line = s.line_no
  WHERE d.p_source IS NULL AND s.gross <> 0
),
references_known AS (
  SELECT provider_ref
  FROM provider
  WHERE provider_ref IS NOT NULL
  GROUP BY provider_ref
),
ledger AS (
  SELECT
    m.source_id,
    m.line_no,
    m.direction,
    coalesce(a.provider_ref, b.provider_ref) AS reference,
    m.order_id,
    m.payment_id,
    m.amount,
    m.currency,
    m.created_at
  FROM movements AS m
  LEFT JOIN plain AS d ON d.l_source = m.source_id AND d.l_line = m.line_no AND d.direction = m.direction
  LEFT JOIN references_known AS a ON a.provider_ref = m.provider_ref
  LEFT JOIN references_known AS b ON b.provider_ref = m.payment_id
  WHERE d.l_source IS NULL
),
-- The same reference and amount, row by row in time order.
ledger_placed AS (
  SELECT
    source_id,
    line_no,
    direction,
    reference,
    amount,
    row_number() OVER (PARTITION BY reference, direction, amount ORDER BY created_at, source_id, line_no) AS place
  FROM ledger
  WHERE reference IS NOT NULL
),
provider_placed AS (
  SELECT
    source_id,
    line_no,
    direction,
    provider_ref,
    gross,
    row_number() OVER (PARTITION BY provider_ref, direction, gross ORDER BY settled_at, source_id, line_no) AS place
  FROM provider
  WHERE provider_ref IS NOT NULL
),
same_reference AS (
  SELECT
    'reference' AS how,
    l.source_id AS l_source,
    l.line_no AS l_line,
    l.direction,
    p.source_id AS p_source,
    p.line_no AS p_line,
    1 AS l_rows,
    1 AS p_rows
  FROM ledger_placed AS l
  JOIN provider_placed AS p
    ON p.provider_ref = l.reference AND p.direction = l.direction AND p.gross = l.amount AND p.place = l.place
),
-- What is left of a reference: one row against several of equal sum, else row by row with amounts that differ.
ledger_rest AS (
  SELECT
    l.source_id,
    l.line_no,
    l.direction,
    l.reference,
    row_number() OVER (PARTITION BY l.reference, l.direction ORDER BY l.amount, l.source_id, l.line_no) AS place,
    count(*) OVER (PARTITION BY l.reference, l.direction) AS members,
    sum(l.amount) OVER (PARTITION BY l.reference, l.direction) AS total
  FROM ledger AS l
  LEFT JOIN same_reference AS d ON d.l_source = l.source_id AND d.l_line = l.line_no AND d.direction = l.direction
  WHERE l.reference IS NOT NULL AND d.l_source IS NULL
),
provider_rest AS (
  SELECT
    s.source_id,
    s.line_no,
    s.direction,
    s.provider_ref,
    row_number() OVER (PARTITION BY s.provider_ref, s.direction ORDER BY s.gross, s.source_id, s.line_no) AS place,
    count(*) OVER (PARTITION BY s.provider_ref, s.direction) AS members,
    sum(s.gross) OVER (PARTITION BY s.provider_ref, s.direction) AS total
  FROM provider AS s
  LEFT JOIN same_reference AS d ON d.p_source = s.source_id AND d.p_line = s.line_no
  WHERE s.provider_ref IS NOT NULL AND d.p_source IS NULL
),
rest_of_reference AS (
  SELECT
    CASE WHEN l.members = p.members THEN 'reference' ELSE 'split' END AS how,
    l.source_id AS l_source,
    l.line_no AS l_line,
    l.direction,
    p.source_id AS p_source,
    p.line_no AS p_line,
    CASE WHEN l.total = p.total AND l.members = 1 AND p.place > 1 THEN 0 ELSE 1 END AS l_rows,
    CASE WHEN l.total = p.total AND p.members = 1 AND l.place > 1 THEN 0 ELSE 1 END AS p_rows
  FROM ledger_rest AS l
  JOIN provider_rest AS p ON p.provider_ref = l.reference AND p.direction = l.direction
  WHERE p.place = l.place OR (l.total = p.total AND (l.members = 1 OR p.members = 1))
),
by_reference AS (
  SELECT how, l_source, l_line, direction, p_source, p_line, l_rows, p_rows
  FROM same_reference
  UNION ALL
  SELECT how, l_source, l_line, direction, p_source, p_line, l_rows, p_rows
  FROM rest_of_reference
),
-- Rows that no reference ties: order number, direction and amount, nearest in time, never more than a week apart.
provider_open AS (
  SELECT s.source_id, s.line_no, s.direction, s.order_id, s.gross, s.currency, s.settled_at
  FROM provider AS s
  LEFT JOIN by_reference AS d ON d.p_source = s.source_id AND d.p_line = s.line_no
  WHERE s.order_id IS NOT NULL AND d.p_source IS NULL
),
orders_known AS (
  SELECT order_id
  FROM provider_open
  GROUP BY order_id
),
ledger_open AS (
  SELECT
    l.source_id,
    l.line_no,
    l.direction,
    coalesce(a.order_id, b.order_id) AS named,
    l.amount,
    l.currency,
    l.created_at
  FROM ledger AS l
  LEFT JOIN orders_known AS a ON a.order_id = l.order_id
  LEFT JOIN orders_known AS b ON b.order_id = l.payment_id
  LEFT JOIN by_reference AS d ON d.l_source = l.source_id AND d.l_line = l.line_no AND d.direction = l.direction
  WHERE d.l_source IS NULL AND (a.order_id IS NOT NULL OR b.order_id IS NOT NULL)
),
ledger_counted AS (
  SELECT
    source_id,
    line_no,
    direction,
    named,
    amount,
    currency,
    created_at,
    count(*) OVER (PARTITION BY named, direction, amount) AS members
  FROM ledger_open
),
provider_counted AS (
  SELECT
    source_id,
    line_no,
    direction,
    order_id,
    gross,
    currency,
    settled_at,
    count(*) OVER (PARTITION BY order_id, direction, gross) AS members
  FROM provider_open
),
candidates AS (
  SELECT
    l.source_id,
    l.line_no,
    l.direction,
    p.source_id AS p_source,
    p.line_no AS p_line,
    coalesce(abs(date_diff('microsecond', l.created_at, p.settled_at)), 0) AS distance_us
  FROM ledger_counted AS l
  JOIN provider_counted AS p
    ON p.order_id = l.named AND p.direction = l.direction AND p.gross = l.amount
    AND coalesce(p.currency, l.currency) = l.currency
  WHERE l.members * p.members <= 2500
    AND coalesce(abs(date_diff('microsecond', l.created_at, p.settled_at)), 0) <= 604800000000
),
chosen AS (
  SELECT
    source_id,
    line_no,
    direction,
    p_source,
    p_line,
    row_number() OVER (
      PARTITION BY source_id, line_no, direction ORDER BY distance_us, p_source, p_line, source_id, line_no
    ) AS choice,
    row_number() OVER (
      PARTITION BY p_source, p_line ORDER BY distance_us, source_id, line_no
    ) AS choice_of_provider
  FROM candidates
),
nearest AS (
  SELECT source_id AS l_source, line_no AS l_line, direction, p_source, p_line
  FROM chosen
  WHERE choice = 1 AND choice_of_provider = 1
),
-- What the nearest left over, row by row in time order.
ledger_later AS (
  SELECT
    l.source_id,
    l.line_no,
    l.direction,
    l.named,
    l.amount,
    l.currency,
    l.created_at,
    row_number() OVER (
      PARTITION BY l.named, l.direction, l.amount ORDER BY l.created_at, l.source_id, l.line_no
    ) AS place
  FROM ledger_open AS l
  LEFT JOIN nearest AS d ON d.l_source = l.source_id AND d.l_line = l.line_no AND d.direction = l.direction
  WHERE d.l_source IS NULL
),
provider_later AS (
  SELECT
    s.source_id,
    s.line_no,
    s.direction,
    s.order_id,
    s.gross,
    s.currency,
    s.settled_at,
    row_number() OVER (
      PARTITION BY s.order_id, s.direction, s.gross ORDER BY s.settled_at, s.source_id, s.line_no
    ) AS place
  FROM provider_open AS s
  LEFT JOIN nearest AS d ON d.p_source = s.source_id AND d.p_line = s.line_no
  WHERE d.p_source IS NULL
),
in_time_order AS (
  SELECT
    l.source_id AS l_source,
    l.line_no AS l_line,
    l.direction,
    p.source_id AS p_source,
    p.line_no AS p_line
  FROM ledger_later AS l
  JOIN provider_later AS p
    ON p.order_id = l.named AND p.direction = l.direction AND p.gross = l.amount AND p.place = l.place
    AND coalesce(p.currency, l.currency) = l.currency
  WHERE coalesce(abs(date_diff('microsecond', l.created_at, p.settled_at)), 0) <= 604800000000
),
same_order AS (
  SELECT l_source, l_line, direction, p_source, p_line
  FROM nearest
  UNION ALL
  SELECT l_source, l_line, direction, p_source, p_line
  FROM in_time_order
),
-- What is left of an order: one against one with amounts that differ, or one against several of equal sum.
ledger_last AS (
  SELECT
    l.source_id,
    l.line_no,
    l.direction,
    l.named,
    l.created_at,
    row_number() OVER (PARTITION BY l.named, l.direction ORDER BY l.amount, l.source_id, l.line_no) AS place,
    count(*) OVER (PARTITION BY l.named, l.direction) AS members,
    sum(l.amount) OVER (PARTITION BY l.named, l.direction) AS total,
    min(l.currency) OVER (PARTITION BY l.named, l.direction) AS first_currency,
    max(l.currency) OVER (PARTITION BY l.named, l.direction) AS last_currency
  FROM ledger_open AS l
  LEFT JOIN same_order AS d ON d.l_source = l.source_id AND d.l_line = l.line_no AND d.direction = l.direction
  WHERE d.l_source IS NULL
),
provider_last AS (
  SELECT
    s.source_id,
    s.line_no,
    s.direction,
    s.order_id,
    s.settled_at,
    row_number() OVER (PARTITION BY s.order_id, s.direction ORDER BY s.gross, s.source_id, s.line_no) AS place,
    count(*) OVER (PARTITION BY s.order_id, s.direction) AS members,
    sum(s.gross) OVER (PARTITION BY s.order_id, s.direction) AS total,
    min(s.currency) OVER (PARTITION BY s.order_id, s.direction) AS first_currency,
    max(s.currency) OVER (PARTITION BY s.order_id, s.direction) AS last_currency
  FROM provider_open AS s
  LEFT JOIN same_order AS d ON d.p_source = s.source_id AND d.p_line = s.line_no
  WHERE d.p_source IS NULL
),
rest_of_order AS (
  SELECT
    CASE WHEN l.members = p.members THEN 'order' ELSE 'split' END AS how,
    l.source_id AS l_source,
    l.line_no AS l_line,
    l.direction,
    p.source_id AS p_source,
    p.line_no AS p_line,
    CASE WHEN p.place > 1 THEN 0 ELSE 1 END AS l_rows,
    CASE WHEN l.place > 1 THEN 0 ELSE 1 END AS p_rows
  FROM ledger_last AS l
  JOIN provider_last AS p ON p.order_id = l.named AND p.direction = l.direction
  WHERE l.first_currency = l.last_currency
    AND coalesce(p.first_currency, l.first_currency) = l.first_currency
    AND coalesce(p.last_currency, l.first_currency) = l.first_currency
    AND (
      (
        l.members = 1 AND p.members = 1
        AND coalesce(abs(date_diff('microsecond', l.created_at, p.settled_at)), 0) <= 604800000000
      )
      OR (l.total = p.total AND l.members + p.members > 2 AND (l.members = 1 OR p.members = 1))
    )
),
paired AS (
  SELECT how, l_source, l_line, direction, p_source, p_line, l_rows, p_rows
  FROM by_reference
  UNION ALL
  SELECT 'order', l_source, l_line, direction, p_source, p_line, 1, 1
  FROM same_order
  UNION ALL
  SELECT how, l_source, l_line, direction, p_source, p_line, l_rows, p_rows
  FROM rest_of_order
)
SELECT
  'reference' AS how,
  l_source AS ledger_source_id,
  l_line AS ledger_line_no,
  direction,
  p_source AS provider_source_id,
  p_line AS provider_line_no,
  1 AS ledger_rows,
  1 AS provider_rows,
  amount AS ledger_amount,
  gross,
  net,
  l_currency AS ledger_currency,
  p_currency AS provider_currency,
  created_at,
  settled_at
FROM plain
UNION ALL
SELECT
  d.how,
  d.l_source,
  d.l_line,
  d.direction,
  d.p_source,
  d.p_line,
  d.l_rows,
  d.p_rows,
  CASE WHEN d.l_rows = 1 THEN l.amount ELSE CAST(0 AS DECIMAL(18,4)) END,
  CASE WHEN d.p_rows = 1 THEN s.gross ELSE CAST(0 AS DECIMAL(18,4)) END,
  CASE WHEN d.p_rows = 1 THEN s.net ELSE CAST(0 AS DECIMAL(18,4)) END,
  l.currency,
  coalesce(s.currency, l.currency),
  l.created_at,
  s.settled_at
FROM paired AS d
JOIN ledger AS l ON l.source_id = d.l_source AND l.line_no = d.l_line AND l.direction = d.direction
JOIN provider AS s ON s.source_id = d.p_source AND s.line_no = d.p_line
