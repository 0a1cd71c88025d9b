SELECT 'thread ' || name || ' runs at ' || ts || ' ns, before which it was ' || before FROM (
  SELECT cfg.name, s.ts, s.state, LAG(s.state) OVER (PARTITION BY s.utid ORDER BY s.ts, s.id) AS before
  FROM thread_state s JOIN cfg USING (utid)
) WHERE state = 'Running' AND before NOT IN ('R', 'R+', 'Running')
