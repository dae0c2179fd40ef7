"""Change feeds of PostgreSQL: logical decoding through a slot, in both modes, on a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit import crash
from kit.changing import Changing, histories
from kit.copied import Copied, Copies
from kit.sides import ask
from kit.witness import Witness
from tidegate.errors import RunFailed

pytestmark = pytest.mark.postgres

CREATE = "CREATE TABLE items (id int PRIMARY KEY, name text, price numeric(12,2), note text)"
ALL = "SELECT id, name, price, note FROM items"


def table(**settings: Any) -> dict[str, Any]:
    return {"items": {"kind": "incremental", "changes": "cdc", **settings}}


@pytest.fixture
def copied(copies: Copies) -> Iterator[Copied]:
    made = copies()
    made.in_source(CREATE)
    yield made
    ask(made.source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


@pytest.fixture(params=["images", pytest.param("keys", marks=pytest.mark.thorough)])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("mode", ["keys", "images"])
def test_changes_and_deletes_arrive(copied: Copied, mode: str):
    """Inserts, updates, deletes, a new key, and a transaction that is rolled back."""
    synced = copied.tidegate(table(mode=mode))
    copied.in_source("INSERT INTO items SELECT n, 'n' || n, n * 1.5, NULL FROM generate_series(1, 100) n")
    synced.create_feed()
    synced.run()
    copied.assert_equal(ALL)
    assert not synced.plan().does_something
    copied.in_source(
        "INSERT INTO items VALUES (101, 'new, \"quoted\"', 1.10, '');\n"
        "UPDATE items SET name = NULL WHERE id < 10;\n"
        "DELETE FROM items WHERE id BETWEEN 20 AND 29;\n"
        "UPDATE items SET id = 500 WHERE id = 50;\n"
        "BEGIN; INSERT INTO items VALUES (999, 'never', 0, NULL); ROLLBACK"
    )
    report = synced.run()
    assert report.exit_code == 0
    copied.assert_equal(ALL)
    assert not synced.plan().does_something


def changing(copied: Copied, seed: int) -> Changing:
    """Return a workload on the table of the source."""

    def run(statements: list[str]) -> None:
        with Witness(copied.source) as witness:
            witness.do("BEGIN; " + "; ".join(statements) + ("" if statements[-1] == "ROLLBACK" else "; COMMIT"))

    copied.in_source("DROP TABLE IF EXISTS items;\nCREATE TABLE items (id int PRIMARY KEY, name text, amount bigint)")
    return Changing(run, seed)


VERSIONS = "SELECT id, name, amount, start_date, end_date FROM items"
NOW = "SELECT id, name, amount FROM items"


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 8))])
def test_random_changes_arrive(copied: Copied, mode: str, seed: int):
    """Transactions with inserts, updates, deletes, new keys, truncates and rollbacks, synced in between."""
    work = changing(copied, seed)
    synced = copied.tidegate(table(mode=mode))
    work.transactions(5)
    synced.create_feed()
    for _ in range(4):
        work.transactions(40)
        synced.run()
        assert sorted(ask(copied.target, NOW), key=str) == work.expected()


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 8))])
def test_every_change_is_a_version(copied: Copied, seed: int):
    """The workload's own log of images, with their order, is what the target holds; also after a truncate."""
    work = changing(copied, seed)
    synced = copied.tidegate(table(load="scd2"))
    synced.create_feed()
    synced.run()
    for _ in range(3):
        work.transactions(40)
        synced.run()
    assert histories(ask(copied.target, VERSIONS)) == work.versions
    assert sorted(ask(copied.target, NOW + " WHERE is_current"), key=str) == work.expected()
    assert ask(copied.target, "SELECT count(*) FROM items WHERE is_current <> (end_date IS NULL)") == [(0,)]
    assert synced.verify().exit_code == 0


PLACES = ["planned", "published", "task about to commit", "task committed", "loaded", "before confirm", "confirmed"]


