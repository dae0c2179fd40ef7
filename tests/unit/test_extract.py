"""Extract: what one task writes, how a window is divided, and how its parts become one entry again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kit.filebase import SCHEMA, Filebase, FilebaseSession
from tidegate.databases._key_ranges import split_by_key
from tidegate.errors import LakeError, Transient
from tidegate.interfaces import BatchSize, ReadRequest
from tidegate.interfaces.change import Extraction
from tidegate.interfaces.check import Snapshot
from tidegate.interfaces.lake import KEYS, ROWS, LakeTable, Layout
from tidegate.interfaces.splits import Divisible
from tidegate.interfaces.worker import Progress, SessionCache, Worker
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.connection import Connection
from tidegate.model.names import TableName
from tidegate.model.plan import Extract
from tidegate.model.receipt import Receipt
from tidegate.model.scope import Scope
from tidegate.model.tokens import ContentToken, PartitionToken
from tidegate.model.values import Value, ValueKind
from tidegate.runs.division import Window, _divisible, divided, mark_of
from tidegate.runs.extract_split import Extracted, ExtractSplit, RequireLoadable, joined
from tidegate.spark.executor import SplitOutcome
from tidegate.sql.text import raw

ROWS_THERE, RUN = 40, "r-1"
TRADES = LakeTable(TableName("", "trades"), Layout.VALUES, "day")
DAY = Value.of(1, ValueKind.INTEGER)


class DividingSession(FilebaseSession):
    """Divides a table by its key, and tells by the file's own counter whether somebody changed it."""

    def split(self, window: Divisible, parts: int) -> list[ReadRequest]:
        return split_by_key(self, window, parts)

    def change_mark(self, window: Divisible) -> str:
        return "" if self._path.with_suffix(".busy").exists() else str(self._rows("SELECT max(note) FROM trades"))


class Dividing(Filebase):
    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> FilebaseSession:
        return DividingSession(self, self.path, read_only=read_only, query_timeout=query_timeout)


class Loadable:
    """A load that takes notes of the rows that it is asked about."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def require_loadable(self, request: ReadRequest, batches: Any) -> None:
        self.seen += [row for batch in batches() for row in batch["id"].to_pylist()]


@pytest.fixture
def source(tmp_path: Path) -> Dividing:
    path = tmp_path / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE trades (id int PRIMARY KEY, note text)")
        rows = [(number, f"note {number}") for number in range(ROWS_THERE)]
        connection.executemany("INSERT INTO trades VALUES (?, ?)", rows)
        connection.commit()
    return Dividing(Connection("filebase", "", 0, str(path)[1:]))


@pytest.fixture
def lake(tmp_path: Path) -> ParquetLake:
    made = ParquetLake.at(tmp_path / "lake")
    made.begin(RUN)
    return made


@pytest.fixture
def worker() -> Iterator[Worker]:
    with closing(SessionCache()) as sessions:
        yield Worker("7", Progress(), sessions)


def request_of(source: Dividing, rows: str = "") -> ReadRequest:
    name = TableName(SCHEMA, "trades")
    with source.connect("test") as session:
        columns = session.table_schemas([name])[name].columns
    return ReadRequest(name, columns, raw(rows) if rows else None)


def split_of(source: Dividing, lake: ParquetLake, rows: str = "", **changes: Any) -> ExtractSplit:
    request = request_of(source, rows)
    load = changes.pop("load", Loadable())
    extraction = Extraction(request, PartitionToken(), **changes.pop("extraction", {}))
    split = ExtractSplit(
        database=source,
        extraction=extraction,
        request=request,
        snapshot=Snapshot(),
        lake=lake,
        table=TRADES,
        load=cast(Any, load),
        name="1-1",
        run_id=RUN,
        window="1",
        why="new in the source",
        scope=Scope().to_json(),
    )
    return replace(split, **changes)


def ids_in(lake: ParquetLake, *ids: str) -> list[int]:
    found = [lake.read(TRADES, part, BatchSize(rows=7)) for part in ids]
    return [row for batches in found for batch in batches for row in batch["id"].to_pylist()]


# In a task


def test_task_writes_rows_with_their_facts(source: Dividing, lake: ParquetLake, worker: Worker):
    load = Loadable()
    extracted = split_of(source, lake, "id < 10", load=load).run(worker)

    [part] = extracted.parts
    assert (part.rows, extracted.receipt.rows, worker.progress.rows) == (10, 10, 10)
    assert ids_in(lake, part.id) == load.seen == list(range(10))
    assert extracted.facts.hash == extracted.receipt.hash
    assert (extracted.facts.columns, extracted.facts.text_columns) == (("id", "note"), ())
    entry, _ = lake.commit(TRADES, "1", extracted.parts, facts=extracted.facts)
    assert (entry.rows, entry.hash) == (10, extracted.receipt.hash)


def test_attempts_of_one_task_write_files_of_their_own(source: Dividing, lake: ParquetLake, worker: Worker):
    """Spark may run a task twice at once. Neither attempt touches the other's file, and one of them is committed."""
    split = split_of(source, lake)
    first, second = split.run(worker), split.run(replace(worker, attempt="8"))

    assert first.parts[0].id != second.parts[0].id
    assert first.receipt == second.receipt
    lake.commit(TRADES, "1", second.parts)
    lake.end(RUN)
    assert [entry.rows for entry in lake.entries(TRADES, {}).by_window.values()] == [ROWS_THERE]


