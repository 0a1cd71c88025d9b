SELECT 'thread ' || name || ' is ready from ' || ts || ' ns on and never runs again, for ' || waits || ' ns; at most ' || patience || ' are allowed'
FROM (
  SELECT cfg.name, cfg.patience, s.ts, trace_end() - s.ts AS waits
  FROM thread_state s JOIN cfg USING (utid)
  WHERE s.state IN ('R', 'R+') AND s.dur < 0 AND cfg.end_ts IS NULL
) WHERE waits > patience