@pytest.mark.parametrize("settings", [{"load": "scd2"}, pytest.param({"mode": "keys"}, marks=pytest.mark.thorough)])
def test_killed_runs_lose_and_double_nothing(copied: Copied, settings: dict[str, Any], tmp_path: Path):
    """A run is killed between every two steps, while the table goes on changing; also the very first one."""
    work = changing(copied, seed=11)
    work.transactions(10, truncates=False)
    synced = copied.tidegate(table(**settings))
    synced.create_feed()
    configuration = {
        "source": copied.source,
        "target": copied.target,
        "lake": str(copied.lake),
        "engine": "process",
        "tables": table(**settings),
    }
    path = tmp_path / "tidegate.yml"
    path.write_text(yaml.safe_dump(configuration))
    first = {key: list(images) for key, images in work.versions.items()} if "load" in settings else {}
    for number, place in enumerate(["published", *PLACES]):
        ended = subprocess.run(
            [sys.executable, crash.__file__, path, place, "1", tmp_path / f"tally{number}", "process"],
            env={**os.environ, "PYTHONPATH": str(Path(crash.__file__).parents[1])},
            capture_output=True,
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()[-2000:]
        if number == 0:  # rows of the first snapshot have one version each, whatever happened before
            work.versions = {key: [work.rows[key]] for key in first if key in work.rows}
        work.transactions(15)
    synced.run()
    assert sorted(ask(copied.target, NOW + (" WHERE is_current" if first else "")), key=str) == work.expected()
    if first:
        assert histories(ask(copied.target, VERSIONS)) == work.versions
    assert not synced.plan().does_something


def test_slot_of_two_tables_waits_for_both(copied: Copied):
    """The server keeps its log until both tables are loaded."""
    copied.in_source("CREATE TABLE others (id int PRIMARY KEY)")
    both = copied.tidegate({**table(), "others": {"kind": "incremental", "changes": "cdc"}})
    both.create_feed()
    copied.in_source("INSERT INTO items VALUES (1);\nINSERT INTO others VALUES (1)")
    both.run()
    copied.in_source("INSERT INTO items VALUES (2);\nINSERT INTO others VALUES (2)")
    both.run("items")
    both.run("others")
    copied.assert_equal(ALL)
    copied.assert_equal("SELECT id FROM others")


def test_lost_position_is_announced_and_resynced(copied: Copied, mode: str):
    """Somebody else reads from the slot. Nothing is read on from a later place."""
    synced = copied.tidegate(table(mode=mode))
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL)")
    synced.run()
    copied.in_source(
        "DELETE FROM items WHERE id = 1;\n"
        "SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots;\n"
        "INSERT INTO items VALUES (3, 'c', 3, NULL)"
    )
    [(_, problem)] = synced.plan().failures
    assert "was moved on" in problem and "run --resync" in problem
    with pytest.raises(RunFailed):
        synced.run()
    assert copied.rows("target", "SELECT id FROM items") == {(1,): 1, (2,): 1}
    [health] = synced.doctor()
    assert "was moved on" in "\n".join(synced.in_words([health]))
    synced.run(resync=True)
    copied.assert_equal(ALL)
    assert not synced.plan().does_something


@pytest.mark.thorough
def test_first_load_that_failed_is_read_anew(copied: Copied):
    """The slot goes on without a table that was extracted and never loaded: nothing of it is lost."""
    synced = copied.tidegate(table())
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1)")
    copied.in_target(
        "CREATE TABLE items (id int PRIMARY KEY CHECK (id > 1), name text, price numeric(12,2), note text)"
    )
    assert synced.run(check=False).failures
    copied.in_source(
        "INSERT INTO items VALUES (2);\n"
        "SELECT pg_replication_slot_advance(slot_name, pg_current_wal_lsn()) FROM pg_replication_slots"
    )
    copied.in_target("DROP TABLE items")
    synced.run()
    copied.assert_equal(ALL)


def test_replaced_table_is_noticed(copied: Copied):
    """A table of the same name is another table: its changes do not follow on those of the old one."""
    synced = copied.tidegate(table())
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1)")
    synced.run()
    copied.in_source(f"ALTER TABLE items RENAME TO old_items;\n{CREATE};\nINSERT INTO items VALUES (2)")
    [(_, problem)] = synced.plan().failures
    assert "not part of the publication" in problem and "tidegate feed create" in problem
    synced.create_feed()
    [(_, problem)] = synced.plan().failures
    assert "replaced by another" in problem
    synced.run(resync=True)
    copied.assert_equal(ALL)


