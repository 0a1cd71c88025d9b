-- A fair thread gives way to a real-time one within a message and the longest section.
SELECT 'a fair thread keeps CPU ' || ucpu || ' for ' || both || ' ns from ' || begins || ' ns on while real-time thread '
  || name || ' is ready; at most ' || allowed || ' are allowed'
FROM (
  SELECT cfg.name, f.ucpu, MAX(f.ts, s.ts) AS begins, MIN(f.ts + f.dur, s.ts + s.dur) - MAX(f.ts, s.ts) AS both,
    cfg.latency + cfg.section AS allowed
  FROM thread_state s JOIN cfg USING (utid)
  JOIN sched_slice n ON n.utid = s.utid AND n.ts = s.ts + s.dur AND n.priority < 100
  JOIN sched_slice f ON f.ucpu = n.ucpu AND f.ts < s.ts + s.dur AND f.ts + f.dur > s.ts AND f.priority >= 100
  WHERE s.state IN ('R', 'R+') AND f.utid IN (SELECT utid FROM cfg)
) WHERE both > allowed
