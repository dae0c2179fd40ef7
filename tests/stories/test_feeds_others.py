"""Change feeds besides logical decoding, end to end: the binary log of MariaDB, and triggers."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from kit.copied import Copied
from kit.project import child, database_on
from kit.sides import opened
from tidegate.errors import RunFailed

if TYPE_CHECKING:
    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

CREATE = "CREATE TABLE items (id integer PRIMARY KEY, name varchar(40), price numeric(12,2), note varchar(40))"
ALL = "SELECT id, name, price, note FROM items"
FILL = {
    "mysql": "INSERT INTO items SELECT seq, CONCAT('n', seq), seq * 1.5, NULL FROM seq_1_to_100",
    "postgresql": "INSERT INTO items SELECT n, 'n' || n, n * 1.5, NULL FROM generate_series(1, 100) AS n",
}
CHANGES = """
INSERT INTO items VALUES (101, 'new, "quoted"', 1.10, '');
UPDATE items SET name = NULL WHERE id < 10;
DELETE FROM items WHERE id BETWEEN 20 AND 29;
UPDATE items SET id = 500 WHERE id = 50;
START TRANSACTION;
INSERT INTO items VALUES (999, 'never', 0, NULL);
ROLLBACK
"""
FEEDS = {
    "binary log, keys": ("mysql", {"changes": "cdc"}),
    "binary log, images": ("mysql", {"changes": "cdc", "mode": "images"}),
    "triggers of MariaDB": ("mysql", {"changes": "triggers"}),
    "triggers of PostgreSQL": ("postgresql", {"changes": "triggers"}),
}


@pytest.fixture
def new(postgres: EmbeddedPostgres, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A function that makes a source for a feed, filled, and a target in PostgreSQL; and their project."""
    with ExitStack() as opened_databases:

        def make(feed: str, **more: Any) -> tuple[Copied, Any]:
            kind, settings = FEEDS[feed]
            server: MariaDb | EmbeddedPostgres = postgres
            if kind == "mysql":
                server = request.getfixturevalue("logging_mariadb")
            urls = [opened_databases.enter_context(database_on(each)) for each in (server, postgres)]
            copied = Copied(*urls, tmp_path / "lake")
            copied.in_source(CREATE)
            copied.in_source(FILL[kind])
            synced = copied.tidegate({"items": {"kind": "incremental", **settings, **more}})
            if settings["changes"] == "triggers":
                synced.create_feed()
            return copied, synced

        yield make


@pytest.mark.parametrize("feed", FEEDS)
def test_changes_and_deletes_arrive(new: Any, feed: str):
    copied, synced = new(feed)
    synced.run()
    copied.assert_equal(ALL)
    assert not synced.plan().does_something
    copied.in_source(CHANGES)
    assert synced.run().exit_code == 0
    copied.assert_equal(ALL)
    assert not synced.plan().does_something
    assert synced.verify().outcome == "equal"


@pytest.mark.parametrize("feed", ["binary log, keys", "triggers of PostgreSQL"])
def test_truncate_reads_the_whole_table(new: Any, feed: str):
    copied, synced = new(feed)
    synced.run()
    copied.in_source("TRUNCATE TABLE items;\nINSERT INTO items VALUES (7, 'alone', 1, NULL)")
    synced.run()
    copied.assert_equal(ALL)
    assert copied.rows("target", "SELECT count(*) FROM items") == {(1,): 1}


BYPASSED = {
    "triggers of MariaDB": "TRUNCATE TABLE items;\nINSERT INTO items VALUES (1, 'told', 1, NULL)",
    "triggers of PostgreSQL": "ALTER TABLE items DISABLE TRIGGER USER;\nUPDATE items SET price = 7 WHERE id < 5;\n"
    "DELETE FROM items WHERE id = 50;\nDO $$DECLARE t text; BEGIN FOR t IN SELECT tgname FROM pg_trigger"
    " WHERE tgrelid = 'items'::regclass LOOP EXECUTE 'ALTER TABLE items ENABLE ALWAYS TRIGGER ' || t; END LOOP; END$$",
}


