-- /// query
-- title   = "Deliveries in figures"
-- answers = "How many messages were delivered how often, and how long were they worked on?"
-- kind    = "measure"
-- needs   = ["deliveries"]
-- columns.deliveries   = { type = "BIGINT", help = "Deliveries of any message." }
-- columns.messages     = { type = "BIGINT", help = "Distinct messages." }
-- columns.again        = { type = "BIGINT", help = "Messages that were delivered more than once." }
-- columns.flagged      = { type = "BIGINT", help = "Deliveries that the broker itself marks as redelivered." }
-- columns.most_times   = { type = "BIGINT", help = "Most deliveries of one message." }
-- columns.acknowledged = { type = "BIGINT", help = "Deliveries that were acknowledged." }
-- columns.longest_us   = { type = "BIGINT", help = "Longest time from a delivery to its acknowledgement." }
-- ///
WITH messages AS (
  SELECT
    message_id,
    count(*) AS times,
    count(CASE WHEN redelivered THEN 1 END) AS flagged,
    count(acked_at) AS acknowledged,
    max(date_diff('microsecond', delivered_at, acked_at)) AS longest_us
  FROM deliveries
  GROUP BY message_id
)
SELECT
  CAST(coalesce(sum(times), 0) AS BIGINT) AS deliveries,
  count(*) AS messages,
  count(CASE WHEN times > 1 THEN 1 END) AS again,
  CAST(coalesce(sum(flagged), 0) AS BIGINT) AS flagged,
  max(times) AS most_times,
  CAST(coalesce(sum(acknowledged), 0) AS BIGINT) AS acknowledged,
  max(longest_us) AS longest_us
FROM messages
