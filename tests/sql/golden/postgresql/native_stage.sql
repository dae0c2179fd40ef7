SELECT coalesce(array_to_string(c.reloptions, ', '), ''), coalesce(m.amname, 'heap'),
       coalesce(s.spcname, '')
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_am AS m ON m.oid = c.relam LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace
WHERE n.nspname = 'sales' AND c.relname = 'p20240131';
CREATE TABLE "sales"."odd ""orders""_STAGE_1" (LIKE "sales"."p20240131" INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED INCLUDING STORAGE INCLUDING COMPRESSION INCLUDING STATISTICS INCLUDING COMMENTS) USING "heap" WITH (fillfactor=70) TABLESPACE "fast";
SELECT 1 FROM pg_index WHERE indrelid = '"sales"."odd ""orders""_STAGE_1"'::regclass LIMIT 1;
SELECT pg_get_constraintdef(k.oid) FROM pg_constraint AS k
WHERE k.conrelid = '"sales"."p20240131"'::regclass AND k.contype IN ('p', 'u', 'x') ORDER BY k.conname;
ALTER TABLE "sales"."odd ""orders""_STAGE_1" ADD PRIMARY KEY (cobid, id);
SELECT d.start, substr(pg_get_indexdef(i.indexrelid), length(d.start || d.named) + 1)
FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid
JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace
CROSS JOIN LATERAL (SELECT
    CASE WHEN i.indisunique THEN 'CREATE UNIQUE INDEX ' ELSE 'CREATE INDEX ' END AS start,
    quote_ident(x.relname) || ' ON ' || CASE x.relkind WHEN 'I' THEN 'ONLY ' ELSE '' END
    || quote_ident(n.nspname) || '.' || quote_ident(t.relname) AS named) AS d
WHERE i.indrelid = '"sales"."p20240131"'::regclass AND i.indisvalid
  AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x'))
ORDER BY i.indexrelid;
CREATE INDEX ON "sales"."odd ""orders""_STAGE_1" USING btree (note);
SELECT pg_get_constraintdef(k.oid) FROM pg_constraint AS k
WHERE k.conrelid = '"sales"."p20240131"'::regclass AND k.contype IN ('f') ORDER BY k.conname;
ALTER TABLE "sales"."odd ""orders""_STAGE_1" ADD CONSTRAINT "tidegate_fk_0" FOREIGN KEY (id) REFERENCES sales.customers(id) NOT VALID;
ALTER TABLE "sales"."odd ""orders""_STAGE_1" VALIDATE CONSTRAINT "tidegate_fk_0";
SELECT pg_get_partition_constraintdef('"sales"."p20240131"'::regclass);
ALTER TABLE "sales"."odd ""orders""_STAGE_1" DROP CONSTRAINT IF EXISTS "tidegate_bounds", ADD CONSTRAINT "tidegate_bounds" CHECK (((cobid IS NOT NULL) AND (cobid >= 1)));
ANALYZE "sales"."odd ""orders""_STAGE_1";
