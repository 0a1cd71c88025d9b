-- conservation: events by name, counted by the engine. Events are instants: none may last.
SELECT name, count(*), count(*) FILTER (WHERE dur != 0)
FROM slice
WHERE category = 'clock'
GROUP BY name
ORDER BY name;