@pytest.mark.parametrize("feed", BYPASSED)
def test_changes_past_the_triggers_are_found_and_repaired(new: Any, feed: str):
    """No log tells them, so a run cannot know. `verify` compares both sides, `repair` reads the table again."""
    copied, synced = new(feed)
    synced.run()
    copied.in_source(BYPASSED[feed])
    synced.run()
    assert copied.rows("source", ALL) != copied.rows("target", ALL)
    assert synced.verify().outcome != "equal"
    synced.repair()
    copied.assert_equal(ALL)
    assert synced.verify().outcome == "equal"


@pytest.mark.parametrize("feed", FEEDS)
def test_late_commit_arrives_with_a_later_run(new: Any, feed: str):
    copied, synced = new(feed)
    synced.run()
    with opened(copied.source) as late:
        late.do("START TRANSACTION")
        late.do("INSERT INTO items VALUES (700, 'late', 1, NULL)")
        copied.in_source("INSERT INTO items VALUES (600, 'early', 1, NULL)")
        synced.run()
        late.do("COMMIT")
    synced.run()
    copied.assert_equal(ALL)


@pytest.mark.parametrize("feed", ["binary log, keys", "binary log, images"])
def test_column_added_in_the_middle(new: Any, feed: str):
    copied, synced = new(feed)
    synced.run()
    copied.in_source(
        "UPDATE items SET name = 'before' WHERE id = 1;\n"
        "ALTER TABLE items ADD COLUMN size integer DEFAULT 5;\n"
        "UPDATE items SET name = 'after' WHERE id = 2"
    )
    synced.run()
    synced.run()
    copied.assert_equal("SELECT id, name, price, note, size FROM items")


def test_lost_position_is_announced_and_resync_repairs(new: Any, logging_mariadb: MariaDb):
    copied, synced = new("binary log, keys")
    synced.run()
    copied.in_source("DELETE FROM items WHERE id = 5")
    copied.in_source("RESET MASTER")
    copied.in_source("UPDATE items SET name = 'since' WHERE id = 6")
    with pytest.raises(RunFailed, match="cannot be read from the feed"):
        synced.run()
    synced.run(resync=True)
    copied.assert_equal(ALL)
    copied.in_source("DELETE FROM items WHERE id = 7")
    synced.run()
    copied.assert_equal(ALL)


KILLED_AT = ["planned", "published", "task about to commit", "task committed", "loaded", "before confirm", "confirmed"]
EVERYDAY = {("binary log, images", "published"), ("triggers of PostgreSQL", "before confirm")}


@pytest.mark.parametrize(
    ("feed", "place"),
    [
        pytest.param(feed, place, marks=() if (feed, place) in EVERYDAY else pytest.mark.thorough)
        for feed in FEEDS
        for place in KILLED_AT
    ],
)
def test_killed_run_loses_nothing(new: Any, feed: str, place: str, tmp_path: Path):
    """The process is killed between reading, extracting, loading and confirming; more changes come before the next."""
    copied, synced = new(feed)
    synced.run()
    copied.in_source(CHANGES)
    configuration = tmp_path / "tidegate.yml"
    places = {"source": copied.source, "target": copied.target, "lake": str(copied.lake), "engine": "process"}
    tables = {"items": {"kind": "incremental", **FEEDS[feed][1]}}
    configuration.write_text(yaml.safe_dump({**places, "tables": tables}))
    with child("-m", "kit.crash", configuration, place, 1, tmp_path / "tally", "process") as victim:
        _, errors = victim.communicate(timeout=200)
    assert victim.returncode == -signal.SIGKILL, errors
    copied.in_source(
        "UPDATE items SET note = 'after the kill' WHERE id IN (1, 2, 101);\nDELETE FROM items WHERE id = 3"
    )
    synced.run()
    copied.assert_equal(ALL)
    assert not synced.plan().does_something


