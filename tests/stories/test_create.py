"""`create:` — types, indexes, foreign keys, defaults and comments that the source has and the target lacks."""

from __future__ import annotations

from collections import Counter

import pytest

from kit import sides
from kit.copied import Copied, Copies
from tidegate.model.plan import CompleteSchema, Notice

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

OFFICE = """
CREATE TYPE mood AS ENUM ('sad', 'it''s ok');
CREATE TYPE place AS (street varchar(20), mood mood);
CREATE TABLE store (id integer PRIMARY KEY, name varchar(40) NOT NULL DEFAULT 'it''s new',
  since timestamp DEFAULT now(), open boolean DEFAULT true, rank integer DEFAULT 7, code integer UNIQUE);
CREATE TABLE staff (id integer PRIMARY KEY, store integer REFERENCES store ON DELETE CASCADE, mood mood DEFAULT 'sad',
  moods mood[], home place, name varchar(40));
CREATE TABLE outside (id integer PRIMARY KEY);
ALTER TABLE staff ADD COLUMN outside integer REFERENCES outside;
CREATE INDEX by_name ON staff (name, id);
CREATE INDEX lower_name ON staff (lower(name));
COMMENT ON TABLE staff IS 'people; "ours"';
COMMENT ON COLUMN staff.name IS 'it''s the name';
INSERT INTO store (id, code) VALUES (1, 10), (2, 20);
INSERT INTO staff VALUES (1, 1, 'it''s ok', '{sad}', ROW('Main', 'sad'), 'Ada', NULL),
  (2, 2, NULL, NULL, NULL, 'Grace', NULL)
"""
TABLES = {"staff": {"kind": "static"}, "store": {"kind": "static"}}


def office(copies: Copies, target: str) -> Copied:
    found = copies("postgresql", target)
    found.in_source(OFFICE)
    found.tidegate(TABLES, defaults={"create": True}).run()
    assert found.tidegate(TABLES, defaults={"create": True}).verify().outcome == "equal"
    return found


CATALOG = """
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename IN ('staff', 'store')
UNION ALL SELECT column_name || column_default || data_type FROM information_schema.columns
  WHERE table_schema = 'public' AND table_name IN ('staff', 'store')
UNION ALL SELECT obj_description('staff'::regclass) UNION ALL SELECT col_description('staff'::regclass, attnum)
  FROM pg_attribute WHERE attrelid = 'staff'::regclass AND attname = 'name'
UNION ALL SELECT enumlabel FROM pg_enum ORDER BY 1
"""


def test_the_same_kind_of_database_gets_the_same(copies: Copies):
    found = office(copies, "postgresql")
    there, here = found.rows("target", CATALOG), found.rows("source", CATALOG)
    assert there == here
    assert len(there) > 10
    keys = "SELECT conname, confrelid::regclass::text, convalidated FROM pg_constraint WHERE contype = 'f'"
    assert sides.ask(found.target, keys) == [("staff_store_fkey", "store", True)]
    report = found.tidegate(TABLES, defaults={"create": True}).run()
    assert report.outcome == "nothing to do"


SHOP = """
CREATE SCHEMA kinds;
CREATE TYPE kinds.mood AS ENUM ('sad', 'happy');
CREATE DOMAIN kinds.email AS varchar(40) CONSTRAINT has_at CHECK (VALUE LIKE '%@%');
CREATE DOMAIN kinds.work_email AS kinds.email NOT NULL DEFAULT 'it''s@us' CHECK (VALUE LIKE '%us');
CREATE DOMAIN kinds.good_mood AS kinds.mood CHECK (VALUE <> 'sad');
CREATE TYPE kinds.contact AS (mail kinds.email, mood kinds.good_mood);
CREATE TABLE shop (id integer PRIMARY KEY, mail kinds.work_email, mails kinds.email[], mood kinds.good_mood,
  contact kinds.contact);
INSERT INTO shop VALUES (1, 'a@us', '{b@c,d@e}', 'happy', ROW('f@g', 'happy')), (2, DEFAULT, NULL, NULL, NULL)
"""
DOMAINS = """
SELECT t.typname, t.typnotnull, t.typdefault, pg_get_constraintdef(k.oid), format_type(t.typbasetype, t.typtypmod)
FROM pg_type AS t JOIN pg_constraint AS k ON k.contypid = t.oid WHERE t.typtype = 'd' AND k.contype = 'c'
  AND t.typname IN ('email', 'work_email', 'good_mood')
"""
TYPES = "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'shop'::regclass"


