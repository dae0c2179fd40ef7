SELECT CONCAT(@@server_uuid, '/', DATABASE());
