-- manifest: what the trace itself says of its run and its clocks, one row per argument.
SELECT slice.id, slice.track_id, slice.name, args.flat_key, args.int_value, args.string_value
FROM slice
JOIN args USING (arg_set_id)
WHERE slice.category = 'meta' AND slice.name IN ('clock.domain', 'run')
ORDER BY slice.id, args.id;
