WITH root AS (
  SELECT c.oid, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = 'sales' AND c.relname = 'odd "orders" `of` [x] {y} 100%'
), leaf AS (
  SELECT oid FROM root WHERE relkind <> 'p'
  UNION ALL SELECT t.relid FROM root, pg_partition_tree(root.oid) t WHERE root.relkind = 'p' AND t.isleaf
)
SELECT CASE
  WHEN pg_is_in_recovery() OR current_setting('track_counts') <> 'on' THEN NULL
  WHEN bool_or(c.relkind <> 'r' OR c.relhassubclass) THEN NULL
  ELSE concat_ws(' ', pg_postmaster_start_time(), (SELECT stats_reset FROM pg_stat_bgwriter),
    string_agg(concat_ws(' ', c.oid, c.relfilenode, pg_stat_get_tuples_inserted(c.oid),
      pg_stat_get_tuples_updated(c.oid), pg_stat_get_tuples_deleted(c.oid)), ', ' ORDER BY c.oid))
  END
FROM leaf JOIN pg_class c ON c.oid = leaf.oid;
SELECT count(*), CAST(MAX("it's a ""note""") AS text) FROM "sales"."odd ""orders"" `of` [x] {y} 100%";
SELECT CAST(sum(hashtextextended(CAST(ROW("cobid", "it's a ""note""") AS text), 0)) AS text), count(*) FROM "sales"."odd ""orders"" `of` [x] {y} 100%" WHERE "cobid" = CAST('20240131' AS integer);
