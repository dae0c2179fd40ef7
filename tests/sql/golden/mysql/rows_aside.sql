SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
SELECT record_id FROM `none`.`tidegate_late_arriving_data` WHERE `record_id` = '1f';
INSERT INTO `none`.`tidegate_late_arriving_data` (`record_id`, `pipeline_id`, `source_id`, `watermark_column`, `watermark_value`, `reason`, `record`, `record_key`, `record_hash`, `found_at`) VALUES ('1f', 'tidegate', 'sales.orders', 'changed_at', '2024-01-15 12:00:00', 'changed_at lies below the watermark 2024-01-15 12:00:00', '{"id": 7, "item": "it''s late"}', '[7]', 'a0', 'now');
SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
SELECT record_id FROM `none`.`tidegate_duplicate_records` WHERE `record_id` = '1f';
INSERT INTO `none`.`tidegate_duplicate_records` (`record_id`, `pipeline_id`, `source_id`, `key_columns`, `rule`, `record`, `found_at`) VALUES ('1f', 'tidegate', 'sales.orders', 'id', 'the row with the greatest changed_at was chosen', '{"id": 7, "item": "it''s late"}', 'now');
SELECT record_hash FROM `none`.`tidegate_late_arriving_data` WHERE pipeline_id = 'tidegate' AND source_id = 'sales.orders' AND record_hash IS NOT NULL;
