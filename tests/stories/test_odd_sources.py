"""Sources and targets as people really have them: from `init` to a verdict, without hand work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kit import sides
from tidegate.api import propose_file
from tidegate.errors import ConfigError
from tidegate.model.plan import Notice

if TYPE_CHECKING:
    from pathlib import Path

    from kit.copied import Copied, Copies
    from tidegate import Tidegate

pytestmark = [pytest.mark.postgres, pytest.mark.mysql]

OFFICE = """
CREATE SCHEMA hr;
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE hr.address AS (street text, zip varchar(10));
CREATE DOMAIN hr.email AS varchar(120) CHECK (VALUE ~ '@');
CREATE TABLE store (id serial PRIMARY KEY, manager integer NOT NULL);
CREATE TABLE staff (id serial PRIMARY KEY, store integer NOT NULL REFERENCES store, email hr.email, mood mood,
  moods mood[], home hr.address, salary numeric(12,2), bonus numeric(12,2) GENERATED ALWAYS AS (salary / 2) STORED);
INSERT INTO store VALUES (1, 1), (2, 2);
INSERT INTO staff (id, store, email, mood, moods, home, salary)
VALUES (1, 1, 'a@x.org', 'happy', '{sad,happy}', ROW('Main "1"', '12'), 10), (2, 2, NULL, NULL, NULL, NULL, NULL);
ALTER TABLE store ADD FOREIGN KEY (manager) REFERENCES staff;
CREATE TABLE hr.staff (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, boss integer REFERENCES hr.staff);
INSERT INTO hr.staff (boss) VALUES (NULL), (1), (2);
CREATE TABLE payment (id integer, paid date NOT NULL, PRIMARY KEY (paid, id)) PARTITION BY RANGE (paid);
CREATE TABLE payment_1 PARTITION OF payment FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE payment_2 PARTITION OF payment DEFAULT;
INSERT INTO payment SELECT n, DATE '2024-01-01' + n FROM generate_series(1, 50) AS n;
CREATE TABLE notes (at timestamptz, what text);
INSERT INTO notes VALUES ('2024-01-01', 'twice'), ('2024-01-01', 'twice'), (NULL, NULL);
CREATE TABLE nothing (id integer PRIMARY KEY);
CREATE VIEW happy AS SELECT id FROM staff WHERE mood = 'happy';
CREATE MATERIALIZED VIEW per_store AS SELECT store, count(*) AS n FROM staff GROUP BY 1
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def proposed(found: Copied, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tidegate:
    """Return the project that `init` proposes, as it is."""
    from tidegate import Tidegate

    monkeypatch.setenv("TIDEGATE_SOURCE_URL", found.source)
    monkeypatch.setenv("TIDEGATE_TARGET_URL", found.target)
    path = folder / "tidegate.yml"
    path.write_text("engine: process\n" + propose_file(found.source, found.target, "./lake").text)
    return Tidegate.from_file(path)


@pytest.mark.parametrize("target", ["postgresql", "mysql"])
@pytest.mark.parametrize("there", ["an empty target", "a target with the schema"])
def test_what_init_proposes_is_equal_after_one_run(
    copies: Copies, folder: Path, monkeypatch: pytest.MonkeyPatch, target: str, there: str
):
    """Enums, composites, domains, generated columns, partitions, cycles, two schemas with one name, no key, no rows."""
    found = copies("postgresql", target)
    found.in_source(OFFICE)
    if there != "an empty target":
        if target == "mysql":
            pytest.skip("the schema is PostgreSQL's")
        found.in_target(";\n".join(line for line in OFFICE.split(";\n") if not line.startswith("INSERT")))
    tidegate = proposed(found, folder, monkeypatch)
    assert tidegate.run().outcome == "done"
    verdict = tidegate.verify()
    assert (verdict.outcome, verdict.exit_code) == ("equal", 0)
    assert len({comparison.table for comparison in verdict.comparisons}) == 6
    assert tidegate.run().outcome == "nothing to do"


def test_types_that_the_target_lacks_are_known_in_the_plan(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    plan = found.tidegate({"staff": {"kind": "static"}}).plan().tables[0]
    [note] = [step.text for step in plan.steps if isinstance(step, Notice) and "kept as text" in step.text]
    assert note == ("kept as text in the target: mood (public.mood), moods (public.mood[]), home (hr.address)")


def test_init_says_what_it_leaves_out(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    text = propose_file(found.source, found.target, "./lake").text
    assert "# happy: {kind: static}  # a view" in text
    assert "# per_store: {kind: static}  # a materialized view" in text


def test_views_are_copied_when_they_are_named(copies: Copies):
    found = copies("postgresql", "mysql")
    found.in_source(OFFICE)
    found.tidegate({"happy": {"kind": "static"}, "per_store": {"kind": "static"}}).run()
    found.assert_equal("SELECT * FROM happy")
    found.assert_equal("SELECT * FROM per_store")


def test_columns_that_the_login_may_not_read_are_left_out(
    copies: Copies, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Rights on some columns, on no row of a table, and on a schema that may not be used."""
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    name = "reader_" + found.source.rsplit("_", 1)[1]
    found.in_source(f"""
CREATE TABLE salaries (id integer);
CREATE ROLE {name} LOGIN PASSWORD 'secret';
GRANT SELECT (id, store) ON staff TO {name};
GRANT SELECT ON store, hr.staff TO {name}
""")
    owner, found.source = found.source, f"postgresql://{name}:secret@{found.source.split('@')[1]}"
    try:
        tidegate = proposed(found, folder, monkeypatch)
        assert sorted(tidegate.project.tables) == ["staff", "store"]
        text = (folder / "tidegate.yml").read_text()
        assert "columns: {email: false, mood: false, moods: false, home: false, salary: false, bonus: false}" in text
        assert "# salaries: # this login may not read it" in text
        assert "# hr.staff: # this login may not read it" in text
        tidegate.run()
        assert tidegate.verify().outcome == "equal"
        assert sides.ask(found.target, "SELECT * FROM staff ORDER BY id") == [(1, 1), (2, 2)]
    finally:
        sides.do(owner, f"DROP OWNED BY {name} CASCADE")
        sides.do(owner, f"DROP ROLE {name}")


def test_init_again_keeps_what_somebody_edited(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    places = (found.source, found.target, "./lake")
    edited = """# ours
source: ${A}
target: ${B}
lake: ./lake
tables:
  staff: {kind: static, allow_deletes: true}  # checked by Ada
  hr.*: {kind: static}
  old_one: {kind: static}
  # the end

engine: process
"""
    merged = propose_file(*places, existing=edited)
    assert merged.tables == 4
    assert merged.notes == ("not in the source under this name: old_one",)
    lines = merged.text.splitlines()
    assert [line for line in edited.splitlines() if line not in lines] == []
    assert lines.index("engine: process") > lines.index("  payment:") > lines.index("  old_one: {kind: static}")
    assert "hr.staff:" not in merged.text
    again = propose_file(*places, existing=merged.text)
    assert (again.text, again.tables) == (merged.text, 0)


def test_two_schemas_of_one_database(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source(OFFICE)
    found.target = found.source
    tables = {"staff": {"kind": "static"}, "hr.staff": {"kind": "static"}}
    mapped = found.tidegate(tables, schema_map={"public": "copy", "hr": "copy_hr"})
    mapped.run()
    assert mapped.verify().outcome == "equal"
    assert sides.ask(found.source, "SELECT id FROM copy.staff ORDER BY 1") == [(1,), (2,)]
    with pytest.raises(ConfigError, match=r"would load staff, hr\.staff into a source"):
        found.tidegate(tables)
    with pytest.raises(ConfigError, match=r"would load staff, hr\.staff into a source"):
        found.tidegate({"staff": None, "hr.staff": {"kind": "static"}}, schema_map={"hr": "public"}).plan()
    with pytest.raises(ConfigError, match="into a source"):
        found.tidegate({"hr.*": None}).plan()


def test_a_large_partition_table_without_an_index_is_said(copies: Copies):
    found = copies("postgresql", "postgresql")
    found.in_source("""
CREATE TABLE facts (cob integer, n integer);
INSERT INTO facts SELECT 20240101 + n % 3, n FROM generate_series(1, 120000) AS n;
ANALYZE facts
""")
    tables = {"facts": {"kind": "partition", "partition_column": "cob"}}
    plan = found.tidegate(tables).plan().tables[0]
    told = [step.text for step in plan.steps if isinstance(step, Notice) and step.severity == "warning"]
    assert told == [
        "no index of the source starts with cob: each plan reads about 120,000 rows, and so does each value that is"
        " extracted or verified"
    ]
    found.in_source("CREATE INDEX ON facts (cob)")
    plan = found.tidegate(tables).plan().tables[0]
    assert [step for step in plan.steps if isinstance(step, Notice) and step.severity == "warning"] == []
