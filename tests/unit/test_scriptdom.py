"""The T-SQL parser that checks generated statements, without any code of Tidegate."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kit.processes import CAN_SEE, below, command_line, wait_until
from kit.scriptdom import NoScriptDom, problems

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
OWNER = """
import sys
from kit.scriptdom import problems
print(problems("SELECT 1"), flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def found() -> Callable[..., list[str]]:
    try:
        problems("")
    except NoScriptDom as absence:
        if os.environ.get("TIDEGATE_TEST_EVERYTHING"):
            raise
        pytest.skip(str(absence))
    return problems


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE [dbo].[orders_in] SWITCH PARTITION $PARTITION.pf_day('2024-01-31') TO [dbo].[orders] PARTITION 3;",
        "ALTER TABLE s SWITCH PARTITION 2 TO t PARTITION 2 "
        "WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF));",
        "ALTER PARTITION SCHEME ps NEXT USED [PRIMARY]; ALTER PARTITION FUNCTION pf() SPLIT RANGE ('2024-02-01');",
        "TRUNCATE TABLE t WITH (PARTITIONS (2, 6 TO 8));",
        "INSERT INTO t WITH (TABLOCK) (a, b) SELECT a, b FROM s;",
        "DECLARE @rc int; EXEC @rc = sp_getapplock @Resource = N'tidegate', @LockMode = 'Exclusive', "
        "@LockOwner = 'Session', @LockTimeout = 0; IF @rc < 0 THROW 50001, N'taken', 1;",
        "BEGIN TRY BEGIN TRAN; DELETE FROM t; COMMIT; END TRY "
        "BEGIN CATCH IF XACT_STATE() <> 0 ROLLBACK; THROW; END CATCH;",
        "SELECT HASHBYTES('SHA2_256', CONCAT(CONVERT(nvarchar(max), a), N'|')) FROM t;",
        "DECLARE @out TABLE (a int); DELETE TOP (5000) FROM t OUTPUT deleted.a INTO @out (a);",
        "UPDATE t SET a = s.a FROM t JOIN s ON t.id = s.id WHERE EXISTS (SELECT s.a, s.b EXCEPT SELECT t.a, t.b);",
        "MERGE t WITH (HOLDLOCK) USING s ON t.a = s.a WHEN MATCHED THEN DELETE OUTPUT $action, deleted.a;",
        "SELECT c.a FROM CHANGETABLE(CHANGES dbo.t, 7) AS c;",
        'SELECT [a]]b], [sel ect], "from" FROM [my]]schema].[my table];',
        "SELECT N'it''s é🙂', 0x00FF, CONVERT(datetime2(7), '9999-12-31T23:59:59.9999999', 126);",
        "CREATE TABLE t (a int);\nGO\nCREATE VIEW v AS SELECT a FROM t;",
        "",
    ],
)
@pytest.mark.parametrize("year", [2016, 2019])
def test_valid_statements_have_no_errors(found, sql: str, year: int):
    """Valid statements are parsed without errors by the grammar of each year."""
    assert found(sql, year) == []


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "MERGE t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
            ["line 1, column 1: A MERGE statement must be terminated by a semi-colon (;) (46097)"],
        ),
        ("SELECT a FROM t LIMIT 3", ["line 1, column 17: Incorrect syntax near LIMIT. (46010)"]),
        ("SELECT a || b FROM t", ["line 1, column 11: Incorrect syntax near |. (46010)"]),
        ("CREATE TABLE IF NOT EXISTS t (a int)", ["line 1, column 14: Incorrect syntax near IF. (46010)"]),
        ("CREATE TABLE t AS SELECT 1 AS a", ["line 1, column 19: Incorrect syntax near SELECT. (46010)"]),
        ("ALTER TABLE s\nSWITHC TO t", ["line 2, column 1: Incorrect syntax near SWITHC. (46010)"]),
        ("SELECT 1;\n\n  SELECT [a]b] FROM t", ["line 3, column 14: Incorrect syntax near ]. (46010)"]),
        (
            "SELECT FROM t;\nDELETE t LIMIT 1",
            [
                "line 1, column 8: Incorrect syntax near FROM. (46010)",
                "line 2, column 10: Incorrect syntax near LIMIT. (46010)",
            ],
        ),
    ],
)
def test_errors_have_line_and_column(found, sql: str, told: list[str]):
    """Each syntax error is reported with its line, column and number."""
    assert found(sql) == told


def test_grammar_depends_on_the_year(found):
    """A statement that SQL Server 2017 introduced is an error in the grammar of 2016."""
    trim = "SELECT TRIM('.' FROM a) FROM t"

    assert [bool(found(trim, year)) for year in (2016, 2017, 2019)] == [True, False, False]


def test_parser_restarts_after_a_crash(found):
    """A statement that crashes the parser raises an error, and the next statement is parsed."""
    with pytest.raises(RuntimeError, match=r"^ScriptDom ended over this statement: "):
        found("SELECT '\ud800'")

    assert found("SELECT 1") == []


@pytest.mark.skipif(not CAN_SEE, reason="other processes cannot be seen without /proc")
@pytest.mark.parametrize("how", [None, signal.SIGINT, signal.SIGKILL])
def test_parser_ends_with_its_owner(found, how: signal.Signals | None):
    """However the owning process ends, the parser process ends."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=ENVIRONMENT,
    )
    assert owner.stdout is not None and owner.stdout.readline() == "[]\n"
    (parser,) = below(owner.pid)
    assert "scriptdom" in command_line(parser)

    if how is not None:
        owner.send_signal(how)
    owner.communicate(timeout=60)

    wait_until(lambda: not command_line(parser), "the parser has ended")


def test_missing_parser_is_one_sentence(tmp_path: Path):
    """When the parser cannot be downloaded, the error says so in one sentence and no file is left."""
    nowhere = {"XDG_CACHE_HOME": str(tmp_path), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}

    done = subprocess.run([sys.executable, "-c", OWNER], env=ENVIRONMENT | nowhere, capture_output=True, text=True)

    assert done.stderr.splitlines()[-1] == (
        "kit.scriptdom.NoScriptDom: ScriptDom, the parser of T-SQL, is not here and could not be fetched "
        "(ERROR: No matching distribution found for mssql-cli==1.0.0): "
        "on Linux with x86-64, let the pip of a Python from 3.10 to 3.13 reach its package index once."
    )
    assert [path.suffix for path in (tmp_path / "tidegate").iterdir()] == [".lock"]
