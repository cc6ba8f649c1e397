-- /// query
-- title   = "Messages that came back"
-- answers = "How long after a delivery did the broker deliver the same message again, and how long had the first been worked on?"
-- kind    = "measure"
-- needs   = ["deliveries"]
-- columns.message_id  = { type = "VARCHAR", help = "The message." }
-- columns.again_us    = { type = "BIGINT", help = "From the delivery before to this one." }
-- columns.handled_us  = { type = "BIGINT", help = "From the delivery before to its acknowledgement; NULL when it was not acknowledged." }
-- columns.source_id   = { type = "BIGINT", help = "File of the second delivery." }
-- columns.line_no     = { type = "BIGINT", help = "Its line." }
-- ///
WITH steps AS (
  SELECT
    message_id,
    date_diff(
      'microsecond',
      lag(delivered_at) OVER (PARTITION BY message_id ORDER BY delivered_at, source_id, line_no),
      delivered_at
    ) AS again_us,
    lag(delivered_at) OVER (PARTITION BY message_id ORDER BY delivered_at, source_id, line_no) AS before_at,
    lag(acked_at) OVER (PARTITION BY message_id ORDER BY delivered_at, source_id, line_no) AS before_acked_at,
    source_id,
    line_no
  FROM deliveries
)
SELECT message_id, again_us, date_diff('microsecond', before_at, before_acked_at) AS handled_us, source_id, line_no
FROM steps
WHERE again_us IS NOT NULL
ORDER BY message_id, again_us, source_id, line_no