@pytest.mark.thorough
def test_new_column_reads_the_table_again(copied: Copied, mode: str):
    """A column that is added with a default changes rows that no log tells."""
    synced = copied.tidegate(table(mode=mode))
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL)")
    synced.run()
    copied.in_source(
        "UPDATE items SET name = 'x' WHERE id = 1;\n"
        "ALTER TABLE items ADD COLUMN size int DEFAULT 7;\n"
        "UPDATE items SET size = 8 WHERE id = 2"
    )
    synced.run()
    copied.assert_equal("SELECT id, name, price, note, size FROM items")


def test_large_values_that_did_not_change_stay(copied: Copied, mode: str):
    """The log leaves out large values that an update did not touch."""
    synced = copied.tidegate(table(mode=mode))
    synced.create_feed()
    copied.in_source(
        "ALTER TABLE items ALTER COLUMN note SET STORAGE EXTERNAL;\n"
        "INSERT INTO items SELECT n, 'n', n, repeat('x', 100000) FROM generate_series(1, 3) n"
    )
    synced.run()
    copied.in_source("UPDATE items SET price = 9 WHERE id = 1;\nUPDATE items SET id = 20 WHERE id = 2")
    synced.run()
    copied.assert_equal("SELECT id, price, md5(note) FROM items")


def test_versions_need_whole_images(copied: Copied):
    """Which large value a version had is not guessed: the error names the statement that mends it."""
    synced = copied.tidegate(table(load="scd2"))
    copied.in_source("ALTER TABLE items ALTER COLUMN note SET STORAGE EXTERNAL")
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1, 'a', 1, repeat('x', 100000))")
    synced.run()
    assert any("REPLICA IDENTITY FULL" in line for line in synced.in_words(synced.doctor()))
    copied.in_source("UPDATE items SET price = 2")
    [(_, problem)] = synced.run(check=False).failures
    assert "REPLICA IDENTITY FULL" in problem
    copied.in_source("ALTER TABLE items REPLICA IDENTITY FULL")
    synced.run(reload=True)
    copied.in_source("UPDATE items SET price = 3")
    synced.run()
    versions = "SELECT price::int, length(note) FROM items ORDER BY start_date"
    assert ask(copied.target, versions) == [(1, 100_000), (2, 100_000), (3, 100_000)]


IDENTITIES = {
    "full": ("REPLICA IDENTITY FULL", True),
    "index": ("REPLICA IDENTITY USING INDEX by_key", True),
    "nothing": ("REPLICA IDENTITY NOTHING", False),
}


@pytest.mark.parametrize(
    "identity", ["nothing", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("full", "index"))]
)
def test_replica_identities(copied: Copied, mode: str, identity: str):
    """Deletes must come with the key. Where they cannot, the table is refused with the statement that helps."""
    statement, works = IDENTITIES[identity]
    copied.in_source(
        "CREATE TABLE lines (code text NOT NULL, line int NOT NULL, note text);\n"
        "CREATE UNIQUE INDEX by_key ON lines (code, line);\n"
        f"ALTER TABLE lines {statement}"
    )
    lines = {"lines": {"kind": "incremental", "changes": "cdc", "keys": ["code", "line"], "mode": mode}}
    synced = copied.tidegate(lines)
    synced.create_feed()
    if not works:
        [(_, problem)] = synced.plan().failures
        assert "replica identity is NOTHING" in problem and "REPLICA IDENTITY FULL" in problem
        return
    copied.in_source("INSERT INTO lines VALUES ('a', 1, 'x'), ('a', 2, 'y'), ('it''s', 1, NULL)")
    synced.run()
    copied.in_source("DELETE FROM lines WHERE line = 2;\nUPDATE lines SET code = 'b' WHERE code = 'a'")
    synced.run()
    copied.assert_equal("SELECT code, line, note FROM lines")


