SELECT CAST(max(`changed at`) AS CHAR), CAST(max(`changed at`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
SELECT (SELECT CAST(max(`changed at`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`), (SELECT CAST(max(`changed at`) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%` WHERE `changed at` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)));
SELECT CAST(max(`changed at`) AS CHAR), CAST(max(CASE WHEN `changed at` <= CAST('2024-01-31 12:00:00.125' AS DATETIME(6)) THEN `changed at` END) AS CHAR) FROM `sales`.`odd "orders" ``of`` [x] {y} 100%`;
