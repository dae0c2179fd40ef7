SELECT pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner)
FROM pg_class AS c WHERE c.oid = '"sales"."odd ""orders"" `of` [x] {y} 100%"'::regclass;
SELECT k.conname, k.conrelid::regclass::text FROM pg_constraint AS k
WHERE k.confrelid = '"sales"."odd ""orders"" `of` [x] {y} 100%"'::regclass AND k.contype = 'f' AND k.conparentid = 0 ORDER BY 1;
SELECT t.tgname FROM pg_trigger AS t WHERE t.tgrelid = '"sales"."p20240131"'::regclass AND NOT t.tgisinternal AND t.tgparentid = 0 ORDER BY 1;
SELECT coalesce(a.attname, b.attname), a.attname IS NULL, b.attname IS NULL,
       a.atttypid = b.atttypid AND a.atttypmod = b.atttypmod, a.attcollation = b.attcollation,
       a.attnotnull <= b.attnotnull, a.attgenerated = b.attgenerated, b.attidentity = '',
       format_type(a.atttypid, a.atttypmod)
FROM (SELECT * FROM pg_attribute WHERE attrelid = '"sales"."p20240131"'::regclass AND attnum > 0 AND NOT attisdropped) AS a
FULL JOIN (SELECT * FROM pg_attribute WHERE attrelid = '"sales"."odd ""orders""_STAGE_1"'::regclass AND attnum > 0 AND NOT attisdropped) AS b ON b.attname = a.attname
ORDER BY 1;
SELECT k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint AS k
WHERE k.conrelid = '"sales"."p20240131"'::regclass AND k.contype = 'c' AND NOT EXISTS (
    SELECT 1 FROM pg_constraint AS s WHERE s.conrelid = '"sales"."odd ""orders""_STAGE_1"'::regclass AND s.contype = 'c'
    AND s.conname = k.conname AND pg_get_constraintdef(s.oid) = pg_get_constraintdef(k.oid))
ORDER BY 1;
ALTER TABLE "sales"."odd ""orders"" `of` [x] {y} 100%" OWNER TO CURRENT_USER;
ALTER TABLE "sales"."audits" DROP CONSTRAINT "fk";
DROP TRIGGER "log" ON "sales"."p20240131";
ALTER TABLE "sales"."odd ""orders""_STAGE_1" DROP COLUMN "a";
ALTER TABLE "sales"."odd ""orders""_STAGE_1" ALTER COLUMN "b" TYPE integer;
ALTER TABLE "sales"."odd ""orders""_STAGE_1" ALTER COLUMN "b" SET NOT NULL;
ALTER TABLE "sales"."odd ""orders""_STAGE_1" ALTER COLUMN "b" DROP IDENTITY;
ALTER TABLE "sales"."odd ""orders""_STAGE_1" ADD CONSTRAINT "positive" CHECK ((amount > 0));
