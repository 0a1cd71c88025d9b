-- tracks: the name, the parent and the number in the trace of every track.
SELECT id, name, parent_id, (
  SELECT int_value FROM args WHERE args.arg_set_id = track.source_arg_set_id AND args.key = 'trace_id'
)
FROM track
ORDER BY id;
