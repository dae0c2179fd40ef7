SELECT GET_LOCK('tidegate 5d6222b927ac1301badbf6e78c97455bbe3fbd28', 0);
SELECT holder, since FROM `none`.`tidegate_locks` WHERE table_name = 'it''s';
