-- Every scheduling event has its packet: as many of each as there are events of its kind. Each CPU has two switches
-- more, at its beginning and at its end; a start has a wake of its own, and one for a new thread.
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
)
SELECT 'found ' || found || ' packets ' || packet || ', expected ' || expected || ' by the events ' || event
FROM counted WHERE found <> expected AND EXISTS (SELECT 1 FROM events)
UNION ALL
SELECT 'the importer has no name for a packet at ' || ts || ' ns' FROM ftrace_event WHERE name IS NULL
