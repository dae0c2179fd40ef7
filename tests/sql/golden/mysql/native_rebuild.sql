ALTER TABLE `sales`.`odd "orders"_STAGE_1` FORCE;
