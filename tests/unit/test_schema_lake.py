"""The layout `schemas`: keys that never collide, windows that appear whole, and what a killed run leaves."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

import tidegate
from tidegate.errors import LakeError, TidegateError
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, Lake, LakeTable, Layout, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.names import LakeName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry
from tidegate.model.tokens import PartitionToken
from tidegate.storage.keys import table_folder

RUN, WINDOW, LATER = "run", "2026-11-19-01-32-41", "2026-11-19-01-32-41-1"
NAME = LakeName("", "customers", "sales_db", "reporting", "customers")
LOG, WHOLE, VALUES = (
    LakeTable(NAME, Layout.LOG, "incremental"),
    LakeTable(NAME, Layout.WHOLE, "full"),
    LakeTable(NAME, Layout.VALUES, "cob"),
)
DAY = Path("incremental/sales_db/reporting/customers/year=2026/month=11/day=19")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = ParquetLake.at(tmp_path / "lake").arranged("schemas", "incremental")
    made.begin(RUN)
    return made


def facts(window: str, rows: int, read_at: str = "2026-11-19T01:32:41+00:00") -> EntryFacts:
    token = PartitionToken("7")
    return EntryFacts(window, rows, "c" * 32, ("id",), "columns", ("int64",), (), token, RUN, "new", read_at, "")


def write(lake: Lake, table: LakeTable, window: str, *ids: int, role: str = ROWS) -> Part:
    rows = pa.record_batch({"id": pa.array(ids, pa.int64())})
    writer = lake.writer(table, RUN, f"{table.column} {len(window)} {ids} {role}", rows.schema, role)
    writer.write(rows)
    return writer.close(facts(window, len(ids)))


def put(lake: Lake, table: LakeTable, window: str, *parts: tuple[int, ...]) -> LakeEntry:
    written = [write(lake, table, window, *part) for part in parts]
    return lake.commit(table, window, written, facts=facts(window, sum(map(len, parts))))[0]


def ids_in(lake: Lake, table: LakeTable, entry: LakeEntry, role: str = ROWS) -> list[int]:
    return [row for batch in lake.read(table, entry.id, BatchSize(), role=role) for row in batch["id"].to_pylist()]


def batches(lake: Lake) -> list[str]:
    return sorted(path.name for path in Path(lake.place).rglob("*.parquet") if not path.name.startswith("_"))


def test_documented_key():
    key = tidegate.generate_s3_key("sales_db", "reporting_sales", "customers", "2024-08-15 10:30:00", 3)
    assert key == (
        "incremental/sales_db/reporting_sales/customers/year=2024/month=08/day=15/customers_2024-08-15_10:30:00_3.parquet"
    )
    other = tidegate.generate_s3_key("a", "b", "c", "2024-08-15 10:30:00", 1, incremental_path="/exports/")
    assert other == "exports/a/b/c/year=2024/month=08/day=15/c_2024-08-15_10:30:00_1.parquet"
    with pytest.raises(TidegateError, match="2024-08-15"):
        tidegate.generate_s3_key("a", "b", "c", "yesterday", 1)


def test_no_two_names_share_a_folder():
    """Names that look like paths, like parts of a key, like escapes of one another, or that differ at their end."""
    names = ["a", "a/b", "b", "a%2Fb", "..", ".", "_a", "%5Fa", "a ", "year=2024", "x" * 90, "x" * 91, "é", "e\u0301"]
    folders = {table_folder("incremental", *place) for place in product(names, repeat=3)}
    assert len(folders) == len(names) ** 3
    assert not [folder for folder in folders if folder.count("/") != 3 or "/_" in folder or "/." in folder]


@pytest.mark.parametrize(("table", "window"), [(LOG, WINDOW), (WHOLE, "all rows"), (VALUES, "a/b")])
def test_batches_appear_together(lake: Lake, table: LakeTable, window: str):
    parts = [write(lake, table, window, number, number + 10) for number in (1, 2)]
    assert lake.entries(table, {}).by_window == {}

    entry, is_ours = lake.commit(table, window, parts, facts=facts(window, 4))

    assert is_ours
    assert lake.entries(table, {}).by_window == {window: entry}
    assert ids_in(lake, table, entry) == [1, 11, 2, 12]
    assert lake.commit(table, window, parts, facts=facts(window, 4)) == (entry, True)
    lake.end(RUN)
    assert lake.entries(table, {}).by_window == {window: entry}


def test_batches_have_documented_names(lake: Lake):
    entry = put(lake, LOG, WINDOW, (1, 2), (3,))
    folder = Path(lake.place) / DAY
    assert sorted(path.name for path in folder.iterdir()) == [
        "_customers_2026-11-19_01-32-41.incremental.json",
        "customers_2026-11-19_01-32-41_1.parquet",
        "customers_2026-11-19_01-32-41_2.parquet",
    ]
    assert lake.location(entry.id) == f"{folder}/customers_2026-11-19_01-32-41_*.parquet"


def test_windows_of_one_second_keep_their_order(lake: Lake):
    put(lake, LOG, LATER, (2,))
    put(lake, LOG, WINDOW, (1,))
    assert list(lake.entries(LOG, {}).by_window) == [WINDOW, LATER]
    assert [row for batch in lake.read_log(LOG, ["id"], BatchSize()) for row in batch["id"].to_pylist()] == [1, 2]


def test_changes_of_one_table_do_not_see_each_other(lake: Lake):
    """A table that was copied as a whole is now read by its cursor: both kinds of entries lie in one folder."""
    first, second = put(lake, WHOLE, "all rows", (1,)), put(lake, LOG, WINDOW, (2,))
    assert lake.entries(WHOLE, {}).by_window == {"all rows": first}
    assert lake.entries(LOG, {}).by_window == {WINDOW: second}
    lake.drop(LOG, WINDOW)
    assert (lake.entries(LOG, {}).by_window, len(batches(lake))) == ({}, 1)


def test_replaced_window_gets_new_batches(lake: Lake):
    first = put(lake, VALUES, "7", (1,), (2,))
    part = write(lake, VALUES, "7", 3)
    entry, is_ours = lake.commit(VALUES, "7", [part], first.etag, facts("7", 1, "2026-11-20T00:00:00+00:00"))
    assert is_ours and ids_in(lake, VALUES, entry) == [3]
    assert batches(lake) == ["customers_cob_7_3.parquet"]


def test_keys_stand_beside_their_window(lake: Lake):
    parts = [write(lake, LOG, WINDOW, 1), write(lake, LOG, WINDOW, 1, 2, 3, role=KEYS)]
    entry, _ = lake.commit(LOG, WINDOW, parts, facts=facts(WINDOW, 1))
    assert entry.has_keys and ids_in(lake, LOG, entry, KEYS) == [1, 2, 3]
    assert len(batches(lake)) == 1


def test_batches_of_a_killed_run_leave_with_the_next(lake: Lake):
    """A run is killed after its batches and before its commit file: they are no entry, and the next commit of the
    table deletes them."""
    stray = Path(lake.place) / DAY.parent / "day=18" / "customers_2026-11-18_23-59-59_1.parquet"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"half")
    assert lake.entries(LOG, {}).by_window == {}
    put(lake, LOG, WINDOW, (1,))
    assert batches(lake) == ["customers_2026-11-19_01-32-41_1.parquet"]


@pytest.mark.parametrize("damage", ["missing", "short", "commit"])
def test_damaged_window_is_noticed(lake: Lake, damage: str):
    entry = put(lake, LOG, WINDOW, (1,), (2,))
    [batch, _] = sorted((Path(lake.place) / DAY).glob("customers_*"))
    if damage == "missing":
        batch.unlink()
    elif damage == "short":
        batch.write_bytes(batch.read_bytes()[:-1])
    else:
        (Path(lake.place) / entry.id).write_text("{")
    found = lake.entries(LOG, {}).by_window[WINDOW]
    assert found.broken and found.etag != entry.etag
    replaced, is_ours = lake.commit(LOG, WINDOW, [write(lake, LOG, WINDOW, 9)], found.etag, facts(WINDOW, 1))
    assert is_ours and ids_in(lake, LOG, replaced) == [9]


def test_entries_belong_to_one_target(lake: Lake):
    """Another target of the same schema is refused; another login of the same one is not."""
    target = "postgresql://me@dwh.example.com:5432/analytics"
    lake.save_scope(LOG, target, Scope())
    assert lake.saved_scope(LOG, target) == Scope()
    assert lake.saved_scope(LOG, target.replace("me@", "you@")) is None
    with pytest.raises(LakeError, match="belongs to another target"):
        lake.saved_scope(LOG, target.replace("dwh", "uat"))
    assert json.loads((Path(lake.place) / DAY.parents[2] / "_target.json").read_text()) == {
        "target": "postgresql://dwh.example.com:5432/analytics"
    }


def test_table_is_filled_by_one_database(lake: Lake):
    target = "postgresql://me@dwh.example.com:5432/analytics"
    lake.save_scope(LOG, target, Scope())
    other = LakeTable(LakeName("", "customers", "other_db", "reporting", "customers"), Layout.LOG, "incremental")
    with pytest.raises(LakeError, match=r"reporting\.customers in the target is loaded from sales_db"):
        lake.saved_scope(other, target)
