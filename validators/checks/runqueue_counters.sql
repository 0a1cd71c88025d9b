-- The lags that the machine states are those that follow from the service, rounded down to whole nanoseconds; one
-- nanosecond more or less is allowed, as the machine rounds fractions of one, too. Slices that only the end of the trace cuts are no ends.
, merged AS (
  SELECT counter, ends AS ts, 1 AS behind, who, lag, total, NULL AS sample FROM point WHERE ends < trace_end()
  UNION ALL
  SELECT t.name, c.ts, 0, NULL, NULL, NULL, c.id
  FROM counter c JOIN counter_track t ON t.id = c.track_id WHERE t.name IN (SELECT counter FROM point)
), told AS (
  SELECT who, ts, lag, total, MAX(sample) OVER (PARTITION BY counter ORDER BY ts, behind) AS sample FROM merged
)
SELECT who || ' lags by ' || (told.lag / told.total) || ' ns at ' || told.ts || ' ns, its counter says '
  || IFNULL(CAST(c.value AS INT), 'nothing')
FROM told LEFT JOIN counter c ON c.id = told.sample
WHERE who IS NOT NULL AND (c.value IS NULL
  OR told.lag - CAST(c.value AS INT) * told.total NOT BETWEEN -told.total AND 2 * told.total)
