SELECT run FROM `none`.`tidegate_locks` WHERE table_name = 'it''s';
