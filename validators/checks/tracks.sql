-- tracks: the name and the parent of every track.
SELECT id, name, parent_id
FROM track
ORDER BY id;
