-- Slices fill each CPU's time from the first event to the last, and threads ran as long as CPUs were busy.
SELECT 'CPU ' || ucpu || ' has slices of ' || filled || ' ns from ' || first || ' ns on, expected ' || (until - start) FROM (
  SELECT ucpu, SUM(IIF(dur < 0, trace_end() - ts, dur)) AS filled, MIN(ts) AS first,
    (SELECT MIN(ts) FROM sched_slice) AS start, trace_end() AS until
  FROM sched_slice GROUP BY ucpu
) WHERE filled <> until - start
UNION ALL
SELECT 'threads ran ' || ran || ' ns, CPUs were busy ' || busy || ' ns' FROM (
  SELECT (SELECT SUM(s.dur) FROM thread_state s JOIN cfg USING (utid) WHERE s.state = 'Running') AS ran,
    (SELECT SUM(s.dur) FROM sched_slice s JOIN cfg USING (utid)) AS busy
) WHERE ran <> busy
