SELECT LPAD(BIN(`bits`), 8, '0') FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
