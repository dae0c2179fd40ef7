SELECT CAST(min(`changed at`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
