-- /// query
-- title   = "What was read"
-- answers = "Which files are in the case, how were they read, and how many rows of each were rejected?"
-- kind    = "measure"
-- needs   = ["sources"]
-- columns.source_id     = { type = "BIGINT", help = "Number of the file." }
-- columns.path          = { type = "VARCHAR", help = "Path as given." }
-- columns.sha256        = { type = "VARCHAR", help = "Of its bytes." }
-- columns.kind          = { type = "VARCHAR", help = "Table its rows went to." }
-- columns.format        = { type = "VARCHAR", help = "Format as recognised." }
-- columns.mapping       = { type = "JSON", help = "Canonical column -> heading and why." }
-- columns.encoding      = { type = "VARCHAR", help = "Text encoding; NULL for binary formats." }
-- columns.zone          = { type = "VARCHAR", help = "Zone of times without an offset; NULL when all carry one." }
-- columns.zone_reason   = { type = "VARCHAR", help = "Why that zone." }
-- columns.resolution_us = { type = "BIGINT", help = "Finest step of its clock." }
-- columns.hop           = { type = "VARCHAR", help = "Hop a log was written at." }
-- columns.notes         = { type = "VARCHAR", help = "How it was read." }
-- columns.rows_read     = { type = "BIGINT", help = "Loaded + rejected." }
-- columns.rows_loaded   = { type = "BIGINT", help = "Rows in the table." }
-- columns.rows_rejected = { type = "BIGINT", help = "Rows in rejects." }
-- columns.first_at      = { type = "TIMESTAMP", help = "Earliest time, UTC." }
-- columns.last_at       = { type = "TIMESTAMP", help = "Latest time, UTC." }
-- ///
SELECT
  source_id,
  path,
  sha256,
  kind,
  format,
  mapping,
  encoding,
  zone,
  zone_reason,
  resolution_us,
  hop,
  notes,
  rows_read,
  rows_loaded,
  rows_rejected,
  first_at,
  last_at
FROM sources
ORDER BY source_id