@pytest.mark.thorough
def test_partitioned_table(copied: Copied, mode: str):
    """Changes of partitions come under the name of the table; rows that go to another partition too."""
    copied.in_source(
        "CREATE TABLE days (day int, id int, note text, PRIMARY KEY (day, id)) PARTITION BY LIST (day);\n"
        "CREATE TABLE days_1 PARTITION OF days FOR VALUES IN (1);\n"
        "CREATE TABLE days_2 PARTITION OF days FOR VALUES IN (2)"
    )
    synced = copied.tidegate({"days": {"kind": "incremental", "changes": "cdc", "mode": mode}})
    synced.create_feed()
    copied.in_source("INSERT INTO days SELECT 1 + n % 2, n, 'x' FROM generate_series(1, 10) n")
    synced.run()
    copied.in_source(
        "UPDATE days SET day = 2 WHERE id = 2;\n"
        "DELETE FROM days WHERE id = 3;\n"
        "CREATE TABLE days_3 PARTITION OF days FOR VALUES IN (3);\n"
        "INSERT INTO days VALUES (3, 30, 'new')"
    )
    [planned] = synced.plan().tables
    assert "changes in the feed" in planned.steps[0].why
    synced.run()
    copied.assert_equal("SELECT day, id, note FROM days")
    for statement in (
        "TRUNCATE days_1",
        "ALTER TABLE days DETACH PARTITION days_2",
        "INSERT INTO days_2 VALUES (2, 99, 'apart');\nALTER TABLE days ATTACH PARTITION days_2 FOR VALUES IN (2)",
    ):
        copied.in_source(statement)
        synced.run()
        copied.assert_equal("SELECT day, id, note FROM days")


EXACT = """
CREATE TABLE exact (id uuid PRIMARY KEY, n numeric, d numeric(20,5), f double precision, r real, b boolean,
 t timestamptz, l timestamp, dy date, tm time, iv interval, j jsonb, js json, by bytea, c char(5), a int[], m money,
 i inet, bi bit(3), s smallint, big bigint)
"""
VALUES = """
INSERT INTO exact VALUES
 ('0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57', 1.50, 123456789012345.12345, 0.1, 1e-38, true,
 '2024-03-31 01:30:00.123456+00', '2024-01-31 10:00:00.5', '0001-01-01', '23:59:59.999999', '1 mon 3 days 04:05:06',
 '{"a": [1, 2.50]}', '{"b":  1}', '\\x00ff22', 'ab', '{1,NULL,3}', '-1234.56', '10.0.0.1/8', '101', -32768,
 9223372036854775807),
 ('1b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57', 'NaN', NULL, 'Infinity', '-0', false, 'infinity', '-infinity', '2024-02-29',
 '24:00:00', '-1 year', 'null', '"x"', '', '', '{}', '0', '::1', '000', 0, -1)
"""


def test_values_of_every_type_are_exact(copied: Copied, mode: str):
    """What the log writes as text arrives as the exact value, also where no Arrow type holds it."""
    copied.in_source(EXACT)
    synced = copied.tidegate({"exact": {"kind": "incremental", "changes": "cdc", "mode": mode}})
    synced.create_feed()
    synced.run()
    copied.in_source(VALUES.strip())
    synced.run()
    copied.assert_equal("SELECT e::text FROM exact e")
    copied.in_source("UPDATE exact SET s = 1, n = 1.5 WHERE f = 0.1")
    synced.run()
    copied.assert_equal("SELECT e::text FROM exact e")


def test_deleted_rows_are_marked(copied: Copied, mode: str):
    """With `soft_delete` a deleted row stays with a mark, and loses it when it comes back."""
    synced = copied.tidegate(table(mode=mode, load="apply_changes", soft_delete="gone"))
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1, 'a', 1, NULL), (2, 'b', 2, NULL)")
    synced.run()
    copied.in_source("DELETE FROM items")
    synced.run()
    assert ask(copied.target, "SELECT id, gone FROM items ORDER BY id") == [(1, True), (2, True)]
    copied.in_source("INSERT INTO items VALUES (2, 'back', 2, NULL)")
    synced.run()
    marks = "SELECT id, name, coalesce(gone, false) FROM items ORDER BY id"
    assert ask(copied.target, marks) == [(1, "a", True), (2, "back", False)]


