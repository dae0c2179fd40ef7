ANALYZE TABLE `sales`.`odd "orders"_STAGE_1`;
