-- /// query
-- title   = "What may name a business act"
-- answers = "Of the columns that may name a business act, how many effects does each name, how many acts does it make of them, and how often does it repeat?"
-- kind    = "measure"
-- needs   = ["effects"]
-- params.day_offset_us   = { type = "BIGINT", default = 0, help = "How far the clock that cuts the days is ahead of UTC, in microseconds." }
-- columns.candidate      = { type = "VARCHAR", help = "The columns, joined by commas; none is listed that names no effect." }
-- columns.named          = { type = "BIGINT", help = "Effects that it names: those with all of its columns." }
-- columns.acts           = { type = "BIGINT", help = "Distinct names." }
-- columns.repeated       = { type = "BIGINT", help = "Names that more than one effect bears." }
-- columns.repeating      = { type = "BIGINT", help = "Effects under those names." }
-- columns.most           = { type = "BIGINT", help = "Effects under the name that most bear." }
-- columns.other_amounts  = { type = "BIGINT", help = "Repeated names whose effects differ in amount." }
-- ///
WITH named AS (
  SELECT
    'order_id' AS candidate,
    count(*) AS effects,
    CASE WHEN min(amount) <> max(amount) THEN 1 ELSE 0 END AS differs
  FROM effects
  WHERE order_id <> ''
  GROUP BY
    order_id
  UNION ALL
  SELECT
    'sender,message_no',
    count(*),
    CASE WHEN min(amount) <> max(amount) THEN 1 ELSE 0 END
  FROM effects
  WHERE sender <> '' AND message_no <> ''
  GROUP BY
    sender,
    message_no
  UNION ALL
  SELECT
    'sender,message_no,day',
    count(*),
    CASE WHEN min(amount) <> max(amount) THEN 1 ELSE 0 END
  FROM effects
  WHERE sender <> '' AND message_no <> ''
  GROUP BY
    sender,
    message_no,
    floor(
      (date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', created_at) + $day_offset_us) / 86400000000
    )
  UNION ALL
  SELECT
    'message_no',
    count(*),
    CASE WHEN min(amount) <> max(amount) THEN 1 ELSE 0 END
  FROM effects
  WHERE message_no <> ''
  GROUP BY
    message_no
  UNION ALL
  SELECT
    'provider_ref',
    count(*),
    CASE WHEN min(amount) <> max(amount) THEN 1 ELSE 0 END
  FROM effects
  WHERE provider_ref <> ''
  GROUP BY
    provider_ref
)
SELECT
  candidate,
  CAST(sum(effects) AS BIGINT) AS named,
  count(*) AS acts,
  count(CASE WHEN effects > 1 THEN 1 END) AS repeated,
  CAST(sum(CASE WHEN effects > 1 THEN effects ELSE 0 END) AS BIGINT) AS repeating,
  max(effects) AS most,
  count(CASE WHEN effects > 1 AND differs = 1 THEN 1 END) AS other_amounts
FROM named
GROUP BY candidate
ORDER BY candidate
