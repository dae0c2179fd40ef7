SELECT owner, version FROM `none`.`tidegate_target`;
SELECT CONCAT(DATABASE(), ' on ', @@server_uuid);
