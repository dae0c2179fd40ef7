-- What happens in the source between two syncs: new customers, moved customers.
INSERT INTO customers
SELECT number, 'Customer ' || number, 'Basel', now()::timestamp
FROM generate_series(1001, 1100) AS number;

UPDATE customers
SET city = 'Zürich', modified_date = now()::timestamp
WHERE customer_id <= 50;