@pytest.mark.parametrize("feed", ["triggers of PostgreSQL", "triggers of MariaDB"])
def test_rotating_check_finds_changes_past_the_triggers(new: Any, feed: str):
    """Each run compares the next slice. A change that no trigger told is found within one round, and stays a finding
    until it is repaired; changes that wait in the log are none."""
    copied, synced = new(feed, rotating_check=40)
    synced.run()
    for _ in range(3):
        assert not synced.run().findings
    past_the_triggers(copied, "UPDATE items SET price = 7 WHERE id = 85")
    copied.in_source("UPDATE items SET price = 8 WHERE id IN (5, 50, 86)")
    found = [finding.what for _ in range(4) for finding in synced.run().findings]
    assert found and all("1 row differs that no trigger told, such as 85:" in text for text in found)
    assert "`tidegate repair items`" in found[0]
    synced.repair()
    copied.assert_equal(ALL)
    assert [finding.what for _ in range(4) for finding in synced.run().findings] == []


@pytest.mark.parametrize("feed", ["triggers of PostgreSQL", "triggers of MariaDB"])
def test_missing_rows_are_loaded_by_the_rotating_check(new: Any, feed: str):
    """Rows that came without a trigger cannot be somebody's edit of the target: the table is read again at once. With
    `on_target_change: restore` so it is for rows that are another row there, or gone from the source."""
    copied, synced = new(feed, rotating_check=40, on_target_change="restore")
    synced.run()
    for statement in (
        "INSERT INTO items VALUES (150, 'no trigger', 1, NULL)",
        "UPDATE items SET note = 'no trigger' WHERE id = 1",
        "DELETE FROM items WHERE id = 50",
    ):
        past_the_triggers(copied, statement)
        for _ in range(4):
            synced.run()
        copied.assert_equal(ALL)


def test_row_that_comes_again_within_a_second_is_a_version(new: Any):
    """Commit times of MariaDB have whole seconds. A row that is deleted and comes again in the same second has two
    versions, and the second one begins after the end of the first."""
    copied, synced = new("binary log, images", load="scd2")
    synced.run()
    with opened(copied.source) as witness:
        witness.do("SET timestamp = unix_timestamp() + 3600")
        witness.do("SET timestamp = @@timestamp")
        for statement in (
            "INSERT INTO items VALUES (700, 'first', 1, NULL)",
            "DELETE FROM items WHERE id = 700",
            "INSERT INTO items VALUES (700, 'second', 1, NULL)",
            "UPDATE items SET name = 'third' WHERE id = 700",
        ):
            witness.do(statement)
            synced.run()
    versions = "SELECT name, extract(epoch from start_date - min(start_date) OVER ()), end_date IS NULL FROM items"
    assert copied.rows("target", f"{versions} WHERE id = 700") == {
        ("first", 0, False): 1,
        ("second", Decimal("0.000002"), False): 1,
        ("third", Decimal("0.000003"), True): 1,
    }


def past_the_triggers(copied: Copied, statement: str) -> None:
    """Run a statement that fires no trigger."""
    with opened(copied.source) as witness:
        if copied.source.startswith("postgresql"):
            triggers = witness.ask("SELECT tgname FROM pg_trigger WHERE tgrelid = 'items'::regclass")
            for (name,) in triggers:
                witness.do(f"ALTER TABLE items DISABLE TRIGGER {name}")
            witness.do(statement)
            for (name,) in triggers:
                witness.do(f"ALTER TABLE items ENABLE ALWAYS TRIGGER {name}")
            return
        triggers = witness.ask("SHOW TRIGGERS")
        for name, *_ in triggers:
            witness.do(f"DROP TRIGGER `{name}`")
        witness.do(statement)
        for name, event, _, body, *_ in triggers:
            witness.do(f"CREATE TRIGGER `{name}` AFTER {event} ON items FOR EACH ROW {body}")
