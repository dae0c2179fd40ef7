SELECT CONCAT(CONCAT(@@hostname, ':', @@port, ':', @@datadir), '/', DATABASE());
