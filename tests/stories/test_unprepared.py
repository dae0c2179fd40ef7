"""Databases that nobody prepared: `init`, one run and `verify` without an edit; plain drivers compare every cell."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner

from kit import sides
from kit.copied import Copied, Copies
from tidegate.cli.main import main
from tidegate.config.secrets import Variables
from tidegate.config.urls import parse_connection
from tidegate.model.names import TableName
from tidegate.plugins import database

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

# A cycle, a table of itself, null partition values, equal rows without a key, names that need quotes, what the server
# fills in or computes, an empty table.
SHARED = """
CREATE TABLE store (id integer PRIMARY KEY, manager integer NOT NULL);
CREATE TABLE staff (
  id integer PRIMARY KEY, store integer NOT NULL, boss integer,
  CONSTRAINT in_store FOREIGN KEY (store) REFERENCES store (id),
  CONSTRAINT of_boss FOREIGN KEY (boss) REFERENCES staff (id)
);
CREATE TABLE reported (cob_id integer, id integer, amount decimal(18, 4));
INSERT INTO reported VALUES (20240101, 1, 1.5), (20240102, 2, 2.25), (NULL, 3, 3), (NULL, 3, 3);
CREATE TABLE equal_rows (a integer, b varchar(20));
INSERT INTO equal_rows VALUES (1, NULL), (1, NULL), (NULL, NULL), (NULL, NULL), (2, '');
CREATE TABLE nothing_yet (id integer PRIMARY KEY, word varchar(20));
CREATE TABLE computed (
  id integer PRIMARY KEY, w decimal(10, 2), h decimal(10, 2), area decimal(20, 4) GENERATED ALWAYS AS (w * h) STORED
);
INSERT INTO computed (id, w, h) VALUES (1, 2.5, 4), (2, NULL, 1)
"""
POSTGRESQL = """
ALTER TABLE store ADD CONSTRAINT of_manager FOREIGN KEY (manager) REFERENCES staff (id) DEFERRABLE INITIALLY DEFERRED;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN email AS text CHECK (VALUE LIKE '%@%');
CREATE TABLE "Order Lines" (
  "Line #" integer PRIMARY KEY, "select" text, "q""uote" mood, mail email, n integer GENERATED ALWAYS AS IDENTITY
);
INSERT INTO "Order Lines" ("Line #", "select", "q""uote", mail)
VALUES (1, 'é山', 'happy', 'a@b'), (2, NULL, NULL, NULL);
CREATE TABLE by_day (cob date, id integer) PARTITION BY RANGE (cob);
CREATE TABLE by_day_1 PARTITION OF by_day FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE by_day_others PARTITION OF by_day DEFAULT;
INSERT INTO by_day VALUES ('2024-01-03', 1), ('2024-03-01', 2), (NULL, 3), (NULL, 3);
CREATE VIEW seen AS SELECT id FROM staff;
CREATE MATERIALIZED VIEW kept AS SELECT id FROM staff;
CREATE TABLE without_columns ();
BEGIN;
INSERT INTO store VALUES (1, 1), (2, 2);
INSERT INTO staff VALUES (1, 1, 2), (2, 2, 1), (3, 1, 3);
COMMIT
"""
MYSQL = """
ALTER TABLE store ADD CONSTRAINT of_manager FOREIGN KEY (manager) REFERENCES staff (id);
CREATE TABLE `Order Lines` (
  `Line #` integer PRIMARY KEY, `select` text, `q"uote` enum('sad', 'happy'), mail text, n integer NOT NULL UNIQUE
);
INSERT INTO `Order Lines` VALUES (1, 'é山', 'happy', 'a@b', 1), (2, NULL, NULL, NULL, 2);
CREATE TABLE by_day (cob date, id integer) PARTITION BY RANGE COLUMNS (cob) (
  PARTITION early VALUES LESS THAN ('2024-02-01'), PARTITION others VALUES LESS THAN (MAXVALUE)
);
INSERT INTO by_day VALUES ('2024-01-03', 1), ('2024-03-01', 2), (NULL, 3), (NULL, 3);
CREATE VIEW seen AS SELECT id FROM staff;
SET SESSION foreign_key_checks = 0;
INSERT INTO store VALUES (1, 1), (2, 2);
INSERT INTO staff VALUES (1, 1, 2), (2, 2, 1), (3, 1, 3);
SET SESSION foreign_key_checks = 1
"""
COPIED = (
    "SELECT * FROM store",
    "SELECT * FROM staff",
    "SELECT * FROM reported",
    "SELECT * FROM equal_rows",
    "SELECT * FROM computed",
    "SELECT * FROM by_day",
)
QUOTED = {
    "postgresql": 'SELECT "Line #", "select", CAST("q""uote" AS text), CAST(mail AS text), n FROM "Order Lines"',
    "mysql": 'SELECT `Line #`, `select`, CAST(`q"uote` AS char), mail, n FROM `Order Lines`',
}


@pytest.fixture(params=["postgresql to postgresql", "postgresql to mysql", "mysql to postgresql", "mysql to mysql"])
def pair(copies: Copies, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Copied:
    source, target = request.param.split(" to ")
    found = copies(source, target)
    found.in_source(SHARED)
    found.in_source({"postgresql": POSTGRESQL, "mysql": MYSQL}[source])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A", found.source)
    monkeypatch.setenv("B", found.target)
    return found


def call(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(arguments))
    return result.exit_code, result.output


def test_a_whole_database_is_equal_after_one_run(pair: Copied):
    assert call("init", "--source", "${A}", "--target", "${B}")[0] == 0
    proposed = Path("tidegate.yml").read_text()
    assert proposed.count("values: {nulls: load}") == 2
    assert "# seen: {kind: static}" in proposed
    code, told = call("run", "-q", "--engine", "process")
    assert code == 0, told
    code, verdict = call("verify", "-q", "--engine", "process")
    assert (code, "equals the source within its scope (6 values and 6 whole tables" in verdict) == (0, True), verdict
    for query in COPIED:
        pair.assert_equal(query)
    pair.assert_equal(QUOTED[pair.source.partition(":")[0]], QUOTED[pair.target.partition(":")[0]])
    code, told = call("run", "-q", "--engine", "process")
    assert (code, "0 rows extracted" in told or "nothing" in told) == (0, True), told


def test_what_is_not_copied_is_named(copies: Copies, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    found = copies("postgresql", "postgresql")
    found.in_source(SHARED)
    found.in_source(POSTGRESQL)
    monkeypatch.chdir(tmp_path)
    call("init", "--source", found.source, "--target", found.target)
    comments = Path("tidegate.yml").read_text()
    assert "# without_columns:   # it has no columns" in comments or "without_columns: # it has no columns" in comments
    assert "kept: {kind: static}  # a materialized view" in comments


TOUCHED = {
    "postgresql": """