def test_doctor_says_what_is_missing(copied: Copied):
    """Without a slot the plan and the doctor name the command; with one, the doctor tells lag and cost."""
    synced = copied.tidegate(table())
    [(_, problem)] = synced.plan().failures
    assert "there is no replication slot" in problem and "tidegate feed create" in problem
    assert not synced.doctor()[0].health.alive
    [outcome] = synced.create_feed(dry_run=True)
    assert any("pg_create_logical_replication_slot" in statement for statement in outcome.statements)
    assert ask(copied.source, "SELECT count(*) FROM pg_replication_slots") == [(0,)]
    synced.create_feed()
    synced.run()
    health = synced.doctor()[0].health
    assert health.alive and {"behind", "log that the server keeps for the slot"} <= set(health.facts)
    synced.drop_feed()
    assert ask(copied.source, "SELECT count(*) FROM pg_publication") == [(0,)]


@pytest.mark.thorough
def test_lost_ledger_and_target_rows_are_rebuilt(copied: Copied):
    """The lake's log makes the same versions again."""
    work = changing(copied, seed=5)
    synced = copied.tidegate(table(load="scd2"))
    synced.create_feed()
    synced.run()
    for _ in range(2):
        work.transactions(20)
        synced.run()
    copied.in_target("DROP SCHEMA tidegate CASCADE")
    synced.run()
    assert histories(ask(copied.target, VERSIONS)) == work.versions
    copied.in_target("DELETE FROM items WHERE is_current")
    synced.run()
    assert histories(ask(copied.target, VERSIONS)) == work.versions


@pytest.mark.thorough
def test_slot_that_the_server_gave_up(copied: Copied):
    """The retention clock warns first; a slot that is lost is made anew, and the table is read again."""
    synced = copied.tidegate(table())
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1)")
    synced.run()
    copied.in_source("ALTER SYSTEM SET max_slot_wal_keep_size = '48MB';\nSELECT pg_reload_conf()")
    try:
        for _ in range(2):
            copied.in_source("INSERT INTO items (id) SELECT max(id) + 1 FROM items;\nSELECT pg_switch_wal()")
        warnings = [step.text for each in synced.plan().tables for step in each.steps if hasattr(step, "severity")]
        assert any("it is lost after" in text for text in warnings)
        for _ in range(8):
            copied.in_source(
                "INSERT INTO items (id) SELECT max(id) + 1 FROM items;\nSELECT pg_switch_wal();\nCHECKPOINT"
            )
        [(_, problem)] = synced.plan().failures
        assert "gave up the slot" in problem
        synced.drop_feed()
        synced.create_feed()
        synced.run(resync=True)
        copied.assert_equal(ALL)
    finally:
        copied.in_source("ALTER SYSTEM RESET max_slot_wal_keep_size;\nSELECT pg_reload_conf()")


@pytest.mark.thorough
def test_row_that_changed_100_000_times(copied: Copied, mode: str):
    synced = copied.tidegate(table(mode=mode))
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1, 'a', 0, NULL), (2, 'b', 0, NULL)")
    synced.run()
    copied.in_source("DO $$BEGIN FOR n IN 1..100000 LOOP UPDATE items SET price = n WHERE id = 1; END LOOP; END$$")
    synced.run()
    copied.assert_equal(ALL)


def test_some_rows_and_columns(copied: Copied):
    """With `where` and other names of columns, rows that no longer meet the condition leave."""
    settings = {"where": "price < 100", "columns": {"name": {"name": "title"}, "note": False}}
    synced = copied.tidegate(table(**settings))
    synced.create_feed()
    copied.in_source("INSERT INTO items SELECT n, 'n' || n, n * 10, 'x' FROM generate_series(1, 20) n")
    synced.run()
    copied.in_source("UPDATE items SET price = 500 WHERE id = 1;\nUPDATE items SET price = 5 WHERE id = 20")
    synced.run()
    copied.assert_equal("SELECT id, name, price FROM items WHERE price < 100", "SELECT id, title, price FROM items")
    [(_, problem)] = copied.tidegate(table(mode="images", **settings)).plan().failures
    assert "`mode: keys`" in problem


