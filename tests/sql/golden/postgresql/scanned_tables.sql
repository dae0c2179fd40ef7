RESET search_path;
EXPLAIN (FORMAT JSON) SELECT * FROM t;
SET search_path = '';
