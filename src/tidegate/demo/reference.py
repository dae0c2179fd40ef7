"""The reference data of the trades: customers with their history, and currencies. The same rows every time.

When the rating of a customer changes, the current version is closed, and a new one starts at `last_modified`.
Currencies are few, and are compared as a whole.
"""

from __future__ import annotations

from tidegate.demo.data import Connection

CUSTOMERS, CURRENCIES = "customers", "currencies"
CHANGED_CUSTOMERS = 250

_CREATE = """
CREATE TABLE customers (
    customer_id   integer NOT NULL,
    name          text NOT NULL,
    country       char(2) NOT NULL,
    rating        varchar(4),
    last_modified timestamp(6) NOT NULL,
    is_latest     boolean NOT NULL
);
CREATE TABLE currencies (
    code  char(3) PRIMARY KEY,
    name  text,
    rate  decimal(20,10)
);
INSERT INTO customers
SELECT
    customer,
    (ARRAY['Alder & Finch', 'Río Claro', 'Ōmi Trust', 'Västra Handel', 'Kestrel Capital'])[1 + mod(customer, 5)]
        || ' ' || customer,
    (ARRAY['DE', 'FR', 'GB', 'US', 'JP', 'CH', 'SE', 'PL'])[1 + mod(customer, 8)],
    (ARRAY['AAA', 'AA', 'A', 'BBB', NULL])[1 + mod(customer + version, 5)],
    timestamp '2025-01-06 07:00' + (version * 90 + mod(customer, 60)) * interval '1 day'
        + customer * interval '0.017 s',
    version = versions
FROM generate_series(1, 5000) AS customer
CROSS JOIN LATERAL (SELECT 1 + mod(customer, 3)) AS history (versions)
CROSS JOIN LATERAL generate_series(1, versions) AS version;
INSERT INTO currencies VALUES
    ('BGN', 'Лев', 0.5112918811), ('CHF', 'Franken', 1.0671219720), ('EUR', 'Euro', 1), ('GBP', 'Pound', 1.1534025375),
    ('JPY', '円', 0.0054321000), ('PLN', 'Złoty', 0.2371073119), ('SEK', 'Krona', 0.0934579439), ('USD', NULL, 0.85);
ALTER TABLE customers ADD PRIMARY KEY (customer_id, last_modified);
CREATE INDEX ON customers (last_modified);
ANALYZE customers, currencies;
"""

_CLOSE_VERSIONS = "UPDATE customers SET is_latest = false WHERE is_latest AND mod(customer_id, 20) = 7"
_NEW_VERSIONS = """
INSERT INTO customers
SELECT customer_id, max(name), max(country), 'BB',
       to_date(%(cobid)s::text, 'YYYYMMDD') + time '06:00' + customer_id * interval '0.017 s', true
FROM customers
WHERE mod(customer_id, 20) = 7
GROUP BY customer_id
"""
_DELETE_CURRENCY = "DELETE FROM currencies WHERE code = 'BGN'"
_UPDATE_CURRENCY = "UPDATE currencies SET rate = 0.0054123000 WHERE code = 'JPY'"
_INSERT_CURRENCY = "INSERT INTO currencies VALUES ('NOK', 'Krone', 0.0851063830)"


def create_reference(connection: Connection) -> None:
    """Create customers and currencies with their first rows."""
    connection.execute(_CREATE)


def change_reference(connection: Connection, cobid: int) -> None:
    """Give 250 customers another rating on this day; delete, insert and update one currency each."""
    with connection.transaction():
        connection.execute(_CLOSE_VERSIONS)
        connection.execute(_NEW_VERSIONS, {"cobid": cobid})
        for change in (_DELETE_CURRENCY, _UPDATE_CURRENCY, _INSERT_CURRENCY):
            connection.execute(change)
