SELECT CONCAT(DATABASE(), ' on ', @@server_uuid);
