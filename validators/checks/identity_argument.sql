-- identity: one argument of all events. One pass per argument reads each value once; EXTRACT_ARG would look up every
-- argument of every event. $KEY is replaced by the argument's name.
SELECT arg_set_id, int_value
FROM args
WHERE flat_key = 'debug.$KEY'
ORDER BY id;
