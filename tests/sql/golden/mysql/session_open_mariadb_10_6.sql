SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin, SESSION time_zone = '+00:00', SESSION wait_timeout = 28800,
SESSION sql_mode =
'NO_BACKSLASH_ESCAPES,STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES,NO_ENGINE_SUBSTITUTION',
SESSION sql_notes = 1,
SESSION net_write_timeout = 3600, SESSION net_read_timeout = 3600,
SESSION autocommit = 1, SESSION lock_wait_timeout = 300, SESSION innodb_lock_wait_timeout = 300;
SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET SESSION max_statement_time = 0.0;
