-- A thread bound to one CPU leaves it idle for a message at most; a movable one also for a balance.
SELECT 'CPU ' || ucpu || ' is idle for ' || both || ' ns from ' || begins || ' ns while thread ' || name || ' is ready'
FROM (
  SELECT cfg.name, i.ucpu, MAX(i.ts, s.ts) AS begins,
    MIN(IIF(i.dur < 0, trace_end(), i.ts + i.dur), IIF(s.dur < 0, trace_end(), s.ts + s.dur)) - MAX(i.ts, s.ts) AS both,
    IIF(cfg.mask & (cfg.mask - 1) = 0, cfg.latency, 4 * cfg.latency + cfg.section + 2 * cfg.q) AS allowed
  FROM thread_state s JOIN cfg USING (utid)
  JOIN sched_slice i ON (cfg.mask >> i.ucpu) & 1 = 1
    AND i.ts < IIF(s.dur < 0, trace_end(), s.ts + s.dur) AND IIF(i.dur < 0, trace_end(), i.ts + i.dur) > s.ts
  JOIN thread idle ON idle.utid = i.utid AND idle.tid = 0
  WHERE s.state IN ('R', 'R+')
) WHERE both > allowed
