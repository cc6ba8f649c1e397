-- /// query
-- title   = "What could not be read"
-- answers = "Which rows of which file were rejected, and why?"
-- kind    = "measure"
-- needs   = ["rejects"]
-- params.limit_rows = { type = "BIGINT", default = 1000, help = "Most rows listed." }
-- columns.source_id = { type = "BIGINT", help = "Number of the file." }
-- columns.line_no   = { type = "BIGINT", help = "Line or row in it." }
-- columns.reason    = { type = "VARCHAR", help = "What was seen, what was expected." }
-- columns.text      = { type = "VARCHAR", help = "The row as it stood, cut." }
-- ///
SELECT source_id, line_no, reason, text
FROM rejects
ORDER BY source_id, line_no
LIMIT $limit_rows
