SELECT name, content FROM `none`.`tidegate_notes` WHERE topic = 'alert';
START TRANSACTION;
SELECT GET_LOCK('tidegate 172003763e0f0596dee35b3c4e48290157fb6041', 300);
DELETE FROM `none`.`tidegate_notes` WHERE topic = 'alert' AND name = 'it''s late';
SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
INSERT INTO `none`.`tidegate_notes` (topic, name, content, at) VALUES ('alert', 'it''s late', '{"since": "today"}', 'now');
DELETE FROM `none`.`tidegate_notes` WHERE topic = 'alert' AND name = 'gone';
COMMIT;
SELECT RELEASE_LOCK('tidegate 172003763e0f0596dee35b3c4e48290157fb6041');
