SELECT count(*) FROM "odd schema"."snap's" WHERE "customer_filter" = CAST('it''s' AS character varying(255)) AND batch_id = CAST('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AS uuid);
UPDATE "odd schema"."snap's" SET parquet_archive_id = 3 WHERE "customer_filter" = CAST('it''s' AS character varying(255)) AND batch_id = CAST('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AS uuid);
UPDATE "odd schema"."snap's" SET parquet_archive_id = NULL WHERE "customer_filter" = CAST('it''s' AS character varying(255)) AND batch_id = CAST('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AS uuid);
DELETE FROM "odd schema"."snap's" WHERE "customer_filter" = CAST('it''s' AS character varying(255)) AND batch_id = CAST('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57' AS uuid);
