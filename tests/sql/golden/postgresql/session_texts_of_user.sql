RESET search_path;
SELECT CAST(theirs.value AS text) FROM (SELECT cob, '{}' FROM closed_days) AS theirs(value);
SET search_path = '';
