SELECT owner, version FROM `none`.`tidegate_target`;
SELECT CONCAT(DATABASE(), ' on ', @@server_uuid);
START TRANSACTION;
SELECT GET_LOCK('tidegate a1ecd13cd58018c8eb343700e3cf7d80dae90073', 300);
SELECT owner, version FROM `none`.`tidegate_target`;
SELECT table_name, value_text, generation, newest FROM `none`.`tidegate_ledger`;
UPDATE `none`.`tidegate_ledger` SET newest = '{"version": 2, "token": {"token": "partition", "version": 1, "newest": "2024-01-31 10:00:00"}, "target_rows": null, "target_hash": ""}'
WHERE table_name = 'it''s' AND value_text = '7' AND generation = 3;
UPDATE `none`.`tidegate_target` SET version = 2;
SELECT CONCAT(DATABASE(), ' on ', @@server_uuid);
COMMIT;
SELECT RELEASE_LOCK('tidegate a1ecd13cd58018c8eb343700e3cf7d80dae90073');
