"""SQL Server tables with views, identity, triggers, foreign keys or partitions, as source and target.

It needs a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`). All tables are copied in one run, because runs are
expensive.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.servers.sqlserver import Server
from kit.one_process import OneProcess
from kit.sqlserver_witness import SqlServerWitness
from tidegate import Tidegate
from tidegate.errors import RunFailed

ROWS = [(1, 1, "row 1"), (1, 2, "row 2"), (2, 3, "row 3")]
SOURCES = {
    "plain": "CREATE TABLE {} (cobid int, id int, note nvarchar(20))",
    "viewed": "CREATE VIEW {} AS SELECT cobid, id, note FROM plain",
    "computed": "CREATE TABLE {} (cobid int, id int, note nvarchar(20), twice AS (id * 2) PERSISTED)",
    "numbered": "CREATE TABLE {} (cobid int, id int IDENTITY(1, 1), note nvarchar(20))",
}
TARGETS = {
    "with_identity": "CREATE TABLE {} (cobid int, id int IDENTITY(100, 1), note nvarchar(20))",
    "with_another_order": "CREATE TABLE {} (note nvarchar(20), own int NULL, id bigint, cobid int)",
    "with_default": "CREATE TABLE {} (cobid int, id int, note nvarchar(20), at date NOT NULL DEFAULT GETDATE())",
    "with_trigger": "CREATE TABLE {} (cobid int, id int, note nvarchar(20))",
    "with_reference": "CREATE TABLE {} (cobid int, id int REFERENCES ids (id), note nvarchar(20))",
    "with_partitions": "CREATE TABLE {} (cobid int, id int, note nvarchar(20)) ON on_cob (cobid)",
}
SEEN = "SELECT cobid, id, note FROM {} ORDER BY id"


@pytest.fixture
def source(tds: Server) -> Iterator[SqlServerWitness]:
    with tds.database() as url, SqlServerWitness(url) as witness:
        for name, statement in SOURCES.items():
            witness.do(statement.format(name))
        for row in ROWS:
            witness.do("INSERT INTO plain VALUES (%s, %s, %s)", *row)
            witness.do("INSERT INTO computed (cobid, id, note) VALUES (%s, %s, %s)", *row)
            witness.do("INSERT INTO numbered (cobid, note) VALUES (%s, %s)", row[0], row[2])
        yield witness


@pytest.fixture
def target(tds: Server) -> Iterator[SqlServerWitness]:
    with tds.database() as url, SqlServerWitness(url) as witness:
        yield witness


def project(source: SqlServerWitness, target: SqlServerWitness, lake: Path, tables: dict[str, str]) -> Tidegate:
    """Target tables, with the source table of each."""
    settings = {
        there: {"kind": "partition", "partition_column": "cobid", "source_table": here, "target_table": there}
        for there, here in tables.items()
    }
    return Tidegate(source=source.url, target=target.url, lake=lake, tables=settings, spark=OneProcess())  # type: ignore[arg-type]


def test_views_and_special_tables_are_read(source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path):
    """Views, computed columns and identity columns are read from the source."""
    tidegate = project(source, target, tmp_path, {name: name for name in SOURCES if name != "plain"})

    report = tidegate.run()

    assert report.rows_loaded == 9
    assert {name: target.ask(SEEN.format(name)) for name in SOURCES if name != "plain"} == dict.fromkeys(
        ["viewed", "computed", "numbered"], ROWS
    )
    assert target.ask("SELECT twice FROM computed ORDER BY id") == [(2,), (4,), (6,)]


def test_existing_targets_keep_their_constraints(source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path):
    """Existing targets with identity, defaults, triggers, foreign keys or partitions are loaded and keep them
    enabled."""
    target.do("CREATE TABLE ids (id int PRIMARY KEY)")
    target.do("INSERT INTO ids VALUES (1), (2), (3)")
    target.do("CREATE TABLE heard (rows int)")
    target.do("CREATE PARTITION FUNCTION by_cob (int) AS RANGE RIGHT FOR VALUES (2, 3)")
    target.do("CREATE PARTITION SCHEME on_cob AS PARTITION by_cob ALL TO ([PRIMARY])")
    for name, statement in TARGETS.items():
        target.do(statement.format(name))
    target.do("CREATE TRIGGER hear ON with_trigger AFTER INSERT AS INSERT INTO heard SELECT COUNT(*) FROM inserted")
    tidegate = project(source, target, tmp_path, dict.fromkeys(TARGETS, "plain"))
    notices = {plan.table: str(plan.steps) for plan in tidegate.plan().tables}

    report = tidegate.run()

    assert report.rows_loaded == 3 * len(TARGETS)
    assert {name: target.ask(SEEN.format(name)) for name in TARGETS} == dict.fromkeys(TARGETS, ROWS)
    assert "triggers fire on the target: hear" in notices["with_trigger"]
    assert (
        "the server partitions it by by_cob (RANGE RIGHT of cobid, 3 partitions), the last of which takes all from 3 on"
        in notices["with_partitions"]
    )
    assert target.ask("SELECT SUM(rows) FROM heard") == [(3,)], "INSERT ... SELECT fires triggers"
    assert target.ask("SELECT is_disabled, is_not_trusted FROM sys.foreign_keys") == [(False, False)]
    target.do("INSERT INTO with_identity (cobid, note) VALUES (3, 'new')")
    assert target.ask("SELECT MAX(id) FROM with_identity")[0][0] > 3, "the server still counts by itself"


def test_risky_texts_survive(source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path):
    """Texts that a literal or a driver could change arrive: a backslash at the end of a line, and U+FFFD."""
    texts = ["a\\\nb", "a\\\r\nb", "\\", "\N{REPLACEMENT CHARACTER}"]
    source.do("CREATE TABLE texts (cobid int, id int, note nvarchar(20))")
    for number, text in enumerate(texts):
        source.do("INSERT INTO texts VALUES (1, %s, CONVERT(nvarchar(max), %s) + %s)", number, text[:2], text[2:])
    assert [row[2] for row in source.ask(SEEN.format("texts"))] == texts

    project(source, target, tmp_path, {"texts": "texts"}).run()

    assert [row[2] for row in target.ask(SEEN.format("texts"))] == texts


def test_identity_columns_are_never_updated(source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path):
    """A merge updates a row without updating its identity column."""
    target.do("CREATE TABLE numbered (cobid int, id int IDENTITY(1, 1), note nvarchar(20))")
    settings = {"numbered": {"kind": "static", "primary_keys": ["note"]}}
    project = Tidegate(source=source.url, target=target.url, lake=tmp_path, tables=settings, spark=OneProcess())  # type: ignore[arg-type]
    project.run()
    source.do("UPDATE numbered SET cobid = 7 WHERE id = 2")

    project.run()

    assert target.ask(SEEN.format("numbered")) == [(1, 1, "row 1"), (7, 2, "row 2"), (2, 3, "row 3")]


def test_foreign_key_violation_keeps_loaded_rows(source: SqlServerWitness, target: SqlServerWitness, tmp_path: Path):
    """When a foreign key refuses a row, its value is rolled back, other values are loaded, and the next run
    completes."""
    target.do("CREATE TABLE ids (id int PRIMARY KEY)")
    target.do("INSERT INTO ids VALUES (1), (2)")
    target.do(TARGETS["with_reference"].format("with_reference"))

    with pytest.raises(RunFailed, match=r"\(error 547\)"):
        project(source, target, tmp_path, {"with_reference": "plain"}).run()

    assert target.ask(SEEN.format("with_reference")) == ROWS[:2], "the value that fits arrived whole"
    target.do("INSERT INTO ids VALUES (3)")
    project(source, target, tmp_path, {"with_reference": "plain"}).run()
    assert target.ask(SEEN.format("with_reference")) == ROWS
