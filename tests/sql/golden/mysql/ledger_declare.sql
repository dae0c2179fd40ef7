START TRANSACTION;
SELECT GET_LOCK('tidegate 46c9ea51f9128645e17cb10af1285971b9ab9571', 300);
DELETE FROM `none`.`tidegate_scopes` WHERE table_name = 'it''s';
INSERT INTO `none`.`tidegate_scopes` (table_name, scope) VALUES ('it''s', '{"kind": "integer", "floor": "20240131", "ranges": [], "forgotten": []}');
COMMIT;
SELECT RELEASE_LOCK('tidegate 46c9ea51f9128645e17cb10af1285971b9ab9571');
