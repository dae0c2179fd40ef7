"""Targets whose foreign keys form cycles, refer to themselves, or need deletes in another order; and their triggers."""

from __future__ import annotations

import pytest

from kit import sides
from kit.copied import Copied, Copies
from kit.pairs import first_daily
from tidegate.errors import RunFailed
from tidegate.model.plan import Notice

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

TABLES = """
CREATE TABLE store (id integer PRIMARY KEY, name varchar(20), manager integer NOT NULL);
CREATE TABLE staff (id integer PRIMARY KEY, store integer NOT NULL, boss integer, name varchar(20));
CREATE TABLE visit (id integer PRIMARY KEY, staff integer)
"""
KEYS = """;
ALTER TABLE store ADD CONSTRAINT manages FOREIGN KEY (manager) REFERENCES staff (id);
ALTER TABLE staff ADD CONSTRAINT works_at FOREIGN KEY (store) REFERENCES store (id);
ALTER TABLE staff ADD CONSTRAINT reports_to FOREIGN KEY (boss) REFERENCES staff (id);
ALTER TABLE visit ADD CONSTRAINT of_staff FOREIGN KEY (staff) REFERENCES staff (id)
"""
ROWS = """;
INSERT INTO store VALUES (1, 'north', 11), (2, 'south', 10);
INSERT INTO staff VALUES (10, 1, 12, 'Ada'), (11, 2, 10, 'Grace'), (12, 1, NULL, 'Edsger');
INSERT INTO visit VALUES (1, 10), (2, 11), (3, 12)
"""
PROJECT = {name: {"kind": "static", "allow_deletes": True} for name in ("store", "staff", "visit")}
QUERIES = ("SELECT * FROM store", "SELECT * FROM staff", "SELECT * FROM visit")


@pytest.fixture(params=["postgresql", "mysql"])
def shop(copies: Copies, request: pytest.FixtureRequest) -> Copied:
    found = copies("postgresql", request.param)
    found.in_source(TABLES + ROWS)
    found.in_target(TABLES + KEYS)
    return found


def assert_equal(shop: Copied) -> None:
    for query in QUERIES:
        shop.assert_equal(query)
    assert shop.tidegate(PROJECT).verify().outcome == "equal"


def told(shop: Copied, table: str) -> list[str]:
    plan = shop.tidegate(PROJECT).plan()
    steps = next(each.steps for each in plan.tables if each.table == table)
    return [step.text for step in steps if isinstance(step, Notice) and "cycle" in step.text]


def trusted_keys(shop: Copied) -> object:
    return sides.ask(
        shop.target,
        "SELECT conname, condeferrable, condeferred, convalidated FROM pg_constraint WHERE contype = 'f' ORDER BY 1",
    )


def test_a_cycle_is_loaded_in_one_transaction(shop: Copied):
    """Rows that refer to each other come, change and leave; the plan says how the keys are checked."""
    [about] = told(shop, "store")
    assert about.startswith("its foreign keys form a cycle with staff: all are loaded in one transaction, with")
    assert told(shop, "visit") == []
    shop.tidegate(PROJECT).run()
    assert_equal(shop)
    shop.in_source("""
INSERT INTO store VALUES (3, 'east', 13);
INSERT INTO staff VALUES (13, 3, 13, 'Barbara');
UPDATE store SET manager = 13 WHERE id = 1;
UPDATE staff SET boss = 13 WHERE id = 12
""")
    shop.tidegate(PROJECT).run()
    assert_equal(shop)


def test_rows_leave_in_an_order_that_works(shop: Copied):
    """A store leaves with its staff and their visits: the rows that they refer to leave with them."""
    shop.tidegate(PROJECT).run()
    shop.in_source("""
UPDATE store SET manager = 12 WHERE id = 1;
DELETE FROM visit WHERE staff = 11;
DELETE FROM staff WHERE id = 11;
DELETE FROM store WHERE id = 2
""")
    shop.tidegate(PROJECT).run()
    assert_equal(shop)


def test_parents_and_their_new_children_change_together(copies: Copies):
    """Without a cycle: old orders leave with their lines while new ones come."""
    shop = copies("postgresql", "mysql")
    tables = """
CREATE TABLE orders (id integer PRIMARY KEY);
CREATE TABLE order_lines (id integer PRIMARY KEY, orders integer)
"""
    shop.in_source(
        f"{tables.strip()};\nINSERT INTO orders VALUES (1), (2);\nINSERT INTO order_lines VALUES (1, 1), (2, 2)"
    )
    shop.in_target(f"{tables.strip()};\nALTER TABLE order_lines ADD FOREIGN KEY (orders) REFERENCES orders (id)")
    project = {name: {"kind": "static", "allow_deletes": True} for name in ("order_lines", "orders")}
    shop.tidegate(project).run()
    shop.in_source(
        "DELETE FROM orders WHERE id = 1;\nDELETE FROM order_lines WHERE id = 1;\nINSERT INTO orders VALUES (3);\n"
        "INSERT INTO order_lines VALUES (3, 3)"
    )
    shop.tidegate(project).run()
    shop.assert_equal("SELECT * FROM orders")
    shop.assert_equal("SELECT * FROM order_lines")


def test_a_row_without_its_parent_is_refused(shop: Copied):
    """The target keeps what it had, also where the server's checks were off for a while."""
    shop.tidegate(PROJECT).run()
    before = [shop.rows("target", query) for query in QUERIES]
    shop.in_source("INSERT INTO staff VALUES (14, 99, NULL, 'Nobody');\nUPDATE store SET name = 'changed'")
    report = shop.tidegate(PROJECT).run(check=False)
    assert {table for table, _ in report.failures} == {"store", "staff"}
    assert [shop.rows("target", query) for query in QUERIES] == before
    shop.in_source("UPDATE staff SET store = 1 WHERE id = 14")
    shop.tidegate(PROJECT).run()
    assert_equal(shop)


