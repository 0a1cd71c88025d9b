-- Theorem 1 of Stoica and Abdel-Wahab, in service times the sum of the weights: -r < lag < max(r, q),
-- for threads that compute all the time on one CPU. A message's time at the start is allowed.
SELECT 'thread ' || name || ' lags by ' || (lag / total) || ' ns at ' || ends || ' ns' FROM (
  SELECT c.name, c.r, c.q, c.latency, w.total, s.ts + s.dur AS ends,
    c.weight * SUM(s.dur) OVER (PARTITION BY c.utid ORDER BY s.ts, s.id)
      - w.total * SUM(IIF(s.utid = c.utid, s.dur, 0)) OVER (PARTITION BY c.utid ORDER BY s.ts, s.id) AS lag
  FROM cfg c
  JOIN (SELECT mask, SUM(weight) AS total FROM cfg WHERE steady GROUP BY mask) w ON w.mask = c.mask
  JOIN sched_slice s ON c.mask = 1 << s.ucpu AND s.utid IN (SELECT utid FROM cfg)
  WHERE c.steady
) WHERE lag <= -(r + latency) * total OR lag >= (MAX(r, q) + latency) * total
