-- /// query
-- title   = "Business acts by the number of their effects"
-- answers = "How many business acts of each minute took effect once, twice, k times, and how many of them all at once?"
-- kind    = "measure"
-- needs   = ["effects"]
-- params.at_once_us = { type = "BIGINT", default = 5000000, help = "Copies that follow each other this fast on average were made at once, in microseconds." }
-- columns.channel = { type = "VARCHAR", help = "Where all effects of the act came from; NULL when they differ or name none." }
-- columns.sender  = { type = "VARCHAR", help = "Sending system of all effects of the act; NULL when they differ or name none." }
-- columns.minute_no = { type = "BIGINT", help = "Whole minutes since 1970 UTC, of the first effect." }
-- columns.effects = { type = "BIGINT", help = "Effects of one act, of one amount and currency." }
-- columns.acts    = { type = "BIGINT", help = "Acts with so many effects." }
-- columns.at_once = { type = "BIGINT", help = "Those whose effects were made at once; an act with one effect never is." }
-- ///
WITH counted AS (
  SELECT
    CASE WHEN min(channel) = max(channel) THEN min(channel) END AS channel,
    CASE WHEN min(sender) = max(sender) THEN min(sender) END AS sender,
    CAST(floor(date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', min(created_at)) / 60000000) AS BIGINT) AS minute_no,
    count(*) AS effects,
    date_diff('microsecond', min(created_at), max(created_at)) AS span_us
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key, currency, amount
)
SELECT
  channel,
  sender,
  minute_no,
  effects,
  count(*) AS acts,
  count(CASE WHEN effects > 1 AND span_us <= $at_once_us * (effects - 1) THEN 1 END) AS at_once
FROM counted
GROUP BY channel, sender, minute_no, effects
ORDER BY channel, sender, minute_no, effects
