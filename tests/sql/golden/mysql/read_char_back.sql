SELECT RPAD(`code`, 3, ' ') FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
