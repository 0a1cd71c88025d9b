-- flows: every arrow from one event to the next of its transaction.
SELECT slice_out, slice_in
FROM flow;
