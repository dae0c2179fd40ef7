"""Load: what a task brings to the target from an entry, and how it ends when a commit has no answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kit.filebase import SCHEMA, Filebase, FilebaseSession
from tidegate.errors import LakeError, OutcomeUnknown, Transient, Unsupported, ValueProblem
from tidegate.hashing.rows import receipt_of
from tidegate.interfaces import ReadRequest
from tidegate.interfaces.lake import EntryFacts, LakeTable, Layout
from tidegate.interfaces.load import LoadTask
from tidegate.interfaces.worker import Progress, SessionCache, Worker
from tidegate.lakes.parquet import ParquetLake
from tidegate.loads.replace_partition import ReplacePartition
from tidegate.model.columns import Column
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import PartitionToken
from tidegate.model.values import Value, ValueKind
from tidegate.runs.load_split import LoadSplit
from tidegate.runs.window import WindowLoad
from tidegate.sql.partitions import has_value
from tidegate.state import lock
from tidegate.state.ledger import Ledger

RUN = "r-1"
TRADES = LakeTable(TableName("", "trades"), Layout.VALUES, "day")
NAME = TableName(SCHEMA, "trades")


@pytest.fixture
def target(tmp_path: Path) -> Filebase:
    """A target with an empty table, a ledger, and a lock that this run took."""
    path = tmp_path / "target.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE trades (day int, id int NOT NULL, note text)")
    database = Filebase(Connection("filebase", "", 0, str(path)[1:]))
    with database.connect("test") as session:
        Ledger(session).create()
        lock.take(session, str(NAME), RUN)
    return database


@pytest.fixture
def lake(tmp_path: Path) -> ParquetLake:
    made = ParquetLake.at(tmp_path / "lake")
    made.begin(RUN)
    return made


@pytest.fixture
def worker() -> Iterator[Worker]:
    with closing(SessionCache()) as sessions:
        yield Worker("7", Progress(), sessions)


def columns_of(target: Filebase) -> tuple[Column, ...]:
    with target.connect("test") as session:
        return session.table_schemas([NAME])[NAME].columns


def entry_of(
    lake: ParquetLake,
    day: int,
    *parts: list[int | None],
    names: tuple[str, ...] = ("day", "id", "note"),
    replaces: str = "",
) -> LakeEntry:
    """Return a committed entry with a part for each list of ids."""
    batches, written = [], []
    for number, ids in enumerate(parts):
        every = {
            "day": pa.array([day] * len(ids), pa.int32()),
            "id": pa.array(ids, pa.int32()),
            "note": pa.array([f"note {one}" for one in ids]),
            "gone": pa.array([7] * len(ids), pa.int32()),
        }
        batches.append(pa.record_batch({name: every[name] for name in names}))
        writer = lake.writer(TRADES, RUN, f"{day}.{number}", batches[-1].schema)
        writer.write(batches[-1])
        written.append(writer.close(facts_of(day, batches[-1:])))
    return lake.commit(TRADES, str(day), written, replaces, facts_of(day, batches))[0]


def facts_of(day: int, batches: list[pa.RecordBatch]) -> EntryFacts:
    receipt, names = receipt_of(batches), tuple(batches[0].schema.names)
    types = tuple("string" if name == "note" else "int32" for name in names)
    scope = Scope().to_json()
    return EntryFacts(
        str(day), receipt.rows, receipt.hash, names, "id", types, (), PartitionToken(), RUN, "new", "2024-01-31", scope
    )


def window_of(target: Filebase, lake: ParquetLake, entry: LakeEntry, day: int) -> WindowLoad:
    columns = columns_of(target)
    window = Value.of(day, ValueKind.INTEGER)
    task = LoadTask(
        table=str(NAME),
        request=ReadRequest(NAME, columns, has_value(columns[0], window)),
        window=window,
        entry=LedgerEntry(generation=1, kind="loaded", rows=0, hash="", run=RUN),
    )
    return WindowLoad(task, lake, TRADES, entry.id)


def split_of(target: Filebase, *windows: WindowLoad, **changes: Any) -> LoadSplit:
    load = ReplacePartition(SimpleNamespace(proof="hash"), ("id",), columns_of(target)[0])
    return replace(LoadSplit(target, load, windows), **changes)


def rows_in(target: Filebase) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(target.path)) as connection:
        return connection.execute("SELECT day, id, note FROM trades ORDER BY day, id").fetchall()


def ledger_of(target: Filebase) -> dict[str, tuple[int, int]]:
    with target.connect("test") as session:
        return {value: (entry.generation, entry.rows) for value, entry in Ledger(session).entries(str(NAME)).items()}


@pytest.mark.parametrize("parts", [[[1, 2, 3]], [[1], [2, 3]]], ids=["one part", "two parts"])
def test_window_is_loaded_with_its_ledger_row(
    target: Filebase, lake: ParquetLake, worker: Worker, parts: list[list[int | None]]
):
    """The parts of a window arrive in one transaction and are proved together."""
    window = window_of(target, lake, entry_of(lake, 5, *parts), 5)

    result = split_of(target, window).run(worker)

    assert [(loaded.result, loaded.rows) for loaded in result.loaded] == [("loaded", 3)]
    assert rows_in(target) == [(5, number, f"note {number}") for number in (1, 2, 3)]
    assert (ledger_of(target), worker.progress.rows) == ({"5": (1, 3)}, 3)


def test_repeated_task_loads_nothing_twice(target: Filebase, lake: ParquetLake, worker: Worker):
    """Spark may run a task again after its commit."""
    split = split_of(target, window_of(target, lake, entry_of(lake, 5, [1, 2]), 5))
    split.run(worker)

    assert [loaded.result for loaded in split.run(worker).loaded] == ["done before"]
    assert (len(rows_in(target)), ledger_of(target)) == (2, {"5": (1, 2)})


def test_newer_entry_replaces_the_rows(target: Filebase, lake: ParquetLake, worker: Worker):
    older = entry_of(lake, 5, [1, 2])
    split_of(target, window_of(target, lake, older, 5)).run(worker)
    newer = entry_of(lake, 5, [2], [3], [4], replaces=older.etag)
    split_of(target, window_of(target, lake, newer, 5)).run(worker)

    assert [number for _, number, _ in rows_in(target)] == [2, 3, 4]
    assert ledger_of(target) == {"5": (2, 3)}


def test_broken_entry_is_not_loaded(target: Filebase, lake: ParquetLake, worker: Worker):
    entry = entry_of(lake, 5, [1])
    place = Path(lake.place, entry.id)
    place.write_bytes(place.read_bytes()[:-10])

    with pytest.raises(LakeError, match=r"cannot be used: .*\n.*\nRun again: it is extracted anew"):
        split_of(target, window_of(target, lake, entry, 5)).run(worker)
    assert (rows_in(target), ledger_of(target)) == ([], {})


def test_column_that_left_the_source_is_left_out(target: Filebase, lake: ParquetLake, worker: Worker):
    """An older entry has a column more. The ledger records the hash of those that are loaded."""
    entry = entry_of(lake, 5, [1, 2], names=("day", "gone", "id", "note"))
    window = window_of(target, lake, entry, 5)
    task = window.prepared()

    assert task.entry.columns == ("day", "id", "note")
    assert task.entry.hash != entry.hash
    split_of(target, window).run(worker)
    assert rows_in(target) == [(5, 1, "note 1"), (5, 2, "note 2")]


def test_null_that_the_target_refuses_is_named(target: Filebase, lake: ParquetLake, worker: Worker):
    with pytest.raises(ValueProblem, match="column id came with a null, which the target's column does not take"):
        split_of(target, window_of(target, lake, entry_of(lake, 5, [1, None]), 5)).run(worker)
    assert (rows_in(target), ledger_of(target)) == ([], {})


def test_too_many_rows_for_one_transaction_are_refused(target: Filebase, lake: ParquetLake, worker: Worker):
    """A single window is allowed any size here: planning refused it before."""
    windows = [window_of(target, lake, entry_of(lake, day, [1, 2]), day) for day in (5, 6)]

    with pytest.raises(Unsupported, match=r"They have 4 rows, `max_apply_rows` allows 3\."):
        split_of(target, *windows, max_rows=3).run(worker)
    assert rows_in(target) == []
    assert len(split_of(target, *windows, max_rows=4).run(worker).loaded) == 2
    assert ledger_of(target) == {"5": (1, 2), "6": (1, 2)}


class LosingSession(FilebaseSession):
    """Loses the answer to a commit: of one that was done, or of one that was not."""

    is_done = True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        yield
        self._run("COMMIT" if self.is_done else "ROLLBACK")
        raise OutcomeUnknown("the connection was lost")


class Losing(Filebase):
    is_done = True

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> FilebaseSession:
        kind = LosingSession if purpose == "load" else FilebaseSession
        session = kind(self, self.path, read_only=read_only, query_timeout=query_timeout)
        vars(session)["is_done"] = self.is_done
        return session


@pytest.mark.parametrize("is_done", [True, False])
def test_commit_without_an_answer_is_looked_up(target: Filebase, lake: ParquetLake, worker: Worker, is_done: bool):
    """The ledger tells whether the commit happened. If not, the task may be repeated as a whole."""
    losing = Losing(target.connection)
    losing.is_done = is_done
    split = split_of(losing, window_of(target, lake, entry_of(lake, 5, [1]), 5))

    if is_done:
        assert [loaded.result for loaded in split.run(worker).loaded] == ["loaded"]
    else:
        with pytest.raises(Transient, match="the connection was lost before the commit"):
            split.run(worker)
    assert ledger_of(target) == ({"5": (1, 1)} if is_done else {})
