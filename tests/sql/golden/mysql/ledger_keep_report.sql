SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y-%m-%dT%H:%i:%s.%f+00:00');
INSERT INTO `none`.`tidegate_runs` (run, at, report) VALUES ('r-1', 'now', '{"it''s": "{\"a\": \"\\n\"}"}');
