"""Complete runs as SQL Server scripts in tests/sql/scripts/sqlserver, for an expert to review.

A run against a server that speaks TDS (`TIDEGATE_TEST_SQLSERVER`) writes them, again with `TIDEGATE_UPDATE_GOLDEN=1`.
Microsoft's parser reads them in every test run (`tests/sql/test_grammar.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from conformance.servers import sqlserver
from conformance.servers.postgresql import Absent
from kit.one_process import OneProcess
from kit.sqlserver_script import written_down
from kit.sqlserver_witness import SqlServerWitness
from kit.summary import GAPS
from tidegate import Tidegate

SCRIPTS = Path(__file__).parents[1] / "sql" / "scripts" / "sqlserver"
TABLES: dict[str, dict[str, object]] = {
    "trades": {"kind": "partition", "partition_column": "cob"},
    "customers": {"kind": "scd2", "business_keys": ["id"], "initial_load": "full"},
    "codes": {"kind": "static", "primary_keys": ["code"]},
}
UPDATE = os.environ.get("TIDEGATE_UPDATE_GOLDEN") == "1"


@pytest.fixture
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[SqlServerWitness, SqlServerWitness]]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(sqlserver.running())
        except Absent as absence:
            request.config.stash[GAPS][str(absence)] += 1
            pytest.skip(str(absence))
        found = [stack.enter_context(SqlServerWitness(stack.enter_context(server.database()))) for _ in range(2)]
        yield found[0], found[1]


def test_run_scripts_equal_the_golden_files(
    sides: tuple[SqlServerWitness, SqlServerWitness], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The statements of each kind of run equal the stored script."""
    source, target = sides
    source.do("CREATE TABLE trades (cob int NOT NULL, id int NOT NULL, note nvarchar(20) NULL, PRIMARY KEY (cob, id))")
    source.do("INSERT INTO trades VALUES (20240131, 1, N'it''s'), (20240131, 2, NULL)")

    def side_of(login: str) -> str:
        return "source" if source.url.partition("?")[0].rpartition("/")[2] in login else "target"

    source.do("CREATE TABLE customers (id int NOT NULL, name nvarchar(20), LastModified datetime2(3), IsLatest bit)")
    source.do("INSERT INTO customers VALUES (1, N'first', '2024-01-30', 1), (2, N'other', '2024-01-30', 1)")
    source.do("CREATE TABLE codes (code varchar(3) PRIMARY KEY, label nvarchar(20))")
    source.do("INSERT INTO codes VALUES ('EUR', N'Euro'), ('USD', N'Dollar')")

    def tidegate(table: str = "trades") -> Tidegate:
        return Tidegate(
            source=source.url,
            target=target.url,
            lake=tmp_path,
            tables={table: TABLES[table]},
            max_connections=1,
            spark=OneProcess(),  # type: ignore[arg-type]
        )

    def restated() -> None:
        source.do("INSERT INTO trades VALUES (20240131, 3, N'late')")
        tidegate().run()

    def without_ledger() -> None:
        target.do("DELETE FROM tidegate.ledger")
        tidegate().run()

    def versions() -> None:
        tidegate("customers").run()
        source.do("UPDATE customers SET IsLatest = 0 WHERE id = 1")
        source.do("INSERT INTO customers VALUES (1, N'second', '2024-01-31', 1)")

    def reference() -> None:
        tidegate("codes").run()
        source.do("UPDATE codes SET label = N'US dollar' WHERE code = 'USD'")

    steps: dict[str, Callable[[], object]] = {
        "1_first_load": lambda: tidegate().run(),
        "2_a_value_was_restated": restated,
        "3_verify": lambda: tidegate().verify(),
        "4_the_ledger_was_lost": without_ledger,
        "5_a_version_came": lambda: tidegate("customers").run(),
        "6_a_static_table_changed": lambda: tidegate("codes").run(),
    }
    before = {"5_a_version_came": versions, "6_a_static_table_changed": reference}
    changed = []
    for name, step in steps.items():
        before.get(name, lambda: None)()
        with written_down(monkeypatch, side_of) as script:
            step()
        path = SCRIPTS / f"{name}.sql"
        if UPDATE:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(script.text())
        changed += [name] if path.read_text() != script.text() else []
    assert changed == []
