"""Entries of several parts: folders that appear whole, replace files and are replaced by them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidegate.errors import LakeError
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, LakeTable, Layout, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes import _folders, _paths, parquet
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import PartitionToken

RUN = "run"
ORDERS = LakeTable(TableName("", "orders"), Layout.VALUES, "cobid")
RATES = LakeTable(TableName("", "rates"), Layout.WHOLE, "static")
CLIENTS = LakeTable(TableName("", "clients"), Layout.LOG, "scd")
NEWEST = "2024-01-31-10-00-00"
LAYOUTS = [(ORDERS, "1"), (RATES, "all rows"), (CLIENTS, NEWEST)]


@pytest.fixture
def lake(tmp_path: Path) -> ParquetLake:
    made = ParquetLake.at(tmp_path / "lake")
    made.begin(RUN)
    return made


def facts(window: str, rows: int, read_at: str = "2024-01-31T10:00:00+00:00") -> EntryFacts:
    return EntryFacts(
        window,
        rows,
        "c" * 32,
        ("id",),
        "columns",
        ("int64",),
        (),
        PartitionToken("7"),
        RUN,
        "new",
        read_at,
        Scope().to_json(),
    )


def write(lake: ParquetLake, table: LakeTable, window: str, name: str, *ids: int, role: str = ROWS) -> Part:
    rows = pa.record_batch({"id": pa.array(ids, pa.int64())})
    writer = lake.writer(table, RUN, name, rows.schema, role)
    writer.write(rows)
    return writer.close(facts(window, len(ids)))


def put(lake: ParquetLake, table: LakeTable, window: str, *parts: tuple[int, ...], **told: Any) -> LakeEntry:
    """Return a committed entry with a part for each tuple of ids."""
    names = [f"{window}.{number}.{sum(part)}" for number, part in enumerate(parts)]
    written = [write(lake, table, window, name, *part) for name, part in zip(names, parts, strict=True)]
    rows = sum(len(part) for part in parts)
    return lake.commit(table, window, written, facts=facts(window, rows), **told)[0]


def ids_in(lake: ParquetLake, table: LakeTable, entry: LakeEntry, role: str = ROWS) -> list[int]:
    return [row for batch in lake.read(table, entry.id, BatchSize(), role=role) for row in batch["id"].to_pylist()]


def place(lake: ParquetLake, window: str = "1") -> Path:
    return Path(lake.place, _paths.path_of(ORDERS, window, ROWS))


@pytest.mark.parametrize(("table", "window"), LAYOUTS)
def test_parts_appear_together(lake: ParquetLake, table: LakeTable, window: str):
    """Several parts are one entry from the moment of the commit, with the rows of all of them in their order."""
    parts = [write(lake, table, window, f"part {number}", number, number + 10) for number in (1, 2, 3)]
    assert lake.entries(table, {}).by_window == {}

    entry, is_newest = lake.commit(table, window, parts, facts=facts(window, 6))

    assert is_newest
    assert lake.entries(table, {}).by_window == {window: entry}
    assert (entry.rows, entry.token, ids_in(lake, table, entry)) == (6, PartitionToken("7"), [1, 11, 2, 12, 3, 13])
    assert lake.entry(table, entry.id) == entry
    assert Path(lake.location(entry.id)).suffix == ".parquet"
    lake.end(RUN)
    assert lake.entries(table, {}).by_window == {window: entry}


def test_folder_has_documented_names(lake: ParquetLake):
    """The folder is named as the file of one part would be. Plain pyarrow reads it as one table."""
    put(lake, ORDERS, "1", (1, 2), (3,))

    found = sorted(path.name for path in place(lake).iterdir())
    assert found == ["_committed.json", "part-0001.parquet", "part-0002.parquet"]
    assert pq.read_table(place(lake))["id"].to_pylist() == [1, 2, 3]
    commit = json.loads((place(lake) / "_committed.json").read_text())
    assert (commit["table"], commit["value"], commit["rows"]) == ("orders", "1", 3)
    assert [(part["file"], part["rows"]) for part in commit["parts"]] == [
        ("part-0001.parquet", 2),
        ("part-0002.parquet", 1),
    ]


def test_window_of_one_part_stays_a_file(lake: ParquetLake):
    put(lake, ORDERS, "1", (1, 2))
    assert place(lake).is_file()


@pytest.mark.parametrize(
    ("before", "after"),
    [([(1,), (2,)], [(3,)]), ([(1,)], [(3,), (4,)]), ([(1,), (2,)], [(3,), (4,), (5,)])],
    ids=["folder by file", "file by folder", "folder by folder"],
)
def test_entry_is_replaced_by_another_form(lake: ParquetLake, before: list[tuple[int]], after: list[tuple[int]]):
    seen = put(lake, ORDERS, "1", *before)

    entry = put(lake, ORDERS, "1", *after, replaces=seen.etag)

    assert entry.etag != seen.etag
    assert ids_in(lake, ORDERS, entry) == [number for part in after for number in part]
    assert lake.entries(ORDERS, {}).by_window == {"1": entry}
    lake.end(RUN)
    written = [path for path in Path(lake.place).rglob("*.parquet") if path.is_file()]
    assert len(written) == len(after)


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("before", [[], [(1,)], [(1,), (2,)]], ids=["nothing", "a file", "a folder"])
@pytest.mark.parametrize("after", [[(3,)], [(3,), (4,)]], ids=["by a file", "by a folder"])
@pytest.mark.parametrize("nth", range(6))
def test_killed_commit_leaves_old_new_or_nothing(
    lake: ParquetLake, monkeypatch: pytest.MonkeyPatch, before: list[tuple[int]], after: list[tuple[int]], nth: int
):
    """A commit that is killed between two steps never leaves a part of an entry, and the next commit succeeds."""
    seen = put(lake, ORDERS, "1", *before) if before else None
    written = [write(lake, ORDERS, "1", f"attempt {number}", *part) for number, part in enumerate(after)]
    steps = iter(range(100))

    def killing(real: Any) -> Any:
        def step(*arguments: Any) -> Any:
            if next(steps) == nth:
                raise Killed
            return real(*arguments)

        return step

    with monkeypatch.context() as patch:
        for name in ("rename", "replace", "fsync"):
            patch.setattr(os, name, killing(getattr(os, name)))
        with suppress(Killed):
            lake.commit(ORDERS, "1", written, seen.etag if seen else "", facts("1", len(after)))

    old, new = [[number for part in parts for number in part] for parts in (before, after)]
    found = lake.entries(ORDERS, {}).by_window
    assert [ids_in(lake, ORDERS, entry) for entry in found.values()] in ([], [old], [new])
    assert not any(entry.broken for entry in found.values())
    lake.end(RUN)
    lake.begin(RUN)
    there = found["1"].etag if found else ""
    entry = put(lake, ORDERS, "1", (8,), (9,), replaces=there)
    assert ids_in(lake, ORDERS, entry) == [8, 9]
    assert lake.entries(ORDERS, {}).by_window == {"1": entry}


def test_folder_without_commit_file_is_no_entry(lake: ParquetLake):
    """Somebody copied the parts and not the commit file: what is there may be a part of the rows."""
    put(lake, ORDERS, "1", (1,), (2,))
    (place(lake) / _folders.COMMIT_FILE).unlink()

    assert lake.entries(ORDERS, {}).by_window == {}
    assert ids_in(lake, ORDERS, put(lake, ORDERS, "1", (3,), (4,))) == [3, 4]


@pytest.mark.parametrize("harm", ["part is gone", "part is cut", "commit file is cut"])
def test_harmed_folder_is_broken(lake: ParquetLake, harm: str):
    """A part that is gone or cut changes the etag, so that also an entry that the ledger knows is opened."""
    entry = put(lake, ORDERS, "1", (1, 2), (3,))
    part = place(lake) / "part-0002.parquet"
    match harm:
        case "part is gone":
            part.unlink()
        case "part is cut":
            part.write_bytes(part.read_bytes()[:-10])
        case _:
            commit = place(lake) / "_committed.json"
            commit.write_text(commit.read_text()[:-5])
    known = LedgerEntry(1, "loaded", entry.rows, entry.hash, etag=entry.etag, token=entry.token)

    assert lake.entries(ORDERS, {"1": known}).by_window["1"].broken
    if harm != "part is cut":
        with pytest.raises(LakeError, match="cannot be read"):
            ids_in(lake, ORDERS, entry)
    assert ids_in(lake, ORDERS, put(lake, ORDERS, "1", (3,), (4,))) == [3, 4]


def test_part_beside_those_that_were_committed_does_not_count(lake: ParquetLake):
    """A file that the commit file does not name is not read."""
    entry = put(lake, ORDERS, "1", (1,), (2,))
    pq.write_table(pa.table({"id": [9]}), place(lake) / "part-0003.parquet")

    assert ids_in(lake, ORDERS, entry) == [1, 2]


@pytest.mark.parametrize(("hour", "stays"), [(12, False), (10, True)])
def test_newer_folder_of_somebody_else_stays(lake: ParquetLake, hour: int, stays: bool):
    theirs = put(lake, ORDERS, "1", (1,), (2,))
    parts = [write(lake, ORDERS, "1", f"ours {number}", number) for number in (3, 4)]

    ours = replace(facts("1", 2), read_at=f"2024-01-31T{hour}:00:00+00:00")
    entry, is_newest = lake.commit(ORDERS, "1", parts, facts=ours)

    assert is_newest is not stays
    assert (entry == theirs) is stays
    assert ids_in(lake, ORDERS, entry) == ([1, 2] if stays else [3, 4])
    assert not any(lake.storage.etag(part.id) for part in parts)


@pytest.mark.parametrize(("table", "window"), [(ORDERS, "1"), (CLIENTS, NEWEST)])
def test_repeated_commit_of_parts_changes_nothing(lake: ParquetLake, table: LakeTable, window: str):
    parts = [write(lake, table, window, f"part {number}", number) for number in (1, 2)]
    entry, _ = lake.commit(table, window, parts, facts=facts(window, 2))

    assert lake.commit(table, window, parts, facts=facts(window, 2)) == (entry, True)
    assert ids_in(lake, table, entry) == [1, 2]


def test_known_folder_is_not_opened(lake: ParquetLake, monkeypatch: pytest.MonkeyPatch):
    entry = put(lake, ORDERS, "1", (1,), (2,))
    known = LedgerEntry(1, "loaded", entry.rows, entry.hash, etag=entry.etag, token=entry.token)

    def no_commit_file(*arguments: object) -> None:
        raise AssertionError("a commit file was read")

    monkeypatch.setattr(parquet._folders, "read_facts", no_commit_file)
    assert lake.entries(ORDERS, {"1": known}).by_window["1"].rows == 2


@pytest.mark.parametrize(("table", "window"), LAYOUTS)
def test_dropped_folder_is_gone(lake: ParquetLake, table: LakeTable, window: str):
    entry = put(lake, table, window, (1,), (2,))

    if table.layout is Layout.WHOLE:
        lake.drop_superseded(table, [entry.id])
    else:
        lake.drop(table, window)

    assert lake.entries(table, {}).by_window == {}
    lake.end(RUN)
    assert [path.name for path in Path(lake.place).rglob("*") if path.is_file()] == ["publish.lock"]


def test_keys_are_kept_beside_a_folder(lake: ParquetLake):
    """A log's window of several parts has the keys beside it, and the log is read through all parts."""
    parts = [write(lake, CLIENTS, NEWEST, f"part {number}", number) for number in (1, 2)]
    parts.append(write(lake, CLIENTS, NEWEST, "keys", 1, 2, 3, role=KEYS))

    entry, _ = lake.commit(CLIENTS, NEWEST, parts, facts=facts(NEWEST, 2))

    assert entry.has_keys
    assert lake.entries(CLIENTS, {}).by_window == {NEWEST: entry}
    assert ids_in(lake, CLIENTS, entry, KEYS) == [1, 2, 3]
    assert [row for batch in lake.read_log(CLIENTS, ["id"], BatchSize()) for row in batch["id"].to_pylist()] == [1, 2]
