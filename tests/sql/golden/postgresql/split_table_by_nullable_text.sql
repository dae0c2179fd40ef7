WITH RECURSIVE found(id) AS (
  SELECT c.oid FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
  WHERE n.nspname = 'sales' AND c.relname = 'odd "orders" `of` [x] {y} 100%'
  UNION
  SELECT i.inhrelid FROM pg_catalog.pg_inherits AS i JOIN found ON i.inhparent = found.id
)
SELECT CAST(c.relkind AS text), coalesce(CAST(a.amname AS text), ''),
  pg_relation_size(c.oid) / CAST(current_setting('block_size') AS bigint), CAST(c.reltuples AS bigint)
FROM found JOIN pg_catalog.pg_class AS c ON c.oid = found.id
LEFT JOIN pg_catalog.pg_am AS a ON a.oid = c.relam;
SELECT CAST((CAST(CAST(ctid AS text) AS point))[0] AS bigint) / 4 AS place, count(*)
FROM "sales"."odd ""orders"" `of` [x] {y} 100%" TABLESAMPLE SYSTEM (CAST('0.200000' AS real)) REPEATABLE (1) WHERE true GROUP BY 1 ORDER BY 1;
COPY (SELECT "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ctid < CAST('(4,0)' AS tid)) TO STDOUT (FORMAT binary);
COPY (SELECT "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ctid >= CAST('(4,0)' AS tid) AND ctid < CAST('(28,0)' AS tid)) TO STDOUT (FORMAT binary);
COPY (SELECT "it's a ""note""" FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE ctid >= CAST('(28,0)' AS tid)) TO STDOUT (FORMAT binary);
