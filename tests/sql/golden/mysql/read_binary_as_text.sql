SELECT CONCAT('\x', LOWER(HEX(`b`))), CONCAT('\x', LOWER(HEX(`shape`))) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
