SELECT CAST(confirmed_flush_lsn AS text) FROM pg_replication_slots WHERE slot_name = 'tidegate_shop';
SELECT CAST(end_lsn AS text) FROM pg_replication_slot_advance('tidegate_shop', CAST('0/16B3748' AS pg_lsn));
