-- The fixed facts of the threads of a modelled machine, by its own words.
WITH cfg AS (
  SELECT t.utid, t.upid, t.name, t.tid, t.end_ts,
    EXTRACT_ARG(s.arg_set_id, 'debug.weight') AS weight,
    EXTRACT_ARG(s.arg_set_id, 'debug.mask') AS mask,
    EXTRACT_ARG(s.arg_set_id, 'debug.slice') AS r,
    EXTRACT_ARG(s.arg_set_id, 'debug.quantum') AS q,
    EXTRACT_ARG(s.arg_set_id, 'debug.latency') AS latency,
    EXTRACT_ARG(s.arg_set_id, 'debug.patience') AS patience,
    EXTRACT_ARG(s.arg_set_id, 'debug.section') AS section,
    EXTRACT_ARG(s.arg_set_id, 'debug.steady') AS steady
  FROM slice s JOIN thread t ON t.tid = EXTRACT_ARG(s.arg_set_id, 'debug.tid')
  WHERE s.name = 'runqueue.thread'
)
