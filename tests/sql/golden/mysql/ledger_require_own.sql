SELECT CONCAT(DATABASE(), ' on ', @@server_uuid);
SELECT owner FROM `none`.`tidegate_target`;
