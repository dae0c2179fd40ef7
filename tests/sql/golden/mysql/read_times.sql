SELECT `t`, `d`, `s` FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
