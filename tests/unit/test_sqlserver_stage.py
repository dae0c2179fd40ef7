"""How rows come to a stage of SQL Server, and what is done when not all of them arrive. No server is needed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext

import pyarrow as pa
import pytest

from sql.recorders import SqlServerRecorder
from tidegate.databases.sqlserver import SqlServer, stage
from tidegate.databases.sqlserver.types import logical_type
from tidegate.errors import DatabaseError
from tidegate.interfaces import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.staged import update_from_stage
from tidegate.sql.text import render

COLUMNS = [
    Column(name, kind, logical_type(kind).storage_type, logical_type=logical_type(kind))
    for name, kind in (("id", "int"), ("n", "int"))
]


class Server(SqlServerRecorder):
    """Takes rows as a server does, but for what it is told to lose."""

    loses_row = False
    loses_column = False

    def _copy(self, table: str, batches: Iterable[pa.RecordBatch], **options: object) -> None:
        super()._copy(table, batches, **options)
        rows, first, second = self._copied
        self._copied = [rows - self.loses_row, first - self.loses_row, 0 if self.loses_column else second]


def rows(count: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(range(count), pa.int32()), "n": pa.array([7] * count, pa.int32())})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    found = Server()
    found.install(monkeypatch)
    return found


def written(server: Server, *batches: pa.RecordBatch) -> list[str]:
    with server.database.connect("test") as session:
        session.write(TableName("dbo", "t"), COLUMNS, iter(batches))
    return [text for text in server.sent if text.startswith(("-- bulk copy", "INSERT INTO [tidegate]"))]


def test_the_shapes_of_no_tables_ask_nothing(server: Server):
    with server.database.connect("test") as session:
        server.sent.clear()
        assert session.table_schemas([]) == {}
    assert server.sent == []


@pytest.mark.parametrize("is_open", [True, False], ids=["in a transaction", "outside of one"])
def test_an_answer_is_heard_out_where_giving_it_up_would_end_a_transaction(
    is_open: bool, monkeypatch: pytest.MonkeyPatch
):
    server = Server(answers={"in Arrow": [rows(1), rows(1), rows(1)]})
    server.install(monkeypatch)
    with server.database.connect("test") as session, session.transaction() if is_open else nullcontext():
        for _ in session.read(ReadRequest(TableName("dbo", "t"), tuple(COLUMNS))):
            break
        assert len(server._arrow) == (0 if is_open else 2)


def test_an_update_leaves_what_counts_by_itself_and_the_places_of_the_others():
    key, *others = (Column(name, "int", "int32", identity=name == "number") for name in ("id", "number", "n"))
    table = TableName("dbo", "t")
    statement = update_from_stage(
        table, TableName("", "#s"), [key], others, identity=SqlServer.capabilities.updates_identity
    )
    assert "SET [n] = s.[tidegate_2] FROM" in render(statement, SqlServer.dialect)
    kept = update_from_stage(table, TableName("", "#s"), [key], others)
    assert "SET [number] = s.[tidegate_1], [n] = s.[tidegate_2] FROM" in render(kept, SqlServer.dialect)


def test_few_rows_are_inserted_and_many_are_copied(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stage, "FEW_ROWS", 1)
    assert [text[:30] for text in written(server, rows(1))] == ["INSERT INTO [tidegate].[stage_"]
    server.sent.clear()
    assert [text[:12] for text in written(server, rows(2))] == ["-- bulk copy"]


def test_a_second_batch_or_many_bytes_are_not_few(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(stage, "FEW_ROWS", 100)
    assert [text[:12] for text in written(server, rows(2), rows(2))] == ["-- bulk copy"]
    server.sent.clear()
    monkeypatch.setattr(stage, "FEW_BYTES", 8)
    assert [text[:12] for text in written(server, rows(2))] == ["-- bulk copy"]


def test_a_session_looks_once_for_stages_of_the_dead(server: Server):
    with server.database.connect("test") as session:
        for _ in range(3):
            session.write(TableName("dbo", "t"), COLUMNS, iter([rows(2)]))
    assert len([text for text in server.sent if text.startswith("SELECT t.name FROM sys.tables")]) == 1


def test_a_row_that_does_not_arrive_ends_the_load_before_it_begins(server: Server):
    server.loses_row = True
    with pytest.raises(DatabaseError, match=r"dbo\.t: 2 of 3 rows arrived at the server\."):
        written(server, rows(3))
    assert not any("INSERT INTO [dbo]" in text for text in server.sent)


def test_a_column_that_does_not_arrive_is_named(server: Server):
    server.loses_column = True
    with pytest.raises(DatabaseError, match=r"dbo\.t: 3 of 3 rows arrived at the server, and not every value of n\."):
        written(server, rows(3))
    assert not any("INSERT INTO [dbo]" in text for text in server.sent)
