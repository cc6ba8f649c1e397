-- /// query
-- title   = "Keys with two meanings"
-- answers = "Which idempotency keys stand with two amounts in the ledger, or got two different answers from the receiver?"
-- kind    = "detection"
-- needs   = ["idempotency_log", "payments"]
-- params.most_lines = { type = "BIGINT", default = 200, help = "Most rows to return of each kind." }
-- columns.conflict  = { type = "VARCHAR", help = "other_amount (in the ledger) or other_answer (in the receiver's list)." }
-- columns.nth       = { type = "BIGINT", help = "Number of the key among those of its kind, by its first row." }
-- columns.conflicts = { type = "BIGINT", help = "How many keys of the kind there are." }
-- columns.evidence  = { type = "VARCHAR", help = "payments or idempotency_log: the table of the row." }
-- columns.source_id = { type = "BIGINT", help = "File of the first row that differs." }
-- columns.line_no   = { type = "BIGINT", help = "Its line." }
-- ///
WITH booked AS (
  SELECT
    idempotency_key,
    amount,
    currency,
    min(amount) OVER (PARTITION BY idempotency_key, order_id, currency) AS lowest,
    max(amount) OVER (PARTITION BY idempotency_key, order_id, currency) AS highest,
    row_number() OVER (PARTITION BY idempotency_key, order_id, currency ORDER BY created_at, source_id, line_no) AS nth,
    source_id,
    line_no
  FROM payments
  WHERE idempotency_key IS NOT NULL
    AND kind = 'charge'
),
answered AS (
  SELECT
    key,
    min(response) OVER (PARTITION BY key) AS lowest,
    max(response) OVER (PARTITION BY key) AS highest,
    row_number() OVER (PARTITION BY key ORDER BY created_at, source_id, line_no) AS nth,
    source_id,
    line_no
  FROM idempotency_log
  WHERE response IS NOT NULL
),
found AS (
  SELECT 'other_amount' AS conflict, 'payments' AS evidence, source_id, line_no
  FROM booked
  WHERE lowest < highest
    AND nth = 2
  UNION ALL
  SELECT 'other_answer', 'idempotency_log', source_id, line_no
  FROM answered
  WHERE lowest < highest
    AND nth = 2
),
numbered AS (
  SELECT
    conflict,
    row_number() OVER (PARTITION BY conflict ORDER BY source_id, line_no) AS nth,
    count(*) OVER (PARTITION BY conflict) AS conflicts,
    evidence,
    source_id,
    line_no
  FROM found
)
SELECT conflict, nth, conflicts, evidence, source_id, line_no
FROM numbered
WHERE nth <= $most_lines
ORDER BY conflict, nth, source_id, line_no
