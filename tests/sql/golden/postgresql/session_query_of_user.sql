RESET search_path;
SELECT cob FROM closed_days;
SET search_path = '';
