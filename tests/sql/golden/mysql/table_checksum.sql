SELECT CAST(SUM(CRC32(CONCAT_WS(',', QUOTE(`cobid`), QUOTE(`it's a "note"`)))) AS CHAR), count(*) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