def test_question_for_the_next_plan_is_kept_in_the_token(source: Dividing, lake: ParquetLake, worker: Worker):
    extracted = split_of(source, lake, extraction={"fingerprint": raw("SELECT max(id) FROM trades")}).run(worker)
    assert extracted.facts.token == PartitionToken("39")


def test_watched_columns_make_the_token(source: Dividing, lake: ParquetLake, worker: Worker):
    """What is watched is hashed on the way. All columns together have the hash of the rows."""
    every = split_of(source, lake, extraction={"watched": ("id", "note")}).run(worker)
    one = split_of(source, lake, extraction={"watched": ("id",)}).run(worker)

    assert every.watched == every.receipt
    assert one.watched is not None
    assert one.watched.rows == ROWS_THERE
    assert one.watched.hash != one.receipt.hash
    assert one.facts.token == PartitionToken(one.watched.as_text())


def test_keys_are_a_part_of_their_own(source: Dividing, lake: ParquetLake, worker: Worker):
    extracted = split_of(source, lake, "id < 5", extraction={"keys": request_of(source).only(["id"])}).run(worker)

    assert [(part.role, part.rows) for part in extracted.parts] == [(KEYS, ROWS_THERE), (ROWS, 5)]
    assert extracted.compared is not None
    assert extracted.compared.startswith(f"None {ROWS_THERE} ")


def test_rows_that_come_meanwhile_are_noticed(source: Dividing, lake: ParquetLake, worker: Worker):
    """Where no snapshot can be had, a question must have one answer before and after. The task is repeated."""
    with pytest.raises(Transient, match="rows came or went while they were read"):
        split_of(source, lake, extraction={"unchanged": raw("SELECT random()")}).run(worker)


def test_part_that_cannot_be_written_is_a_clear_error(source: Dividing, tmp_path: Path, worker: Worker):
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeError, match="cannot be written: Not a directory"):
        split_of(source, ParquetLake.at(tmp_path / "file")).run(worker)


def test_part_of_a_window_leaves_the_rest_to_the_first(source: Dividing, lake: ParquetLake, worker: Worker):
    """Questions about the window and its keys are asked once, and the load is asked when all parts are there."""
    load = Loadable()
    asked = {
        "fingerprint": raw("SELECT max(id) FROM trades"),
        "keys": request_of(source).only(["id"]),
        "unchanged": raw("SELECT random()"),
    }
    first, second = (
        split_of(source, lake, rows, extraction=asked, load=load, part=part, parts=2, name=f"1-{part}").run(worker)
        for part, rows in ((1, "id < 15"), (2, "id >= 15"))
    )

    assert [len(extracted.parts) for extracted in (first, second)] == [2, 1]
    assert (second.compared, load.seen) == (None, [])
    parts = (*first.parts, *second.parts)
    RequireLoadable(lake, TRADES, cast(Any, load), request_of(source), parts).run(worker)
    assert load.seen == list(range(ROWS_THERE))


def test_parts_add_up_to_the_window(source: Dividing, lake: ParquetLake, worker: Worker):
    """Counts and hashes of parts add up, those of watched columns too. The entry is as old as the oldest part."""
    watched = {"watched": ("id",)}
    whole = split_of(source, lake, extraction=watched).run(worker)
    parts = [
        split_of(source, lake, rows, extraction=watched, part=part, parts=2, name=f"1-{part}").run(worker)
        for part, rows in ((1, "id < 15"), (2, "id >= 15"))
    ]

    found = joined(parts, PartitionToken())

    assert found.receipt == whole.receipt
    assert found.facts.token == whole.facts.token
    assert (found.facts.rows, found.facts.hash) == (ROWS_THERE, whole.receipt.hash)
    assert found.facts.read_at == min(part.facts.read_at for part in parts)
    entry, _ = lake.commit(TRADES, "1", found.parts, facts=found.facts)
    assert (entry.rows, entry.hash, ids_in(lake, entry.id)) == (ROWS_THERE, whole.receipt.hash, list(range(ROWS_THERE)))


# In the driver