@pytest.mark.parametrize("create", [True, False])
def test_domains_and_what_they_are_made_of_are_created(copies: Copies, create: bool):
    found = copies("postgresql", "postgresql")
    found.in_source(SHOP)
    settings = {"shop": {"kind": "static", "create": {"types": create}}}
    found.tidegate(settings).run()
    found.assert_equal("SELECT id, mail, mails::text, mood::text, contact::text FROM shop")
    assert (found.rows("target", TYPES) == found.rows("source", TYPES)) is create
    assert found.rows("target", DOMAINS) == (found.rows("source", DOMAINS) if create else Counter())
    assert found.tidegate(settings).verify().outcome == "equal"
    assert found.tidegate(settings).run().outcome == "nothing to do"
    found.in_source("INSERT INTO shop VALUES (3, 'x@us', NULL, NULL, NULL)")
    found.tidegate(settings).run()
    found.assert_equal("SELECT id, mail FROM shop")


def test_an_index_of_another_name_is_not_created_again(copies: Copies):
    """Also one over an expression, which has no list of columns to compare."""
    found = office(copies, "postgresql")
    found.in_target("ALTER INDEX lower_name RENAME TO mine;\nALTER INDEX by_name RENAME TO mine_too")
    assert found.tidegate(TABLES, defaults={"create": True}).run().outcome == "nothing to do"


def test_what_cannot_be_created_is_said(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    plan = found.tidegate(TABLES, defaults={"create": True}).plan()
    steps = next(table.steps for table in plan.tables if table.table == "staff")
    told = [step.text for step in steps if isinstance(step, Notice)]
    assert "foreign key staff_outside_fkey is not created: outside is not copied" in [
        text.replace("public.", "") for text in told
    ]
    assert any(text.startswith("foreign key staff_store_fkey is created without its rules") for text in told)
    ddl = [text for step in steps if isinstance(step, CompleteSchema) for text in step.statements]
    assert ddl[-1].endswith('FOREIGN KEY ("store") REFERENCES "public"."store" ("id")')


def test_another_kind_of_database_gets_a_translation(copies: Copies):
    found = office(copies, "mysql")
    sides.do(found.target, "INSERT INTO store (id) VALUES (3)")
    [(name, since, is_open, rank)] = sides.ask(found.target, "SELECT name, since, open, `rank` FROM store WHERE id = 3")
    assert (name, is_open, rank) == ("it's new", 1, 7)
    assert since is not None
    with pytest.raises(Exception, match="Duplicate"):
        sides.do(found.target, "INSERT INTO store (id, code) VALUES (4, 10)")
    with pytest.raises(Exception, match="foreign key"):
        sides.do(found.target, "INSERT INTO staff (id, store) VALUES (9, 99)")
    tables = """
SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'staff'
"""
    assert sides.ask(found.target, tables) == [('people; "ours"',)]


def test_mysql_to_postgresql(copies: Copies):
    found = copies("mysql", "postgresql")
    found.in_source("""
CREATE TABLE store (id int PRIMARY KEY, name varchar(20) NOT NULL DEFAULT 'new', at datetime DEFAULT CURRENT_TIMESTAMP,
  KEY by_name (name)) COMMENT 'shops';
CREATE TABLE staff (id int PRIMARY KEY, store int COMMENT 'where',
  CONSTRAINT works FOREIGN KEY (store) REFERENCES store (id));
INSERT INTO store (id) VALUES (1);
INSERT INTO staff VALUES (1, 1)
""")
    found.tidegate(TABLES, defaults={"create": True}).run()
    sides.do(found.target, "INSERT INTO store (id) VALUES (2)")
    assert sides.ask(found.target, "SELECT name, at IS NULL FROM store WHERE id = 2") == [("new", False)]
    with pytest.raises(Exception, match="staff_works"):
        sides.do(found.target, "INSERT INTO staff VALUES (2, 9)")
    described = "SELECT obj_description('store'::regclass), col_description('staff'::regclass, 2)"
    assert sides.ask(found.target, described) == [("shops", "where")]


def test_nothing_is_created_without_being_asked_for(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    found.tidegate(TABLES).run()
    assert sides.ask(found.target, "SELECT count(*) FROM pg_constraint WHERE contype = 'f'") == [(0,)]
    assert sides.ask(found.target, "SELECT count(*) FROM pg_enum") == [(0,)]


def test_names_that_are_mapped_are_mapped_in_indexes_and_keys(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    tables = {
        "staff": {"kind": "static", "target_table": "people", "columns": {"store": {"name": "shop"}, "name": False}},
        "store": {"kind": "static", "target_table": "shops", "columns": {"id": {"name": "shop_id"}}},
    }
    create = {"foreign_keys": True, "indexes": True, "defaults": True, "comments": True}
    found.tidegate(tables, defaults={"create": create}).run()
    keys = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f'"
    assert sides.ask(found.target, keys) == [("FOREIGN KEY (shop) REFERENCES shops(shop_id)",)]
    assert found.tidegate(tables, defaults={"create": create}).verify().outcome == "equal"
