"""Every statement that SQL Server gets from us, read by Microsoft's own parser. Parsing is not running."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kit.scriptdom import NoScriptDom, problems
from sql.recorders import SqlServerRecorder
from tidegate.model.names import TableName

HERE = Path(__file__).parent
STATEMENTS = sorted((HERE / "golden" / "sqlserver").glob("*.sql"))
SCRIPTS = sorted((HERE / "scripts" / "sqlserver").glob("*.sql"))
OLDEST = 2016


@pytest.fixture(scope="module", autouse=True)
def parser() -> None:
    try:
        problems("SELECT 1")
    except NoScriptDom as absence:
        if os.environ.get("TIDEGATE_TEST_EVERYTHING"):
            raise
        pytest.skip(str(absence))


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.stem)
def test_a_statement_is_t_sql_of_the_oldest_server_that_we_know(path: Path):
    text = path.read_text()

    assert problems(text, year=OLDEST) == []
    assert "\nGO\n" not in f"\n{text}\n", "GO is a word of clients, not of T-SQL"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_every_statement_of_a_whole_run_is_t_sql(path: Path):
    """Each was a batch of its own, and may declare what another one declared."""
    batches = path.read_text().split(";\n")
    assert [problem for batch in batches for problem in problems(batch, year=OLDEST)] == []


def test_there_are_statements_to_read():
    assert len(STATEMENTS) > 50
    assert len(SCRIPTS) == 6


def test_procedures_of_snapshots_are_t_sql():
    """They are created by EXEC of a text, which the parser would take for a literal."""
    table, register = TableName("dbo", "ORDERS_UNIFIED_SNAPSHOT"), TableName("tidegate", "snapshots")
    [migration] = SqlServerRecorder.database.snapshot_procedures(table, register, "")
    texts = [dict(each.holes)["text"].value for each in migration.statements if "text" in dict(each.holes)]
    assert len(texts) == 2
    for text in texts:
        assert problems(text, year=OLDEST) == []
