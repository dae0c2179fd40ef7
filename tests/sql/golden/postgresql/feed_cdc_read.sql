SELECT CASE WHEN pg_is_in_recovery() THEN '' ELSE CAST(pg_current_snapshot() AS text) END;
COPY (SELECT data FROM pg_logical_slot_peek_binary_changes('tidegate_shop', CAST('0/16B3748' AS pg_lsn), NULL, 'proto_version', '1', 'publication_names', '"tidegate_shop"')) TO STDOUT (FORMAT binary);
