-- tracks: the name of every track.
SELECT id, name
FROM track
WHERE name IS NOT NULL
ORDER BY id;