CREATE TABLE noted (id integer PRIMARY KEY, touched timestamp, opened timestamp DEFAULT now(), seen timestamp);
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.touched := now(); RETURN NEW; END $$;
CREATE TRIGGER touched BEFORE UPDATE ON noted FOR EACH ROW EXECUTE FUNCTION touch();
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.seen = now(); RETURN NEW; END $$;
CREATE TRIGGER looked BEFORE UPDATE ON noted FOR EACH ROW WHEN (OLD.id > 5) EXECUTE FUNCTION look()
""",
    "mysql": """
CREATE TABLE noted (
  id integer PRIMARY KEY, touched timestamp(6) DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  opened timestamp DEFAULT CURRENT_TIMESTAMP, seen timestamp NULL
)
""",
}


@pytest.mark.parametrize("kind", ["postgresql", "mysql"])
def test_columns_that_the_server_sets_are_known(copies: Copies, kind: str):
    """A default, or a trigger with a condition, does not say that every change moves the column."""
    found = copies(kind, kind)
    found.in_source(TOUCHED[kind])
    adapter = database(parse_connection(found.source, Variables({}), "source"))
    with adapter.connect("init", read_only=True) as session:
        table = next(name for name in session.tables() if name.name == "noted")
        assert session.columns_set_at_changes(table) == {"touched"}
        assert session.columns_set_at_changes(TableName(table.schema, "other")) == frozenset()


def test_rows_that_policies_hide_are_said(copies: Copies):
    """A login that sees a part of the rows copies that part: plan and verdict say so."""
    found = copies("postgresql", "postgresql")
    role = "limited_" + found.source.rsplit("/", 1)[1]
    found.in_source(
        """
CREATE TABLE owned (id integer PRIMARY KEY, owner text);
INSERT INTO owned VALUES (1, 'us'), (2, 'them');
ALTER TABLE owned ENABLE ROW LEVEL SECURITY;
CREATE POLICY ours ON owned USING (owner = 'us');
CREATE ROLE the_role LOGIN PASSWORD 'the_role';
GRANT SELECT ON owned TO the_role
""".replace("the_role", role)
    )
    place = urlsplit(found.source)
    url = place._replace(netloc=f"{role}:{role}@{place.netloc.rpartition('@')[2]}").geturl()
    limited = Copied(url, found.target, found.lake)
    tables = {"owned": {"kind": "static"}}
    try:
        told = [getattr(step, "text", "") for step in limited.tidegate(tables).plan().tables[0].steps]
        assert any("rows that they hide are not in the copy" in text for text in told)
        limited.tidegate(tables).run()
        [warning] = [finding.what for finding in limited.tidegate(tables).verify().findings]
        assert "row-level security" in warning
        assert sides.ask(found.target, "SELECT id FROM owned") == [(1,)]
        found.tidegate(tables).run()
        assert found.tidegate(tables).verify().findings == ()
    finally:
        found.in_source(f"DROP OWNED BY {role};\nDROP ROLE {role}")


@pytest.mark.parametrize(
    "kind",
    [
        {"kind": "partition", "partition_column": "day"},
        {"kind": "static", "merge_strategy": "replace"},
        {"kind": "static"},
        {"kind": "incremental", "changes": "full"},
    ],
    ids=lambda kind: str(kind.get("merge_strategy", kind.get("changes", kind["kind"]))),
)
def test_a_renamed_column_is_filled_in_the_target(copies: Copies, kind: dict[str, object]):
    """Beside another column of the target's own, a renaming looks like one column gone and one new. Every value is the
    same as before, and so is the hash of the rows."""
    found = copies("postgresql", "postgresql")
    found.in_source(
        "CREATE TABLE deals (day integer, id integer PRIMARY KEY, word text);\n"
        "INSERT INTO deals VALUES (1, 1, 'a'), (1, 2, NULL), (2, 3, 'c')"
    )
    tables = {"deals": kind}
    found.tidegate(tables).run()
    found.in_target("ALTER TABLE deals ADD COLUMN remark text")
    found.in_target("UPDATE deals SET remark = 'ours'")
    found.in_source("ALTER TABLE deals RENAME COLUMN word TO note")
    found.tidegate(tables).run()
    found.assert_equal("SELECT day, id, note FROM deals")
    assert sides.ask(found.target, "SELECT word, remark FROM deals WHERE id = 1") == [("a", "ours")]
    assert found.tidegate(tables).verify().outcome == "equal"
    every_run_reads = kind.get("changes") == "full"
    assert found.tidegate(tables).run().outcome == ("done" if every_run_reads else "nothing to do")
