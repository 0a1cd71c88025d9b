-- From being ready to running, by cause: woken by a thread or by a device, started, preempted, or having yielded. A
-- real-time thread that is woken gets the CPU within two messages and the longest section.
SELECT IIF(real_time, 'real-time thread ', 'thread ') || name || ', ' || cause || ' at ' || ts || ' ns, waits ' || dur
  || ' ns, at most ' || allowed || ' are allowed'
FROM (
  SELECT *, IIF(real_time AND cause LIKE 'woken%', 2 * latency + section, patience) AS allowed FROM (
    SELECT cfg.*, s.ts, s.dur, s.state IN ('R', 'R+') AS is_ready, n.priority < 100 AS real_time,
      CASE
        WHEN s.state = 'R+' THEN 'preempted'
        WHEN LAG(s.state) OVER (PARTITION BY s.utid ORDER BY s.ts, s.id) IS NULL THEN 'started'
        WHEN LAG(s.state) OVER (PARTITION BY s.utid ORDER BY s.ts, s.id) = 'Running' THEN 'yielding'
        WHEN waker.tid <> 0 THEN 'woken by a thread'
        ELSE 'woken by a device'
      END AS cause
    FROM thread_state s JOIN cfg USING (utid)
    LEFT JOIN thread waker ON waker.utid = s.waker_utid
    LEFT JOIN sched_slice n ON n.utid = s.utid AND n.ts = s.ts + s.dur AND s.dur > 0
  ) WHERE is_ready AND dur > 0
) WHERE dur > allowed
