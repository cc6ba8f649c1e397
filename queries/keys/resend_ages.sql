-- /// query
-- title   = "How long the receiver remembers a key"
-- answers = "How long after its first use was a key still honoured, and after how long was it booked again?"
-- kind    = "measure"
-- needs   = ["effects", "idempotency_log", "requests"]
-- params.expired_us = { type = "BIGINT", default = 3600000000, help = "Two effects of one key this far apart: the receiver forgot the key." }
-- columns.honoured             = { type = "BIGINT", help = "Keys that were sent again and booked once." }
-- columns.longest_honoured_us  = { type = "BIGINT", help = "Of those: the longest time from first to last use; NULL when there are none." }
-- columns.forgotten            = { type = "BIGINT", help = "Keys that were booked again so late." }
-- columns.shortest_forgotten_us = { type = "BIGINT", help = "Of those: the shortest time between two effects; NULL when there are none." }
-- columns.longest_forgotten_us = { type = "BIGINT", help = "Of those: the longest." }
-- ///
WITH sent AS (
  SELECT key AS idempotency_key, created_at AS sent_at
  FROM idempotency_log
  UNION ALL
  SELECT idempotency_key, started_at
  FROM requests
  WHERE idempotency_key IS NOT NULL
    AND method IN ('POST', 'PUT', 'PATCH', 'DELETE')
),
uses AS (
  SELECT idempotency_key, count(*) AS times, date_diff('microsecond', min(sent_at), max(sent_at)) AS age_us
  FROM sent
  GROUP BY idempotency_key
),
booked AS (
  SELECT
    idempotency_key,
    date_diff(
      'microsecond',
      lag(created_at) OVER (PARTITION BY idempotency_key, order_id ORDER BY created_at, source_id, line_no),
      created_at
    ) AS gap_us
  FROM effects
  WHERE idempotency_key IS NOT NULL
),
effects_of AS (
  SELECT idempotency_key, count(*) AS effects, max(gap_us) AS gap_us
  FROM booked
  GROUP BY idempotency_key
)
SELECT
  count(CASE WHEN e.effects = 1 AND u.times > 1 THEN 1 END) AS honoured,
  max(CASE WHEN e.effects = 1 AND u.times > 1 THEN u.age_us END) AS longest_honoured_us,
  count(CASE WHEN e.gap_us > $expired_us THEN 1 END) AS forgotten,
  min(CASE WHEN e.gap_us > $expired_us THEN e.gap_us END) AS shortest_forgotten_us,
  max(CASE WHEN e.gap_us > $expired_us THEN e.gap_us END) AS longest_forgotten_us
FROM effects_of AS e
LEFT JOIN uses AS u ON u.idempotency_key = e.idempotency_key
