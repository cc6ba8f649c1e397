-- /// query
-- title   = "Ledger rows by the columns that name an act"
-- answers = "Which business act does each ledger row belong to, when acts are named by up to four columns of the ledger?"
-- kind    = "measure"
-- needs   = ["payments"]
-- params.part_1        = { type = "VARCHAR", default = "order_id", help = "First column of the key; day is the calendar day of created_at." }
-- params.part_2        = { type = "VARCHAR", default = "", help = "Second column; empty for none." }
-- params.part_3        = { type = "VARCHAR", default = "", help = "Third column; empty for none." }
-- params.part_4        = { type = "VARCHAR", default = "", help = "Fourth column; empty for none." }
-- params.day_offset_us = { type = "BIGINT", default = 0, help = "How far the clock that cuts the days is ahead of UTC, in microseconds." }
-- columns.source_id    = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no      = { type = "BIGINT", help = "Line or row in that file." }
-- columns.business_key = { type = "VARCHAR", help = "The columns joined by ' / '; NULL when the row lacks one of them." }
-- ///
WITH picked AS (
  SELECT
    source_id,
    line_no,
    floor(
      (date_diff('microsecond', TIMESTAMP '1970-01-01 00:00:00', created_at) + $day_offset_us) / 86400000000
    ) AS day_no,
    CASE
      WHEN $part_1 = 'order_id' THEN nullif(order_id, '')
      WHEN $part_1 = 'payment_id' THEN nullif(payment_id, '')
      WHEN $part_1 = 'idempotency_key' THEN nullif(idempotency_key, '')
      WHEN $part_1 = 'provider_ref' THEN nullif(provider_ref, '')
      WHEN $part_1 = 'sender' THEN nullif(sender, '')
      WHEN $part_1 = 'message_no' THEN nullif(message_no, '')
      WHEN $part_1 = 'customer_id' THEN nullif(customer_id, '')
      WHEN $part_1 = 'instrument' THEN nullif(instrument, '')
      WHEN $part_1 = 'channel' THEN nullif(channel, '')
      WHEN $part_1 = 'batch_id' THEN nullif(batch_id, '')
      WHEN $part_1 = 'request_id' THEN nullif(request_id, '')
      WHEN $part_1 = 'instalment' THEN nullif(instalment, '')
      WHEN $part_1 = 'original_ref' THEN nullif(original_ref, '')
      WHEN $part_1 = 'memo' THEN nullif(memo, '')
      WHEN $part_1 = 'day' THEN ''
    END AS part_1,
    CASE
      WHEN $part_2 = 'order_id' THEN nullif(order_id, '')
      WHEN $part_2 = 'payment_id' THEN nullif(payment_id, '')
      WHEN $part_2 = 'idempotency_key' THEN nullif(idempotency_key, '')
      WHEN $part_2 = 'provider_ref' THEN nullif(provider_ref, '')
      WHEN $part_2 = 'sender' THEN nullif(sender, '')
      WHEN $part_2 = 'message_no' THEN nullif(message_no, '')
      WHEN $part_2 = 'customer_id' THEN nullif(customer_id, '')
      WHEN $part_2 = 'instrument' THEN nullif(instrument, '')
      WHEN $part_2 = 'channel' THEN nullif(channel, '')
      WHEN $part_2 = 'batch_id' THEN nullif(batch_id, '')
      WHEN $part_2 = 'request_id' THEN nullif(request_id, '')
      WHEN $part_2 = 'instalment' THEN nullif(instalment, '')
      WHEN $part_2 = 'original_ref' THEN nullif(original_ref, '')
      WHEN $part_2 = 'memo' THEN nullif(memo, '')
      WHEN $part_2 = 'day' THEN ''
    END AS part_2,
    CASE
      WHEN $part_3 = 'order_id' THEN nullif(order_id, '')
      WHEN $part_3 = 'payment_id' THEN nullif(payment_id, '')
      WHEN $part_3 = 'idempotency_key' THEN nullif(idempotency_key, '')
      WHEN $part_3 = 'provider_ref' THEN nullif(provider_ref, '')
      WHEN $part_3 = 'sender' THEN nullif(sender, '')
      WHEN $part_3 = 'message_no' THEN nullif(message_no, '')
      WHEN $part_3 = 'customer_id' THEN nullif(customer_id, '')
      WHEN $part_3 = 'instrument' THEN nullif(instrument, '')
      WHEN $part_3 = 'channel' THEN nullif(channel, '')
      WHEN $part_3 = 'batch_id' THEN nullif(batch_id, '')
      WHEN $part_3 = 'request_id' THEN nullif(request_id, '')
      WHEN $part_3 = 'instalment' THEN nullif(instalment, '')
      WHEN $part_3 = 'original_ref' THEN nullif(original_ref, '')
      WHEN $part_3 = 'memo' THEN nullif(memo, '')
      WHEN $part_3 = 'day' THEN ''
    END AS part_3,
    CASE
      WHEN $part_4 = 'order_id' THEN nullif(order_id, '')
      WHEN $part_4 = 'payment_id' THEN nullif(payment_id, '')
      WHEN $part_4 = 'idempotency_key' THEN nullif(idempotency_key, '')
      WHEN $part_4 = 'provider_ref' THEN nullif(provider_ref, '')
      WHEN $part_4 = 'sender' THEN nullif(sender, '')
      WHEN $part_4 = 'message_no' THEN nullif(message_no, '')
      WHEN $part_4 = 'customer_id' THEN nullif(customer_id, '')
      WHEN $part_4 = 'instrument' THEN nullif(instrument, '')
      WHEN $part_4 = 'channel' THEN nullif(channel, '')
      WHEN $part_4 = 'batch_id' THEN nullif(batch_id, '')
      WHEN $part_4 = 'request_id' THEN nullif(request_id, '')
      WHEN $part_4 = 'instalment' THEN nullif(instalment, '')
      WHEN $part_4 = 'original_ref' THEN nullif(original_ref, '')
      WHEN $part_4 = 'memo' THEN nullif(memo, '')
      WHEN $part_4 = 'day' THEN ''
    END AS part_4
  FROM payments
),
-- Each day once, as 20261130: the days are counted from 0000-03-01 and taken apart into years of March to February, as
-- in H. Hinnant's "chrono-compatible low-level date algorithms". Engines' own date functions differ in type and zone.
eras AS (
  SELECT DISTINCT
    day_no,
    floor((day_no + 719468) / 146097) AS era,
    day_no + 719468 - 146097 * floor((day_no + 719468) / 146097) AS day_of_era
  FROM picked
),
years AS (
  SELECT
    day_no,
    era,
    day_of_era,
    floor(
      (day_of_era - floor(day_of_era / 1460) + floor(day_of_era / 36524) - floor(day_of_era / 146096)) / 365
    ) AS year_of_era
  FROM eras
),
months AS (
  SELECT
    day_no,
    year_of_era + 400 * era AS year_no,
    day_of_era - (365 * year_of_era + floor(year_of_era / 4) - floor(year_of_era / 100)) AS day_of_year
  FROM years
),
dates AS (
  SELECT
    day_no,
    year_no,
    day_of_year,
    floor((5 * day_of_year + 2) / 153) AS month_from_march
  FROM months
),
days AS (
  SELECT
    day_no,
    CAST(CAST(floor(
      10000 * (year_no + CASE WHEN month_from_march >= 10 THEN 1 ELSE 0 END)
      + 100 * (month_from_march + CASE WHEN month_from_march >= 10 THEN -9 ELSE 3 END)
      + day_of_year - floor((153 * month_from_march + 2) / 5) + 1
    ) AS BIGINT) AS VARCHAR) AS day
  FROM dates
)
SELECT
  p.source_id,
  p.line_no,
  p.part_1
    || CASE WHEN $part_1 = 'day' THEN d.day ELSE '' END
    || CASE WHEN $part_2 = '' THEN '' ELSE ' / ' || p.part_2 END
    || CASE WHEN $part_2 = 'day' THEN d.day ELSE '' END
    || CASE WHEN $part_3 = '' THEN '' ELSE ' / ' || p.part_3 END
    || CASE WHEN $part_3 = 'day' THEN d.day ELSE '' END
    || CASE WHEN $part_4 = '' THEN '' ELSE ' / ' || p.part_4 END
    || CASE WHEN $part_4 = 'day' THEN d.day ELSE '' END AS business_key
FROM picked AS p
JOIN days AS d ON d.day_no = p.day_no
ORDER BY p.source_id, p.line_no
