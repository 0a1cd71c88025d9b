-- import: the tables and columns that the other queries use, as this engine has them.
SELECT tables.name, columns.name
FROM (
  SELECT 'slice' AS name UNION ALL SELECT 'args' UNION ALL SELECT 'flow' UNION ALL SELECT 'track'
  UNION ALL SELECT 'stats'
) AS tables, pragma_table_info(tables.name) AS columns;
