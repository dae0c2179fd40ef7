SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
SELECT record_id FROM "tidegate"."late_arriving_data" WHERE "record_id" = '1f';
INSERT INTO "tidegate"."late_arriving_data" ("record_id", "pipeline_id", "source_id", "watermark_column", "watermark_value", "reason", "record", "record_key", "record_hash", "found_at") VALUES ('1f', 'tidegate', 'sales.orders', 'changed_at', '2024-01-15 12:00:00', 'changed_at lies below the watermark 2024-01-15 12:00:00', '{"id": 7, "item": "it''s late"}', '[7]', 'a0', 'now');
SELECT TO_CHAR(SYSDATE, 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
SELECT record_id FROM "tidegate"."duplicate_records" WHERE "record_id" = '1f';
INSERT INTO "tidegate"."duplicate_records" ("record_id", "pipeline_id", "source_id", "key_columns", "rule", "record", "found_at") VALUES ('1f', 'tidegate', 'sales.orders', 'id', 'the row with the greatest changed_at was chosen', '{"id": 7, "item": "it''s late"}', 'now');
SELECT record_hash FROM "tidegate"."late_arriving_data" WHERE pipeline_id = 'tidegate' AND source_id = 'sales.orders' AND record_hash IS NOT NULL;