def window_of(source: Dividing, rows: int | None, split_rows: int, **extraction: Any) -> Window:
    request = request_of(source)
    with source.connect("test") as session:
        schema = session.table_schemas([request.table])[request.table]
    found = SimpleNamespace(source=schema, settings=SimpleNamespace(split_rows=split_rows))
    state = SimpleNamespace(source={DAY: None, Value.of(2, ValueKind.INTEGER): None})
    planned = cast(Any, SimpleNamespace(table=SimpleNamespace(found=found), key="trades", state=state))
    step = Extract(DAY, "new in the source", rows)
    return Window(planned, step, Extraction(request, ContentToken(), **extraction), [request])


@pytest.mark.parametrize(
    ("rows", "split_rows", "parts"),
    [(40, 10, 4), (40, 20, 2), (40, 21, 1), (39, 20, 1), (None, 10, 1), (0, 10, 1)],
)
def test_window_is_divided_by_its_rows(source: Dividing, rows: int | None, split_rows: int, parts: int):
    """A window of at least twice `split_rows` rows is divided; one that nobody counted is not."""
    found = divided(window_of(source, rows, split_rows), source)

    assert len(found.requests) == parts
    assert bool(found.mark) is found.is_divided
    counts = []
    with source.connect("test") as session:
        for request in found.requests:
            counts.append(sum(batch.num_rows for batch in session.read(request)))
    assert sum(counts) == ROWS_THERE
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize(("fixed", "parts"), [((), 4), (("day",), 2)], ids=["whole table", "one of two values"])
def test_window_that_nobody_counted_is_estimated(source: Dividing, fixed: tuple[str, ...], parts: int):
    """The catalog's estimate is divided by the number of values."""
    window = window_of(source, None, 10, fixed=fixed)
    window.planned.table.found.source = replace(window.planned.table.found.source, row_estimate=ROWS_THERE)
    divisible, found = _divisible(window)

    assert divisible is not None
    assert (divisible.rows, found) == (10 * parts, parts)


def test_rows_of_the_target_are_not_divided(source: Dividing):
    assert not divided(window_of(source, 40, 10, from_target=True), source).is_divided


def test_table_that_is_written_to_is_not_divided(source: Dividing):
    """Each task would show another moment. One snapshot shows all of one moment."""
    source.path.with_suffix(".busy").touch()
    assert not divided(window_of(source, 40, 10), source).is_divided


def test_server_that_cannot_divide_gives_one_request(source: Dividing):
    """What is wrong with the server shows when the window is read."""
    window = window_of(source, 40, 10)
    source.path.unlink()
    assert divided(window, source) is window


def test_change_of_the_table_changes_the_mark(source: Dividing):
    window = divided(window_of(source, 40, 10), source)
    assert mark_of(window, source) == window.mark
    with closing(sqlite3.connect(source.path)) as connection:
        connection.execute("UPDATE trades SET note = 'z' WHERE id = 3")
        connection.commit()
    assert mark_of(window, source) != window.mark

    window.read_again_as_a_whole()
    assert (window.requests, window.missing, window.mark) == ([window.extraction.request], [1], "")


def told(text_columns: tuple[str, ...] = ()) -> Extracted:
    return Extracted((), Receipt.EMPTY, cast(Any, SimpleNamespace(text_columns=text_columns)))


def done(window: Window, texts: Mapping[int, tuple[str, ...]]) -> None:
    window.running = len(texts)
    for part, names in texts.items():
        window.take(part, SplitOutcome(part, told(names), seconds=2.0))


@pytest.mark.parametrize(
    ("texts", "again"),
    [
        ({1: (), 2: (), 3: ()}, []),
        ({1: (), 2: ("note",), 3: ()}, [1, 3]),
        ({1: ("id",), 2: ("note",), 3: ("note", "id")}, [1, 2]),
        ({1: ("id", "note"), 2: ("note", "id"), 3: ("note", "id")}, []),
    ],
    ids=["no text", "one part met a text", "two did", "another order"],
)
def test_parts_are_read_alike(source: Dividing, texts: dict[int, tuple[str, ...]], again: list[int]):
    """Parts that were read with other columns as text are read again, with all of these columns as text."""
    window = window_of(source, 40, 10)
    window.requests = [request_of(source)] * 3
    done(window, texts)

    assert window.read_again_as_text() is bool(again)
    assert window.missing == again
    wanted = {name for names in texts.values() for name in names}
    assert all(set(request.text_columns) == wanted for request in window.requests)


def test_window_remembers_the_first_error(source: Dividing):
    window = window_of(source, 40, 10)
    window.requests, window.running = [request_of(source)] * 2, 2
    window.take(1, SplitOutcome(1, error=LakeError("no room"), seconds=1.0))
    window.take(2, SplitOutcome(2, error=LakeError("no room either"), seconds=3.0))

    assert str(window.error) == "no room"
    assert (window.running, window.missing) == (0, [1, 2])
    assert (window.elapsed(4), window.elapsed(1)) == (2.0, 4.0)
