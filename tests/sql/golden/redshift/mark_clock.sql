SELECT CAST(CAST(SYSDATE AS timestamp without time zone) AS character varying(50));
SELECT CAST(CAST(SYSDATE AS timestamp with time zone) AS character varying(50));
SELECT CAST(CAST(SYSDATE AS date) AS character varying(50));
