SELECT CAST(CAST(now() AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone') AS timestamp(3) without time zone) AS text);
SELECT CAST(CAST(now() AS timestamp(6) with time zone) AS text);
SELECT CAST(CAST(now() AT TIME ZONE (SELECT reset_val FROM pg_settings WHERE name = 'TimeZone') AS date) AS text);
