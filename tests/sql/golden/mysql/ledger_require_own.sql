SELECT CONCAT(@@server_uuid, '/', DATABASE());
SELECT owner FROM `none`.`tidegate_target`;
