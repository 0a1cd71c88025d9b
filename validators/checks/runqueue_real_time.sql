SELECT 'real-time thread ' || name || ' is ready from ' || ts || ' ns for ' || dur || ' ns, at most ' || allowed || ' are allowed'
FROM (
  SELECT cfg.name, s.ts, s.dur, 2 * cfg.latency + cfg.section AS allowed
  FROM thread_state s JOIN cfg USING (utid)
  JOIN sched_slice n ON n.utid = s.utid AND n.ts = s.ts + s.dur
  WHERE s.state IN ('R', 'R+') AND n.priority < 100
) WHERE dur > allowed
