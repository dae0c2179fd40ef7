SELECT `f` * 1e0, `d` * 1e0 FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
