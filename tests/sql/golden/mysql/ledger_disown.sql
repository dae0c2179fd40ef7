DELETE FROM `none`.`tidegate_ledger`;
DELETE FROM `none`.`tidegate_target`;
DELETE FROM `none`.`tidegate_locks`;
SELECT CONCAT(DATABASE(), ' on ', @@server_uuid);
SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
INSERT INTO `none`.`tidegate_target` (owner, version, at) VALUES ('1/2', 2, 'now');
