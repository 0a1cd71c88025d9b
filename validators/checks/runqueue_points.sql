-- Service of those who share a CPU at each of their slices' ends, where every thread computes all the time on one CPU:
-- threads within their job, and jobs within the CPU. A lag times the sum of weights is the own weight times what all
-- got, less the sum of weights times what this one got.
, steady AS (
  SELECT utid, upid, name, tid, weight, r, q, mask, COUNT(*) OVER (PARTITION BY upid, mask) AS members
  FROM cfg WHERE steady
), work AS (
  SELECT s.id, s.ts, s.ts + s.dur AS ends, s.dur, c.utid, c.upid, c.mask, s.ucpu
  FROM sched_slice s JOIN steady c USING (utid) WHERE s.dur > 0
), jobs AS (
  SELECT upid, mask, MAX(weight) AS weight, MAX(r) AS r, MAX(q) AS q FROM steady GROUP BY upid, mask
), point AS (
  SELECT 'thread ' || c.name AS who, c.name || ' [' || c.tid || ']' AS counter, c.r, c.q, c.members AS total, w.ends,
    SUM(w.dur) OVER (PARTITION BY c.utid ORDER BY w.ts, w.id)
      - c.members * SUM(IIF(w.utid = c.utid, w.dur, 0)) OVER (PARTITION BY c.utid ORDER BY w.ts, w.id) AS lag
  FROM steady c JOIN work w ON w.upid = c.upid AND w.mask = c.mask
  UNION ALL
  SELECT 'job ' || p.name || ' on CPU ' || w.ucpu, p.name || ' [' || p.pid || '] cpu ' || w.ucpu, j.r, j.q,
    sums.total, w.ends,
    j.weight * SUM(w.dur) OVER (PARTITION BY j.upid, j.mask ORDER BY w.ts, w.id)
      - sums.total * SUM(IIF(w.upid = j.upid, w.dur, 0)) OVER (PARTITION BY j.upid, j.mask ORDER BY w.ts, w.id)
  FROM jobs j JOIN process p USING (upid) JOIN work w ON w.mask = j.mask
  JOIN (SELECT mask, SUM(weight) AS total FROM jobs GROUP BY mask) sums ON sums.mask = j.mask
)
