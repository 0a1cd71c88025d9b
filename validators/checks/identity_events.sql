-- identity: every event with its place in time and where its arguments are.
SELECT id, ts, track_id, arg_set_id, name
FROM slice
WHERE category = 'clock'
ORDER BY id;
