-- The same question to source and target: how many customers, in which cities, and what all rows add up to.
SELECT count(*) AS customers,
       count(*) FILTER (WHERE city = 'Zürich') AS in_zurich,
       md5(string_agg(customers::text, ',' ORDER BY customer_id)) AS content
FROM customers;
