SELECT owner FROM `none`.`tidegate_target`;
SELECT CONCAT(@@server_uuid, '/', DATABASE());
