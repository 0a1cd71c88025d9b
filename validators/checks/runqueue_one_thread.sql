-- A CPU leaves each thread before it turns to the next one. Importers cut what overlaps, so that this is seen as a
-- switch whose previous thread is not the one that ran, or as a slice without an end.
SELECT 'CPU ' || ucpu || ' runs two threads at ' || ts || ' ns' FROM (
  SELECT ucpu, ts, MAX(ts + dur) OVER (
    PARTITION BY ucpu ORDER BY ts, id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS busy FROM sched_slice
) WHERE ts < busy
UNION ALL
SELECT 'the slice of CPU ' || ucpu || ' at ' || ts || ' ns has no end' FROM sched_slice
WHERE dur < 0 AND ts < trace_end()
UNION ALL
SELECT value || ' switches leave another thread than the one that ran' FROM stats
WHERE name = 'mismatched_sched_switch_tids' AND value > 0
