SELECT CONCAT(DATABASE(), ' on ', CONCAT(@@hostname, ':', @@port, ':', @@datadir));