@pytest.mark.parametrize("deferrable", first_daily("", " DEFERRABLE INITIALLY IMMEDIATE"))
def test_constraints_are_trusted_afterwards(copies: Copies, deferrable: str):
    """The server checked every row, and the constraints are as they were."""
    shop = copies("postgresql", "postgresql")
    shop.in_source(TABLES + ROWS)
    shop.in_target(TABLES + KEYS.replace(" (id);", f" (id){deferrable};").rstrip() + deferrable)
    before = trusted_keys(shop)
    shop.tidegate(PROJECT).run()
    assert_equal(shop)
    assert trusted_keys(shop) == before
    with pytest.raises(Exception, match="works_at"):
        shop.in_target("INSERT INTO staff VALUES (99, 99, NULL, 'x')")


@pytest.mark.thorough
def test_a_login_that_does_not_own_the_tables_is_told(copies: Copies):
    """Deferrable constraints need no owner; others are said in the plan, with what the owner can do."""
    shop = copies("postgresql", "postgresql")
    shop.in_source(TABLES + ROWS)
    shop.in_target(TABLES + KEYS)
    name = shop.target.rsplit("/", 1)[1]
    shop.in_target(f"""
CREATE ROLE loader_{name} LOGIN PASSWORD 'secret';
GRANT ALL ON SCHEMA public TO loader_{name};
GRANT CREATE ON DATABASE {name} TO loader_{name};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO loader_{name}
""")
    place = shop.target.split("@")[1]
    owner, shop.target = shop.target, f"postgresql://loader_{name}:secret@{place}"
    try:
        [about] = told(shop, "staff")
        assert "may not defer their constraints: let the owner run ALTER TABLE" in about
        sides.do(owner, "ALTER TABLE store ALTER CONSTRAINT manages DEFERRABLE")
        sides.do(owner, "ALTER TABLE staff ALTER CONSTRAINT works_at DEFERRABLE")
        sides.do(owner, "ALTER TABLE staff ALTER CONSTRAINT reports_to DEFERRABLE")
        sides.do(owner, "ALTER TABLE visit ALTER CONSTRAINT of_staff DEFERRABLE")
        shop.tidegate(PROJECT).run()
        assert_equal(shop)
    finally:
        sides.do(owner, f"DROP OWNED BY loader_{name} CASCADE")
        sides.do(owner, f"DROP ROLE loader_{name}")


TRIGGERS = """
CREATE TABLE noted (id integer);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO public.noted VALUES (NEW.id); NEW.name := upper(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER changes BEFORE INSERT ON store FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER always BEFORE INSERT ON store FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER off BEFORE INSERT ON store FOR EACH ROW EXECUTE FUNCTION note();
ALTER TABLE store ENABLE ALWAYS TRIGGER always;
ALTER TABLE store DISABLE TRIGGER off
"""


@pytest.fixture
def with_triggers(copies: Copies) -> Copied:
    found = copies("postgresql", "postgresql")
    found.in_source(TABLES + ROWS)
    found.in_target(TABLES + ";\n" + TRIGGERS)
    return found


def enabled(shop: Copied) -> object:
    return sides.ask(shop.target, "SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1")


def test_triggers_are_bypassed_and_enabled_again_as_they_were(with_triggers: Copied):
    before = enabled(with_triggers)
    tables = {"store": {"kind": "static", "triggers": "bypass"}}
    plan = with_triggers.tidegate(tables).plan().tables[0]
    assert any("triggers of the target do not fire: " in step.text for step in plan.steps if isinstance(step, Notice))
    with_triggers.tidegate(tables).run()
    with_triggers.assert_equal("SELECT * FROM store")
    assert sides.ask(with_triggers.target, "SELECT * FROM noted") == []
    assert enabled(with_triggers) == before


def test_a_trigger_that_changes_rows_is_refused_by_the_proof(with_triggers: Copied):
    tables = {"store": {"kind": "static"}}
    report = with_triggers.tidegate(tables).run(check=False)
    assert "does not hold what was loaded" in report.failures[0][1]
    assert sides.ask(with_triggers.target, "SELECT * FROM noted") == []


@pytest.mark.thorough
def test_tables_with_triggers_can_be_refused(with_triggers: Copied):
    report = with_triggers.tidegate({"store": {"kind": "static", "triggers": "refuse"}}).run(check=False)
    assert "the target has triggers: " in report.failures[0][1]


@pytest.mark.thorough
def test_a_database_that_cannot_bypass_triggers_says_so(copies: Copies):
    shop = copies("postgresql", "mysql")
    shop.in_source(TABLES + ROWS)
    shop.in_target(TABLES + ";\nCREATE TRIGGER t BEFORE INSERT ON store FOR EACH ROW SET NEW.name = 'x'")
    report = shop.tidegate({"store": {"kind": "static", "triggers": "bypass"}}).run(check=False)
    assert "cannot load rows without its triggers: t" in report.failures[0][1]


def test_the_server_names_the_broken_reference(shop: Copied):
    shop.in_source("INSERT INTO visit VALUES (9, 999)")
    with pytest.raises(RunFailed, match="of_staff"):
        shop.tidegate({"visit": {"kind": "static"}}).run()
