SELECT DISTINCT a.attname, o.nspname, s.relname, q.seqincrement > 0,
       has_sequence_privilege(s.oid, 'SELECT') AND has_sequence_privilege(s.oid, 'UPDATE')
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef f ON f.adrelid = c.oid AND f.adnum = a.attnum AND a.attgenerated = ''
JOIN pg_depend d ON (d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                     AND d.refobjid = c.oid AND d.refobjsubid = a.attnum AND d.deptype = 'i')
                 OR (d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid AND d.refclassid = 'pg_class'::regclass)
JOIN pg_class s ON s.relkind = 'S'
               AND s.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END
JOIN pg_namespace o ON o.oid = s.relnamespace
JOIN pg_sequence q ON q.seqrelid = s.oid
WHERE n.nspname = 'sales' AND c.relname = 'odd "orders" `of` [x] {y} 100%'
ORDER BY 1;
SELECT setval('"sales"."Order ""Ids"""'::regclass, w.value)
FROM (SELECT max("id")::bigint AS value FROM "sales"."odd ""orders"" `of` [x] {y} 100%") AS w, "sales"."Order ""Ids""" AS s
WHERE w.value > s.last_value OR (w.value = s.last_value AND NOT s.is_called);
SELECT setval('"sales"."d"'::regclass, w.value)
FROM (SELECT min("down")::bigint AS value FROM "sales"."odd ""orders"" `of` [x] {y} 100%") AS w, "sales"."d" AS s
WHERE w.value < s.last_value OR (w.value = s.last_value AND NOT s.is_called);
