SELECT 'thread ' || name || ' runs on two CPUs at ' || ts || ' ns' FROM (
  SELECT cfg.name, s.ts, MAX(s.ts + s.dur) OVER (
    PARTITION BY s.utid ORDER BY s.ts, s.dur ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS busy FROM sched_slice s JOIN cfg USING (utid)
) WHERE ts < busy
