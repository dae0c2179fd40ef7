SELECT pg_try_advisory_lock(hashtextextended('tidegate table it''s', 0));
