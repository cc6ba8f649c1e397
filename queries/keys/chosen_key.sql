-- /// query
-- title   = "The business key in use"
-- answers = "How many effects does the business key in use name, how many acts does it make of them, and how often does it repeat?"
-- kind    = "measure"
-- needs   = ["effects"]
-- columns.named          = { type = "BIGINT", help = "Effects that bear it." }
-- columns.acts           = { type = "BIGINT", help = "Distinct names." }
-- columns.repeated       = { type = "BIGINT", help = "Names that more than one effect bears." }
-- columns.repeating      = { type = "BIGINT", help = "Effects under those names." }
-- columns.most           = { type = "BIGINT", help = "Effects under the name that most bear." }
-- columns.other_amounts  = { type = "BIGINT", help = "Repeated names whose effects differ in amount." }
-- ///
WITH named AS (
  SELECT count(*) AS effects, CASE WHEN min(amount) <> max(amount) THEN 1 ELSE 0 END AS differs
  FROM effects
  WHERE business_key IS NOT NULL
  GROUP BY business_key
)
SELECT
  coalesce(CAST(sum(effects) AS BIGINT), 0) AS named,
  count(*) AS acts,
  count(CASE WHEN effects > 1 THEN 1 END) AS repeated,
  coalesce(CAST(sum(CASE WHEN effects > 1 THEN effects ELSE 0 END) AS BIGINT), 0) AS repeating,
  coalesce(max(effects), 0) AS most,
  count(CASE WHEN effects > 1 AND differs = 1 THEN 1 END) AS other_amounts
FROM named
