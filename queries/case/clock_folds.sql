-- /// query
-- title   = "Rows whose time can be read two ways"
-- answers = "Which rows bear a local time that the zone's clocks showed twice, or never, and what may it mean as well?"
-- kind    = "measure"
-- needs   = ["clock_folds"]
-- columns.source_id = { type = "BIGINT", help = "File the row stands in." }
-- columns.line_no   = { type = "BIGINT", help = "Line or row in that file." }
-- columns.read_at   = { type = "TIMESTAMP", help = "The row's time as it was read, UTC." }
-- columns.other_at  = { type = "TIMESTAMP", help = "What it means by the other offset, UTC." }
-- columns.shown     = { type = "VARCHAR", help = "twice | never: how often clocks showed the local time." }
-- ///
SELECT
  source_id,
  line_no,
  read_at,
  other_at,
  shown
FROM clock_folds
ORDER BY source_id, line_no
