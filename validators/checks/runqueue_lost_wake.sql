SELECT 'thread ' || name || ' is ready from ' || ts || ' ns for ' || waits || ' ns, at most ' || patience || ' are allowed'
FROM (
  SELECT cfg.name, cfg.patience, s.ts, IIF(s.dur < 0, trace_end() - s.ts, s.dur) AS waits
  FROM thread_state s JOIN cfg USING (utid) WHERE s.state IN ('R', 'R+')
) WHERE waits > patience
