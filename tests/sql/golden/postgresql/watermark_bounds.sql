SELECT (SELECT CAST(max("a") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%"), (SELECT CAST(max("a") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)), (SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a" >= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)), (SELECT CASE WHEN count(*) FILTER (WHERE o.is_hidden) = 0 THEN coalesce(json_agg(json_build_object(
    'session', o.session, 'who', o.who, 'age', o.age, 'wrote', o.wrote)) FILTER (WHERE o.session IS NOT NULL), '[]'
  )::text END
FROM (
  SELECT a.pid || ' ' || a.xact_start AS session, a.query = '<insufficient privilege>' AS is_hidden,
         concat_ws(' ', a.usename, nullif(a.application_name, '')) AS who,
         extract(epoch FROM clock_timestamp() - a.xact_start) AS age,
         EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'relation'
                 AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
                 AND (l.relation = to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"')
                      OR l.relation IN (SELECT i.inhrelid FROM pg_inherits AS i)
                      AND l.relation IN (SELECT p.relid FROM pg_partition_tree(to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"')) AS p))
                 AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         ) AS wrote
  FROM pg_stat_activity AS a
  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    AND (a.query = '<insufficient privilege>' OR a.xact_start IS NOT NULL)
    AND coalesce(a.backend_type, 'client backend') NOT IN ('autovacuum worker', 'walsender', 'parallel worker')
    AND has_table_privilege(a.usesysid, to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"'), 'INSERT, UPDATE')
    AND a.application_name !~ '^tidegate (inspect|extract|verify|snapshot|describe|init) '
  UNION ALL
  SELECT 'prepared ' || p.gid, false, concat_ws(' ', p.owner, 'prepared transaction', p.gid),
         extract(epoch FROM clock_timestamp() - p.prepared), true
  FROM pg_prepared_xacts AS p WHERE p.database = current_database()
) AS o);
SELECT CAST(max("a") AS text), CAST(max(CASE WHEN "a" IS NULL THEN "b" END) AS text), CAST(max(CASE WHEN 1 = 1 AND ("a" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone) OR ("a" IS NULL AND "b" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone))) THEN "a" END) AS text), CAST(max(CASE WHEN "a" IS NULL AND ("a" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone) OR ("a" IS NULL AND "b" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone))) THEN "b" END) AS text), count(CASE WHEN ("a" >= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone) OR ("a" IS NULL AND "b" >= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone))) THEN 1 END), (SELECT CASE WHEN count(*) FILTER (WHERE o.is_hidden) = 0 THEN coalesce(json_agg(json_build_object(
    'session', o.session, 'who', o.who, 'age', o.age, 'wrote', o.wrote)) FILTER (WHERE o.session IS NOT NULL), '[]'
  )::text END
FROM (
  SELECT a.pid || ' ' || a.xact_start AS session, a.query = '<insufficient privilege>' AS is_hidden,
         concat_ws(' ', a.usename, nullif(a.application_name, '')) AS who,
         extract(epoch FROM clock_timestamp() - a.xact_start) AS age,
         EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'relation'
                 AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
                 AND (l.relation = to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"')
                      OR l.relation IN (SELECT i.inhrelid FROM pg_inherits AS i)
                      AND l.relation IN (SELECT p.relid FROM pg_partition_tree(to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"')) AS p))
                 AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         ) AS wrote
  FROM pg_stat_activity AS a
  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    AND (a.query = '<insufficient privilege>' OR a.xact_start IS NOT NULL)
    AND coalesce(a.backend_type, 'client backend') NOT IN ('autovacuum worker', 'walsender', 'parallel worker')
    AND has_table_privilege(a.usesysid, to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"'), 'INSERT, UPDATE')
    AND a.application_name !~ '^tidegate (inspect|extract|verify|snapshot|describe|init) '
  UNION ALL
  SELECT 'prepared ' || p.gid, false, concat_ws(' ', p.owner, 'prepared transaction', p.gid),
         extract(epoch FROM clock_timestamp() - p.prepared), true
  FROM pg_prepared_xacts AS p WHERE p.database = current_database()
) AS o) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT CAST(max("a") AS text), CAST(max("b") AS text), CAST(max(CASE WHEN 1 = 1 AND ("a" IS NULL OR "a" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)) AND ("b" IS NULL OR "b" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)) AND ("a" IS NOT NULL OR "b" IS NOT NULL) THEN "a" END) AS text), CAST(max(CASE WHEN 1 = 1 AND ("a" IS NULL OR "a" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)) AND ("b" IS NULL OR "b" <= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)) AND ("a" IS NOT NULL OR "b" IS NOT NULL) THEN "b" END) AS text), count(CASE WHEN ("a" >= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone) OR "b" >= CAST('2024-01-31 12:00:00.125' AS timestamp(6) without time zone)) THEN 1 END), (SELECT CASE WHEN count(*) FILTER (WHERE o.is_hidden) = 0 THEN coalesce(json_agg(json_build_object(
    'session', o.session, 'who', o.who, 'age', o.age, 'wrote', o.wrote)) FILTER (WHERE o.session IS NOT NULL), '[]'
  )::text END
FROM (
  SELECT a.pid || ' ' || a.xact_start AS session, a.query = '<insufficient privilege>' AS is_hidden,
         concat_ws(' ', a.usename, nullif(a.application_name, '')) AS who,
         extract(epoch FROM clock_timestamp() - a.xact_start) AS age,
         EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'relation'
                 AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
                 AND (l.relation = to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"')
                      OR l.relation IN (SELECT i.inhrelid FROM pg_inherits AS i)
                      AND l.relation IN (SELECT p.relid FROM pg_partition_tree(to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"')) AS p))
                 AND l.mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
         ) AS wrote
  FROM pg_stat_activity AS a
  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
    AND (a.query = '<insufficient privilege>' OR a.xact_start IS NOT NULL)
    AND coalesce(a.backend_type, 'client backend') NOT IN ('autovacuum worker', 'walsender', 'parallel worker')
    AND has_table_privilege(a.usesysid, to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"'), 'INSERT, UPDATE')
    AND a.application_name !~ '^tidegate (inspect|extract|verify|snapshot|describe|init) '
  UNION ALL
  SELECT 'prepared ' || p.gid, false, concat_ws(' ', p.owner, 'prepared transaction', p.gid),
         extract(epoch FROM clock_timestamp() - p.prepared), true
  FROM pg_prepared_xacts AS p WHERE p.database = current_database()
) AS o) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT (SELECT CAST(max("a") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%"), (SELECT CAST(max("a") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE 1 = 1), (SELECT count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "a" IS NOT NULL), NULL;
SELECT CAST(MIN(number) AS text) FROM (SELECT number, LEAD(number) OVER (ORDER BY number) AS next_number FROM (SELECT "load_id" AS number FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "load_id" >= CAST('20240131' AS bigint) UNION SELECT CAST('20240131' AS bigint)) AS numbers) AS numbered WHERE next_number > number + 1;
SELECT max(s.seqcache)
FROM pg_depend AS d
JOIN pg_sequence AS s ON s.seqrelid = d.objid
JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refobjid = to_regclass('"sales"."odd ""orders"" `of` [x] {y} 100%"') AND a.attname = 'load_id' AND d.deptype IN ('a', 'i');
