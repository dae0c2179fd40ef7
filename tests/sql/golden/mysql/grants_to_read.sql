GRANT SELECT, SHOW VIEW, TRIGGER ON `sales`.`odd "orders" ``of`` [x] {y} 100%` TO 'the_login';
