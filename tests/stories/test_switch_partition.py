"""Partition switching: values are loaded beside the target, and its native partitions are switched for them."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from kit import sides
from kit.pairs import first_daily
from kit.project import FIVE_DAYS, FRIDAY, SATURDAY, THURSDAY, Stories, Story, database_on
from kit.sides import ask
from tidegate.errors import MissingObject
from tidegate.model.plan import ChangeSchema, Notice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kit.mariadb import MariaDb
    from tidegate.demo.embedded import EmbeddedPostgres

pytestmark = [pytest.mark.postgres, pytest.mark.mysql, pytest.mark.spark]

COLUMNS = {
    "postgresql": "cob integer NOT NULL, id bigint NOT NULL, amount numeric(38,18), note text, traded_at timestamp,"
    " load_id bigint",
    "mysql": "cob int NOT NULL, id bigint NOT NULL, amount decimal(38,18), note longtext, traded_at datetime(6),"
    " load_id bigint, KEY (cob)",
}


def partitioned(url: str, *bounds: tuple[int, int], rest: bool = False) -> None:
    """Create the target, partitioned by ranges of the day; with `rest`, a partition takes all other days."""
    kind = sides.kind_of(url)
    if kind == "postgresql":
        sides.do(url, f"CREATE TABLE trades ({COLUMNS[kind]}) PARTITION BY RANGE (cob)")
        sides.do(url, "CREATE INDEX ON trades (cob, load_id)")
        for low, high in bounds:
            sides.do(url, f"CREATE TABLE trades_{low} PARTITION OF trades FOR VALUES FROM ({low}) TO ({high})")
        if rest:
            sides.do(url, "CREATE TABLE trades_rest PARTITION OF trades DEFAULT")
    else:
        parts = [f"PARTITION p{low} VALUES LESS THAN ({high})" for low, high in bounds]
        parts += ["PARTITION prest VALUES LESS THAN MAXVALUE"] if rest else []
        sides.do(url, f"CREATE TABLE trades ({COLUMNS[kind]}) PARTITION BY RANGE (cob) ({', '.join(parts)})")


def daily(*days: int) -> list[tuple[int, int]]:
    return [(day, day + 1) for day in days]


@pytest.fixture(scope="module")
def stories(
    postgres: EmbeddedPostgres, mariadb: MariaDb, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Stories]:
    servers: dict[str, EmbeddedPostgres | MariaDb] = {"mysql": mariadb, "postgresql": postgres}
    with ExitStack() as opened:
        yield Stories(lambda kind: database_on(servers[kind]), spark, tmp_path_factory, opened)


@pytest.fixture(params=first_daily("postgresql", "mysql"))
def story(stories: Stories, request: pytest.FixtureRequest) -> Story:
    story = stories("postgresql", request.param)
    story.settings |= {"switch": "auto", "restatement_column": "load_id"}
    return story


def tables_beside(story: Story) -> list[str]:
    """Return tables of the target whose names end like those of stages and archives."""
    place = "DATABASE()" if sides.kind_of(story.target) == "mysql" else "'public'"
    found = ask(
        story.target,
        "SELECT table_name FROM information_schema.tables"  # noqa: S608 - words of ours
        f" WHERE table_name LIKE 'trades%' AND table_schema = {place} ORDER BY 1",
    )
    return [str(name) for (name,) in found if re.search("_(STAGE|OLD|ARCHIVE)_", str(name))]


def notes(story: Story) -> list[str]:
    return [f"{step.value or ''} {step.text}".strip() for step in story.steps() if isinstance(step, Notice)]


def how(report: object) -> dict[str, str]:
    """Return how each value was loaded."""
    return {step.value: step.why for step in report.steps if step.step == "load"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("story", ["postgresql", "mysql"], indirect=True)
def test_days_are_switched_in(story: Story):
    """The first run switches five days into empty partitions. A restated day takes the place of the old one."""
    partitioned(story.target, *daily(*FIVE_DAYS))
    assert any("switch: 200 rows, into the empty partition" in note for note in notes(story))

    report = story.run()

    assert all(re.search("switched into .*, readers waited [0-9,]+ ms at most", why) for why in how(report).values())
    story.assert_in_step(*FIVE_DAYS)
    assert story.run().outcome == "nothing to do"
    story.restate(FRIDAY)
    assert any(f"{FRIDAY} switch: 200 rows, in place of the rows of" in note for note in notes(story))
    story.run()
    story.assert_in_step(*FIVE_DAYS)
    assert tables_beside(story) == []
    assert story.tidegate().verify().outcome == "equal"


def test_new_days_get_partitions(story: Story):
    """Days without a partition get one of their own before they are loaded, as the plan shows."""
    partitioned(story.target, *daily(*FIVE_DAYS[:3]))

    assert [step.why for step in story.steps() if isinstance(step, ChangeSchema)] == [
        f"a partition for {THURSDAY}",
        f"a partition for {FRIDAY}",
    ]
    story.run()

    story.assert_in_step(*FIVE_DAYS)
    layout = story.tidegate().native_partitions("trades")
    assert [layout.range_of(partition) for partition in layout.partitions][-1:] == [
        f"from {FRIDAY} to before {SATURDAY}"
    ]


@pytest.mark.thorough
def test_empty_rest_is_split(story: Story):
    """A partition that takes all other days is split for a new day while it is empty."""
    partitioned(story.target, *daily(*FIVE_DAYS[:3]), rest=True)

    report = story.run()

    assert all("switched into" in why for why in how(report).values())
    story.assert_in_step(*FIVE_DAYS)


@pytest.mark.thorough
def test_rest_with_rows_is_not_split(story: Story):
    """A partition of all other days that has rows is left as it is: its days are replaced directly."""
    partitioned(story.target, *daily(*FIVE_DAYS[:4]), rest=True)
    sides.fill(story.target, [20300101], 1, 10)

    report = story.run()

    assert "also has rows of other values" in how(report)[str(FRIDAY)]
    assert story.rows_in_target(*FIVE_DAYS) == story.rows_in_source(*FIVE_DAYS)
    assert story.counts_in_target()[20300101] == 10


@pytest.mark.parametrize("setting", first_daily("auto", "always_stage"))
def test_months_keep_their_other_days(story: Story, setting: str):
    """Days that share a partition are switched together at first. Later a restated day leaves the others alone."""
    story.settings["switch"] = setting
    partitioned(story.target, (20240101, 20240201), (20240201, 20240301))

    report = story.run()
    assert all("switched into" in why for why in how(report).values())
    story.assert_in_step(*FIVE_DAYS)
    story.fill(SATURDAY)
    story.restate(FRIDAY)
    sides.fill(story.target, [20240131], 1, 7)
    report = story.run()

    carries = setting == "always_stage" and sides.kind_of(story.target) == "postgresql"
    word = "switched into" if carries else "direct: "
    assert all(word in why for why in how(report).values())
    assert story.rows_in_target(*FIVE_DAYS, SATURDAY) == story.rows_in_source(*FIVE_DAYS, SATURDAY)
    assert story.counts_in_target()[20240131] == 7


def test_unpartitioned_table_is_loaded_directly(story: Story):
    """A target without partitions is loaded as ever, and the plan says why."""
    sides.create(story.target)

    assert "direct: the table is not partitioned" in notes(story)
    report = story.run()

    assert set(how(report).values()) == {"new in the source; direct: the table is not partitioned"}
    story.assert_in_step(*FIVE_DAYS)


def test_what_cannot_be_switched_is_told(story: Story):
    """A table that another one refers to cannot be switched: `auto` loads it directly, `always_stage` refuses."""
    if sides.kind_of(story.target) == "mysql":
        sides.do(
            story.target,
            f"CREATE TABLE trades ({COLUMNS['mysql']}) PARTITION BY RANGE (cob) SUBPARTITION BY HASH (id)"
            " SUBPARTITIONS 2 (PARTITION p VALUES LESS THAN (20250101))",
        )
        reason = "sub-partitions"
    else:
        partitioned(story.target, (20240101, 20250101))
        sides.do(story.target, "ALTER TABLE trades ADD PRIMARY KEY (cob, id, traded_at)")
        sides.do(
            story.target,
            "CREATE TABLE audits (cob int, id bigint, traded_at timestamp, FOREIGN KEY (cob, id, traded_at)"
            " REFERENCES trades)",
        )
        story.in_source("DELETE FROM trades WHERE id = 2")
        reason = "audits refers to it"

    assert any("direct: " in note and reason in note for note in notes(story))
    story.run()
    story.assert_in_step(*FIVE_DAYS)
    story.settings["switch"] = "always_stage"
    story.restate(FRIDAY)
    [(_, problem)] = story.tidegate().plan().failures
    assert reason in problem
    assert "its partitions cannot be switched" in problem


def test_restore_brings_a_day_back(story: Story):
    """A day that was replaced by a switch comes back from its archive. Runs leave the table alone until `--resume`."""
    story.settings["archive_retention_days"] = 7
    partitioned(story.target, *daily(*FIVE_DAYS))
    story.run()
    before = story.rows_in_target(FRIDAY)
    story.restate(FRIDAY)
    story.run()
    assert story.rows_in_target(FRIDAY) != before

    restored = story.tidegate().restore("trades", FRIDAY)

    assert (restored.rows, restored.by_switch) == (200, True)
    assert story.rows_in_target(FRIDAY) == before
    assert story.ledger()[FRIDAY][1] == "restored"
    report = story.run()
    assert (report.outcome, report.exit_code) == ("nothing to do", 3)
    assert any("until `tidegate run --resume`" in finding.what for finding in report.findings)
    story.tidegate().restore("trades", FRIDAY)  # the restore is undone, too
    assert story.rows_in_target(FRIDAY) == story.rows_in_source(FRIDAY)
    story.tidegate().restore("trades", FRIDAY)
    assert story.tidegate().run(resume=True).outcome == "done"
    story.assert_in_step(*FIVE_DAYS)
    assert story.tidegate().verify().outcome == "equal"


@pytest.mark.thorough
def test_archives_go_when_they_are_old(story: Story):
    """Archives leave with their retention; without an archive there is nothing to restore."""
    story.settings["archive_retention_days"] = 7
    partitioned(story.target, *daily(*FIVE_DAYS))
    story.run()
    story.restate(FRIDAY)
    story.run()
    assert len(tables_beside(story)) == 1

    story.settings["archive_retention_days"] = 0
    story.run()

    assert tables_beside(story) == []
    with pytest.raises(MissingObject, match="no archive has the rows of 20240105"):
        story.tidegate().restore("trades", FRIDAY)


def test_readers_never_miss_a_day(story: Story):
    """A reader that polls while days are switched in again and again sees each day whole, before and after."""
    partitioned(story.target, *daily(*FIVE_DAYS))
    story.run()
    expected = dict.fromkeys(FIVE_DAYS, 200)
    wrong: list[dict[int, int]] = []
    polls, stopped = 0, threading.Event()

    def poll() -> None:
        nonlocal polls
        with sides.opened(story.target) as witness:
            while not stopped.is_set():
                found = dict(witness.ask("SELECT cob, count(*) FROM trades GROUP BY cob"))
                polls += 1
                if found != expected:
                    wrong.append(found)

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        for _ in range(3):
            for day in FIVE_DAYS:
                story.restate(day)
            report = story.run()
            assert all("switched into" in why for why in how(report).values())
    finally:
        stopped.set()
        reader.join()
    assert wrong == []
    assert polls > 20
    story.assert_in_step(*FIVE_DAYS)
