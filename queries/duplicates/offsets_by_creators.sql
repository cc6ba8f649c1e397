-- /// query
-- title   = "Offsets between copies by pair of creators"
-- answers = "Who made the first effect of an act, who made the next, and how long after?"
-- kind    = "measure"
-- needs   = ["effects"]
-- columns.named_by = { type = "VARCHAR", help = "The column that names the creator: channel, operator or sender." }
-- columns.creator  = { type = "VARCHAR", help = "Who made the effect." }
-- columns.next_by  = { type = "VARCHAR", help = "Who made the next effect of the same act, amount and currency; NULL when there is none, or it names nobody." }
-- columns.hour_no  = { type = "BIGINT", help = "Whole hours since 1970 UTC, of the effect." }
-- columns.offset_s = { type = "BIGINT", help = "Whole seconds from the one to the next; NULL when there is no next." }
-- columns.acts     = { type = "BIGINT", help = "Acts for which that is so; those with a single effect count as having no next." }
-- ///
WITH chained AS (
  SELECT
    channel,
    operator,
    sender,
    created_at,
    row_number() OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS place,
    lead(channel) OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS next_channel,
    lead(operator) OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS next_operator,
    lead(sender) OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS next_sender,
    lead(created_at) OVER (PARTITION BY business_key, currency, amount ORDER BY created_at, source_id, line_no) AS next_at
  FROM effects
  WHERE business_key IS NOT NULL
),
named AS (
  SELECT 'channel' AS named_by, channel AS creator, next_channel AS next_by, created_at, next_at, place
  FROM chained
  UNION ALL
  SELECT 'operator', operator, next_operator, created_at, next_at, place
  FROM chained
  UNION ALL
  SELECT 'sender', sender, next_sender, created_at, next_at, place
  FROM chained
),
measured AS (
  SELECT
    named_by,
    creator,
    next_by,
    CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', created_at) / 3600000000) AS BIGINT) AS hour_no,
    CAST(floor(date_diff('microsecond', created_at, next_at) / 1000000) AS BIGINT) AS offset_s
  FROM named
  WHERE creator <> ''
    AND (place = 1 OR next_at IS NOT NULL)
)
SELECT named_by, creator, next_by, hour_no, offset_s, count(*) AS acts
FROM measured
GROUP BY named_by, creator, next_by, hour_no, offset_s
ORDER BY named_by, creator, next_by, hour_no, offset_s
