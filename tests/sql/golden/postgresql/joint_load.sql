SELECT CAST(o.conname AS text), CAST(n.nspname AS text), CAST(c.relname AS text), CAST(pn.nspname AS text),
       CAST(p.relname AS text), o.condeferrable, o.convalidated, CAST(o.confdeltype AS text),
       CAST(o.confupdtype AS text), pg_has_role(c.relowner, 'USAGE'), k.place, CAST(a.attname AS text),
       CAST(pa.attname AS text)
FROM pg_constraint AS o
JOIN pg_class AS c ON c.oid = o.conrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_class AS p ON p.oid = o.confrelid JOIN pg_namespace AS pn ON pn.oid = p.relnamespace
CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY AS k(ours, theirs, place)
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.ours
JOIN pg_attribute AS pa ON pa.attrelid = p.oid AND pa.attnum = k.theirs
WHERE o.contype = 'f' AND o.conparentid = 0
  AND ((n.nspname, c.relname) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily')) OR (pn.nspname, p.relname) IN (('sales', 'odd "orders" `of` [x] {y} 100%'), ('sales', 'daily')))
ORDER BY 2, 3, 1, k.place;
BEGIN;
SELECT CAST(t.tgname AS text), CAST(t.tgenabled AS text) FROM pg_trigger AS t
JOIN pg_class AS c ON c.oid = t.tgrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE NOT t.tgisinternal AND t.tgenabled <> 'D' AND (n.nspname, c.relname) IN (('sales', 'odd "orders" `of` [x] {y} 100%')) ORDER BY 1;
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" DISABLE TRIGGER "audit";
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ALTER CONSTRAINT "fk" DEFERRABLE;
SET CONSTRAINTS ALL DEFERRED;
DELETE FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SET CONSTRAINTS ALL IMMEDIATE;
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ALTER CONSTRAINT "fk" NOT DEFERRABLE;
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" ENABLE ALWAYS TRIGGER "audit";
COMMIT;
