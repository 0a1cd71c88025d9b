-- Every scheduling event has its packet: as many of each as there are events of its kind. Each CPU has two switches
-- more, at its beginning and at its end; a start has a wake of its own, and one for a new thread. Where one machine is in
-- the trace, a packet also says what its event does: the event's value has the CPU in its lowest 10 bits, then threads of 17
-- bits, all ones for nobody, and the other CPU.
, events AS (
  SELECT name, COUNT(*) AS n FROM slice WHERE category = 'clock' AND name GLOB 'sched.*' GROUP BY name
), packets AS (
  SELECT name, COUNT(*) AS n FROM ftrace_event GROUP BY name
), pairs(packet, other, event, and_event, more) AS (VALUES
  ('sched_switch', '', 'sched.switch', '', 2), ('sched_migrate_task', '', 'sched.migrate', '', 0),
  ('sched_process_free', '', 'sched.free', '', 0), ('sched_wakeup_new', '', 'sched.start', '', 0),
  ('sched_waking', 'task_newtask', 'sched.waking', 'sched.start', 0)
), counted AS (
  SELECT packet, event,
    (SELECT IFNULL(SUM(n), 0) FROM packets WHERE name IN (packet, other)) AS found,
    (SELECT IFNULL(SUM(n), 0) FROM events WHERE name IN (event, and_event))
      + more * (SELECT COUNT(DISTINCT ucpu) FROM sched_slice) AS expected
  FROM pairs
), value AS (
  SELECT s.ts, s.name, EXTRACT_ARG(s.arg_set_id, 'debug.value') AS v,
    EXTRACT_ARG(s.arg_set_id, 'debug.unit_id') AS unit, (SELECT MIN(tid) FROM cfg) AS first
  FROM slice s WHERE s.category = 'clock' AND s.name IN ('sched.switch', 'sched.waking', 'sched.migrate')
), said AS (
  SELECT 'sched_switch' AS packet, ts, v & 1023 AS cpu,
    IIF(v >> 10 & 131071 = 131071, 0, first + (v >> 10 & 131071)) AS a,
    IIF(v >> 27 & 131071 = 131071, 0, first + (v >> 27 & 131071)) AS b,
    -- Yielded, waits, ended, preempted.
    CASE WHEN v >> 10 & 131071 = 131071 THEN 0
      ELSE CASE v >> 44 & 3 WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 32 ELSE 256 END END AS c,
    v >> 46 & 1 AS d
  FROM value WHERE name = 'sched.switch'
  UNION ALL
  SELECT 'sched_waking', ts, v & 1023, first + (v >> 10 & 131071), v >> 44 & 1023,
    IIF(v >> 27 & 131071 = 131071, 0, first + (v >> 27 & 131071)), 0
  FROM value WHERE name = 'sched.waking'
  UNION ALL
  SELECT 'sched_migrate_task', ts, v & 1023, first + (v >> 10 & 131071), v >> 27 & 1023, 0, 0
  FROM value WHERE name = 'sched.migrate'
), done AS (
  SELECT f.name AS packet, ts, ucpu AS cpu,
    EXTRACT_ARG(arg_set_id, IIF(f.name = 'sched_switch', 'prev_pid', 'pid')) AS a,
    EXTRACT_ARG(arg_set_id, CASE f.name
      WHEN 'sched_switch' THEN 'next_pid' WHEN 'sched_waking' THEN 'target_cpu' ELSE 'dest_cpu' END) AS b,
    CASE f.name WHEN 'sched_switch' THEN EXTRACT_ARG(arg_set_id, 'prev_state')
      WHEN 'sched_waking' THEN (SELECT tid FROM thread WHERE thread.utid = f.utid) ELSE 0 END AS c,
    CASE f.name WHEN 'sched_switch' THEN EXTRACT_ARG(arg_set_id, 'next_prio') < 100 ELSE 0 END AS d
  FROM ftrace_event f WHERE f.name IN ('sched_switch', 'sched_waking', 'sched_migrate_task')
), undone AS (SELECT * FROM said EXCEPT SELECT * FROM done)
SELECT 'found ' || found || ' packets ' || packet || ', expected ' || expected || ' by the events ' || event
FROM counted WHERE found <> expected AND EXISTS (SELECT 1 FROM events)
UNION ALL
SELECT 'no packet ' || packet || ' of CPU ' || cpu || ' at ' || ts || ' ns says ' || a || ', ' || b || ', ' || c || ' and ' || d || ', as its event does'
FROM undone WHERE (SELECT COUNT(DISTINCT unit) FROM value) = 1
UNION ALL
SELECT 'the importer has no name for a packet at ' || ts || ' ns' FROM ftrace_event WHERE name IS NULL