@pytest.mark.thorough
def test_commit_that_nobody_sees_yet_is_not_passed(copied: Copied, monkeypatch: pytest.MonkeyPatch):
    """A commit that waits for a synchronous standby is in the log, and its rows cannot be read. The run does not go on
    from behind it."""
    monkeypatch.setattr("tidegate.databases.postgresql.feeds.cdc._LONGEST_WAIT", 1.0)
    synced = copied.tidegate(table())
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1)")
    synced.run()
    local = "DO $$BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = local', current_database()); END$$"
    copied.in_target(local)
    copied.in_source("ALTER SYSTEM SET synchronous_standby_names = 'nobody';\nSELECT pg_reload_conf()")
    with ThreadPoolExecutor(1) as threads:
        try:
            writing = threads.submit(copied.in_source, "UPDATE items SET name = 'late'")
            with pytest.raises(TimeoutError):
                writing.result(2)
            [(_, problem)] = synced.run(check=False).failures
            assert "cannot be seen yet" in problem
        finally:
            copied.in_target("ALTER SYSTEM RESET synchronous_standby_names;\nSELECT pg_reload_conf()")
        writing.result(30)
    synced.run()
    copied.assert_equal(ALL)


@pytest.mark.mysql
@pytest.mark.parametrize("load", [pytest.param("merge", marks=pytest.mark.thorough), "scd2"])
def test_changes_go_to_another_database(copies: Copies, load: str):
    """Rows and versions arrive in MariaDB as well, which stages rows before the transaction."""
    copied = copies("postgresql", "mysql")
    work = changing(copied, seed=3)
    synced = copied.tidegate(table(load=load))
    try:
        synced.create_feed()
        synced.run()
        for _ in range(2):
            work.transactions(30)
            synced.run()
        if load == "scd2":
            assert histories(ask(copied.target, VERSIONS)) == work.versions
        else:
            assert sorted(ask(copied.target, NOW), key=str) == work.expected()
    finally:
        ask(copied.source, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


@pytest.mark.thorough
@pytest.mark.parametrize("lake", ["iceberg", "delta"])
def test_other_lakes_keep_changes(copied: Copied, lake: str):
    work = changing(copied, seed=4)
    copied.lake = f"{lake}:{copied.lake}"  # type: ignore[assignment]
    synced = copied.tidegate(table(load="scd2"))
    synced.create_feed()
    synced.run()
    work.transactions(20)
    synced.run()
    assert histories(ask(copied.target, VERSIONS)) == work.versions


EVENTS = "SELECT operation, event_key, after_image FROM tidegate.cdc_events ORDER BY log_position"


def test_changes_are_kept_as_events(copied: Copied, mode: str):
    """Each change once, in the transaction of the load; old ones leave."""
    synced = copied.tidegate(table(mode=mode, keep_events="30 days"))
    synced.create_feed()
    copied.in_source("INSERT INTO items VALUES (1, 'a', 1, NULL)")
    synced.run()
    copied.in_source("UPDATE items SET price = 2.5;\nDELETE FROM items")
    synced.run()
    image = '{"id": 1, "name": "a", "price": "2.50", "note": null}' if mode == "images" else None
    assert ask(copied.target, EVENTS) == [("update", '{"id": 1}', image), ("delete", '{"id": 1}', None)]
    copied.in_target("DELETE FROM tidegate.ledger")
    synced.run()
    assert len(ask(copied.target, EVENTS)) == 2
    copied.in_target("UPDATE tidegate.cdc_events SET captured_at = '2020-01-01' WHERE operation = 'update'")
    copied.in_source("INSERT INTO items VALUES (2, 'b', 1, NULL)")
    synced.run()
    assert [row[0] for row in ask(copied.target, EVENTS)] == ["delete", "insert"]
