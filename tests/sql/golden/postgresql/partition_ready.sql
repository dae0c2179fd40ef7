SELECT CAST(ready.value AS text) FROM (SELECT '{}' FROM control) AS ready(value);
