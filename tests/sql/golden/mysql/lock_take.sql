SELECT GET_LOCK('tidegate 5d6222b927ac1301badbf6e78c97455bbe3fbd28', 0);
SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
DELETE FROM `none`.`tidegate_locks` WHERE table_name = 'it''s';
INSERT INTO `none`.`tidegate_locks` (table_name, run, holder, since) VALUES ('it''s', 'r-1', 'r-1 (somebody on a machine, process 1)', 'now');
