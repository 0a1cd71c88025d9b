-- import: what the importer counted while reading the trace.
SELECT name, severity, value
FROM stats
WHERE value != 0
ORDER BY name, idx;
