"""Lake files: readable paths that are valid on every file system, commits that are all or nothing, and the encoding of
columns."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidegate.errors import LakeError
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, LakeTable, Layout, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes import _paths, parquet
from tidegate.lakes._files import FileWriter
from tidegate.lakes.parquet import ParquetLake
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import ContentToken, CursorWindow, PartitionToken, Token
from tidegate.model.values import Value, ValueKind
from tidegate.storage.local import LocalFolder

ROOT = Path("/lake")
ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
NAMES = (ANY | st.text("a./%~_ ", min_size=1) | st.just("x" * 63)).filter(lambda name: len(name.encode()) <= 63)
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=400) | st.just("v" * 400)
RUN = "run"
SCHEMA = pa.schema([("id", pa.int64())])

ORDERS = LakeTable(TableName("", "orders"), Layout.VALUES, "cobid")
RATES = LakeTable(TableName("", "rates"), Layout.WHOLE, "static")
CLIENTS = LakeTable(TableName("", "clients"), Layout.LOG, "scd")
NEWEST = "2024-01-31-10-00-00"


def values_of(table: TableName, column: str) -> LakeTable:
    return LakeTable(table, Layout.VALUES, column)


def path_of(table: TableName, column: str, value: str) -> str:
    return _paths.path_of(values_of(table, column), value, ROWS)


@pytest.fixture
def lake(tmp_path: Path) -> ParquetLake:
    made = ParquetLake.at(tmp_path / "lake")
    made.begin(RUN)
    return made


def write(lake: ParquetLake, table: LakeTable, window: str, *ids: int, role: str = ROWS, **facts: Any) -> Part:
    """Return a part with these rows, which is not committed yet."""
    told: dict[str, Any] = {
        "window": window,
        "rows": len(ids),
        "hash": "c" * 32,
        "columns": ("id",),
        "columns_id": "columns",
        "storage_types": ("int64",),
        "text_columns": (),
        "token": PartitionToken(),
        "run": RUN,
        "why": "new in the source",
        "read_at": "2024-01-31T10:00:00+00:00",
        "scope": Scope().to_json(),
    }
    writer = lake.writer(table, RUN, "attempt", SCHEMA, role)
    writer.write(pa.record_batch({"id": pa.array(ids, pa.int64())}))
    return writer.close(EntryFacts(**{**told, **facts}))


def put(lake: ParquetLake, table: LakeTable, window: str, *ids: int, **facts: Any) -> LakeEntry:
    """Return a committed entry with these rows."""
    return lake.commit(table, window, [write(lake, table, window, *ids, **facts)])[0]


def ids_in(lake: ParquetLake, table: LakeTable, entry: LakeEntry, role: str = ROWS) -> list[int]:
    return [row for batch in lake.read(table, entry.id, BatchSize(), role=role) for row in batch["id"].to_pylist()]


def loaded(entry: LakeEntry, **facts: Any) -> LedgerEntry:
    """Return the ledger entry of a lake entry that was loaded."""
    return LedgerEntry(1, "loaded", entry.rows, entry.hash, etag=entry.etag, token=entry.token, **facts)


# Paths


@pytest.mark.parametrize(
    ("table", "column", "value", "path"),
    [
        (TableName("", "orders"), "cobid", "20240131", "cobid_20240131/orders_cobid_20240131.parquet"),
        (TableName("sales", "orders"), "cobid", "1", "sales/cobid_1/orders_cobid_1.parquet"),
        (TableName("", "Order Items"), "Cob Id", "a b", "Cob%20Id_a%20b/Order%20Items_Cob%20Id_a%20b.parquet"),
        (TableName("", "t"), "c", "a/b", "c_a%2Fb/t_c_a%2Fb.parquet"),
        (TableName("", "t"), "c", "..", "c_../t_c_...parquet"),
        (TableName("", "t"), "c", "", "c_/t_c_.parquet"),
        (TableName("", "t"), "c", "~", "c_%7E/t_c_%7E.parquet"),
        (TableName("", "t"), "c", "é", "c_%C3%A9/t_c_%C3%A9.parquet"),
        (TableName(".", "t"), "c", "1", "%2E/c_1/t_c_1.parquet"),
        (TableName("..", "t"), "c", "1", "%2E./c_1/t_c_1.parquet"),
        (TableName("%2E", "t"), "c", "1", "%252E/c_1/t_c_1.parquet"),
    ],
)
def test_path_is_readable(table: TableName, column: str, value: str, path: str):
    """The path of a value contains its schema, column, table and value, with special characters escaped."""
    assert path_of(table, column, value) == f"organized/{path}"


@example("", "x" * 63, "y" * 63, "v" * 120)
@example("é" * 31, "é" * 20, "é" * 20, "é" * 20)
@given(st.just("") | NAMES, NAMES, NAMES, VALUES)
def test_path_stays_in_the_lake_and_is_short(schema: str, table: str, column: str, value: str):
    """No name leads out of the lake, and no part of a path is longer than 255 bytes."""
    path = path_of(TableName(schema, table), column, value)

    parts = path.removeprefix("organized/").split("/")
    assert path.startswith("organized/")
    assert PurePosixPath(path).parts == ("organized", *parts)
    assert len(parts) == (3 if schema else 2)
    assert all(part not in ("", ".", "..") and len(part.encode()) <= 255 for part in parts)


@given(VALUES, VALUES)
def test_different_values_have_different_paths(one: str, other: str):
    """Two values have the same path only when they are equal."""
    table = TableName("", "t")
    assert (path_of(table, "c", one) == path_of(table, "c", other)) == (one == other)


@settings(max_examples=40, deadline=None)
@given(table=NAMES, column=NAMES, value=VALUES)
def test_entry_is_found_with_its_value(tmp_path_factory: pytest.TempPathFactory, table: str, column: str, value: str):
    """An entry is found again under its value. A shortened value is only in the footer."""
    lake, place = ParquetLake.at(tmp_path_factory.mktemp("lake")), values_of(TableName("", table), column)
    lake.begin(RUN)
    committed = put(lake, place, value, 1)

    assert lake.entries(place, {}).by_window == {value: committed}
    assert committed.id == _paths.path_of(place, value, ROWS)
    ((path, named),) = lake._value_paths(place)
    assert path == committed.id
    assert named == value or (named is None and len(value) > 6)


def test_short_value_is_read_from_the_file_name(lake: ParquetLake):
    """Short values are read from file names, because reading each footer would make planning slow."""
    short = {"20240131", "~", "..", "a/b", ""}
    for value in short:
        place = Path(lake.place, _paths.path_of(ORDERS, value, ROWS))
        place.parent.mkdir(parents=True)
        place.write_bytes(b"tide")

    found = lake.entries(ORDERS, {}).by_window

    assert set(found) == short
    assert all(entry.broken for entry in found.values())


def test_entries_of_other_tables_are_not_listed(lake: ParquetLake):
    """Entries of tables and columns with similar names are not listed."""
    for table, column in [("orders", "cobid"), ("orders2", "cobid"), ("orders", "day")]:
        put(lake, values_of(TableName("", table), column), "1", 1)

    found = lake.entries(ORDERS, {}).by_window

    assert [entry.id.rpartition("/")[2] for entry in found.values()] == ["orders_cobid_1.parquet"]


@pytest.mark.parametrize("table", [ORDERS, RATES, CLIENTS])
def test_missing_lake_has_no_entries(tmp_path: Path, table: LakeTable):
    """A lake whose folder does not exist has no entries."""
    found = ParquetLake.at(tmp_path / "nowhere").entries(table, {})
    assert (found.by_window, found.superseded, found.scope) == ({}, (), None)


def test_entry_of_another_table_is_refused(lake: ParquetLake):
    """A file whose footer names another table is neither read nor overwritten."""
    other = put(lake, values_of(TableName("", "other"), "cobid"), "1", 1)
    lake.storage.publish(other.id, _paths.path_of(ORDERS, "1", ROWS))

    with pytest.raises(LakeError, match="says that it holds other by cobid, not orders by cobid"):
        lake.entries(ORDERS, {})


# Commits


@pytest.mark.parametrize(("table", "window"), [(ORDERS, "1"), (RATES, "all rows"), (CLIENTS, NEWEST)])
def test_part_is_invisible_before_its_commit(lake: ParquetLake, table: LakeTable, window: str):
    """A part that is written and not committed is no entry. The commit makes it one."""
    part = write(lake, table, window, 1, 2)
    assert lake.entries(table, {}).by_window == {}

    entry, is_newest = lake.commit(table, window, [part])

    assert is_newest
    assert lake.entries(table, {}).by_window == {window: entry}
    assert (entry.rows, ids_in(lake, table, entry)) == (2, [1, 2])


def test_parts_that_are_not_committed_leave_with_the_run(lake: ParquetLake):
    """A part that is abandoned leaves at once, others at the end of the run. Committed entries stay."""
    kept = put(lake, ORDERS, "1", 1)
    write(lake, ORDERS, "2", 2)
    abandoned = lake.writer(ORDERS, RUN, "other attempt", SCHEMA)
    abandoned.write(pa.record_batch({"id": pa.array([3], pa.int64())}))
    abandoned.abandon()

    assert [path.name for path in Path(lake.place).rglob("*attempt*")] == ["attempt.parquet"]
    lake.end(RUN)

    assert list(Path(lake.place).rglob("*attempt*")) == []
    assert lake.entries(ORDERS, {}).by_window == {"1": kept}


def test_commit_replaces_what_planning_saw(lake: ParquetLake):
    """A commit replaces the entry with the etag that planning saw, whatever its age."""
    seen = put(lake, ORDERS, "1", 1, read_at="2024-01-31T12:00:00+00:00")
    part = write(lake, ORDERS, "1", 2, read_at="2024-01-31T11:00:00+00:00")

    entry, is_newest = lake.commit(ORDERS, "1", [part], replaces=seen.etag)

    assert is_newest
    assert ids_in(lake, ORDERS, entry) == [2]


@pytest.mark.parametrize(("hour", "stays"), [(10, False), (11, True), (12, True)])
@pytest.mark.parametrize("replaces", ["", "an etag from before"])
def test_newer_entry_of_somebody_else_stays(lake: ParquetLake, hour: int, stays: bool, replaces: str):
    """When somebody committed the window since planning, the entry that was read later stays."""
    theirs = put(lake, ORDERS, "1", 1, read_at=f"2024-01-31T{hour}:00:00+00:00")
    part = write(lake, ORDERS, "1", 2, read_at="2024-01-31T11:00:00+00:00")

    entry, is_newest = lake.commit(ORDERS, "1", [part], replaces)

    assert is_newest is not stays
    assert (entry == theirs) is stays
    assert lake.entries(ORDERS, {}).by_window == {"1": entry}
    assert ids_in(lake, ORDERS, entry) == [1 if stays else 2]
    assert lake.storage.etag(part.id) == ""


def test_newer_entry_keeps_its_keys(lake: ParquetLake):
    """When a newer entry stays, the keys beside it stay too: rows and keys are of one reading."""

    def parts(hour: int, *ids: int) -> list[Part]:
        read_at = f"2024-01-31T{hour}:00:00+00:00"
        return [write(lake, CLIENTS, NEWEST, *ids, role=role, read_at=read_at) for role in (ROWS, KEYS)]

    lake.commit(CLIENTS, NEWEST, parts(12, 1))
    entry, is_newest = lake.commit(CLIENTS, NEWEST, parts(11, 2))

    assert not is_newest
    assert (ids_in(lake, CLIENTS, entry), ids_in(lake, CLIENTS, entry, KEYS)) == ([1], [1])


def test_broken_entry_is_replaced(lake: ParquetLake):
    """A file that is cut off does not count as newer."""
    theirs = put(lake, ORDERS, "1", 1, read_at="2024-01-31T12:00:00+00:00")
    place = Path(lake.place, theirs.id)
    place.write_bytes(place.read_bytes()[:-10])
    assert lake.entries(ORDERS, {}).by_window["1"].broken

    entry, is_newest = lake.commit(ORDERS, "1", [write(lake, ORDERS, "1", 2)])

    assert is_newest
    assert ids_in(lake, ORDERS, entry) == [2]


@pytest.mark.parametrize(("table", "window"), [(ORDERS, "1"), (CLIENTS, NEWEST)])
def test_repeated_commit_changes_nothing(lake: ParquetLake, table: LakeTable, window: str):
    """A commit that is repeated after its answer was lost finds its own entry."""
    part = write(lake, table, window, 1)
    entry, _ = lake.commit(table, window, [part])

    assert lake.commit(table, window, [part])[0] == entry
    assert lake.entries(table, {}).by_window == {window: entry}


def test_dropped_entry_is_gone(lake: ParquetLake):
    """Dropping removes one entry. Dropping it again does nothing."""
    kept = put(lake, ORDERS, "1", 1)
    put(lake, ORDERS, "2", 2)

    lake.drop(ORDERS, "2")
    lake.drop(ORDERS, "2")

    assert lake.entries(ORDERS, {}).by_window == {"1": kept}


def test_newest_entry_of_a_whole_table_counts(lake: ParquetLake):
    """Of a whole table the newest entry counts. Older ones are superseded, oldest first, and can be dropped."""
    folder = "organized/static_rates/rates_static_2024-01-"
    older = [f"{folder}{day:02}-10-00-00.parquet" for day in (2, 9, 10)]
    for number, path in enumerate(older):
        lake.storage.publish(write(lake, RATES, "all rows", number).id, path)
    newest = put(lake, RATES, "all rows", 7, 8)

    found = lake.entries(RATES, {})
    lake.drop_superseded(RATES, found.superseded[:2])

    assert (found.by_window, found.superseded) == ({"all rows": newest}, tuple(older))
    assert lake.entries(RATES, {}).superseded == (older[2],)


def test_keys_are_kept_beside_the_rows(lake: ParquetLake):
    """The keys of all rows are committed with a window, read by their role, and dropped with it."""
    parts = [write(lake, CLIENTS, NEWEST, 2), write(lake, CLIENTS, NEWEST, 1, 2, 3, role=KEYS)]
    with_keys, _ = lake.commit(CLIENTS, NEWEST, parts)
    without_keys = put(lake, CLIENTS, "2024-02-01-10-00-00", 4)

    found = lake.entries(CLIENTS, {}).by_window

    assert [entry.has_keys for entry in found.values()] == [True, False]
    assert found == {NEWEST: with_keys, "2024-02-01-10-00-00": without_keys}
    assert ids_in(lake, CLIENTS, with_keys) == [2]
    assert ids_in(lake, CLIENTS, with_keys, KEYS) == [1, 2, 3]
    assert [batch["id"].to_pylist() for batch in lake.read_log(CLIENTS, ["id"], BatchSize())] == [[2], [4]]
    lake.drop(CLIENTS, NEWEST)
    assert [path.name for path in Path(lake.place).rglob("clients_*.parquet")] == [Path(without_keys.id).name]


# What planning reads


def no_footer(*_: Any) -> Any:
    raise AssertionError("a footer was read")


@pytest.mark.parametrize(
    ("table", "window", "token"),
    [
        (ORDERS, "20240131", PartitionToken("7")),
        (CLIENTS, NEWEST, CursorWindow(read_at="2024-01-31T10:00:00+00:00")),
    ],
)
def test_known_entries_are_not_opened(
    lake: ParquetLake, monkeypatch: pytest.MonkeyPatch, table: LakeTable, window: str, token: Token
):
    """An entry that the ledger knows by its etag is not opened. Its facts come from the ledger."""
    entry = put(lake, table, window, 1, 2, token=token)
    own = {"columns": ("id",), "columns_id": "columns", "storage_types": ("int64",)}
    known: Mapping[str, LedgerEntry] = {window: loaded(entry, **own)}
    monkeypatch.setattr(parquet, "read_footer", no_footer)

    found = lake.entries(table, known).by_window[window]

    assert (found.id, found.etag, found.rows, found.hash) == (entry.id, entry.etag, 2, "c" * 32)
    assert (found.token, found.columns, found.storage_types) == (token, ("id",), ("int64",))


def test_entry_that_was_written_again_is_opened(lake: ParquetLake, monkeypatch: pytest.MonkeyPatch):
    """An entry with another etag than the ledger knows is opened."""
    known = {"1": loaded(put(lake, ORDERS, "1", 1))}
    seen = lake.entries(ORDERS, known).by_window["1"]
    entry, _ = lake.commit(ORDERS, "1", [write(lake, ORDERS, "1", 1, 2)], replaces=seen.etag)

    assert lake.entries(ORDERS, known).by_window == {"1": entry}
    monkeypatch.setattr(parquet, "read_footer", no_footer)
    with pytest.raises(AssertionError, match="a footer was read"):
        lake.entries(ORDERS, known)


def test_newest_scope_comes_from_opened_entries(lake: ParquetLake):
    """When both copies of the scope are lost, the entry that was read last tells it."""
    scopes = [Scope(Value.of(number, ValueKind.INTEGER)) for number in (5, 3)]
    for hour, scope in enumerate(scopes):
        put(lake, ORDERS, str(hour), 1, scope=scope.to_json(), read_at=f"2024-01-31T1{hour}:00:00+00:00")

    assert lake.entries(ORDERS, {}).scope == scopes[-1]


def test_each_target_has_its_scope(lake: ParquetLake):
    """Two targets that share a lake have a copy of the scope each. A copy that is cut off counts as lost."""
    scope = Scope(Value.of(3, ValueKind.INTEGER))
    lake.save_scope(ORDERS, "one", scope)

    assert (lake.saved_scope(ORDERS, "one"), lake.saved_scope(ORDERS, "other")) == (scope, None)
    lake.storage.write_text(lake._scope_file(ORDERS, "one"), scope.to_json()[:-5])
    assert lake.saved_scope(ORDERS, "one") is None


# Files that version 1 wrote


WINDOW_1 = (
    '{"after": "2024-01-30 00:00:00", "upto": "2024-01-31 09:59:59.5", "mark": "2024-01-31 09:00:00",'
    ' "seen_at": null, "tail": "", "held": null, "read_at": "", "is_given": false}'
)


def moment(text: str) -> Value:
    return Value.of(text, ValueKind.TIMESTAMP)


@pytest.mark.parametrize(
    ("table", "window", "facts", "token"),
    [
        (ORDERS, "20240131", {"newest": None}, PartitionToken(None)),
        (ORDERS, "20240131", {"newest": "7"}, PartitionToken("7")),
        (RATES, "all rows", {"newest": f"2 {'c' * 32}"}, ContentToken(f"2 {'c' * 32}")),
        (
            CLIENTS,
            NEWEST,
            {"newest": f"2 {'d' * 32}", "window": WINDOW_1},
            CursorWindow(
                after=moment("2024-01-30"),
                upto=moment("2024-01-31 09:59:59.5"),
                watermark=moment("2024-01-31 09:00:00"),
                lookback_fingerprint=f"2 {'d' * 32}",
                read_at="2024-01-31T10:00:00+00:00",
            ),
        ),
    ],
    ids=["a value", "a value with a restatement column", "a whole table", "a window"],
)
def test_files_of_version_1_have_typed_tokens(
    lake: ParquetLake, table: LakeTable, window: str, facts: dict[str, Any], token: Token
):
    """Version 1 kept `newest` and `window` as texts in the footer. Such files are read with the token of now."""
    path = _paths.path_of(table, window, ROWS)
    writer = FileWriter(lake.storage, path, SCHEMA)
    writer.write(pa.record_batch({"id": pa.array([1, 2], pa.int64())}))
    writer.close(
        {
            "format": 1,
            "table": str(table.name),
            "column": table.column,
            "value": window,
            "rows": 2,
            "hash": "c" * 32,
            "columns": ["id"],
            "columns_id": "columns",
            "text_columns": [],
            "run": "of before",
            "why": "new in the source",
            "read_at": "2024-01-31T10:00:00+00:00",
            "scope": Scope().to_json(),
            "unproven": False,
            **facts,
        }
    )

    ((found, entry),) = lake.entries(table, {}).by_window.items()

    assert (found, entry.broken, entry.rows, entry.hash, entry.columns) == (window, "", 2, "c" * 32, ("id",))
    assert entry.token == token
    assert (entry.storage_types, entry.read_at) == ((), "2024-01-31T10:00:00+00:00")
    assert ids_in(lake, table, entry) == [1, 2]


@pytest.mark.parametrize(
    ("table", "window", "token"),
    [
        (ORDERS, "20240131", PartitionToken("7")),
        (RATES, "all rows", ContentToken(f"2 {'c' * 32}")),
        (CLIENTS, NEWEST, CursorWindow(moment("2024-01-30"), moment("2024-01-31"), moment("2024-01-31"), "2 rows")),
    ],
)
def test_token_is_kept_in_the_footer(lake: ParquetLake, table: LakeTable, window: str, token: Token):
    """The token that is written with the rows is read again from the footer."""
    put(lake, table, window, 1, token=token)
    assert lake.entries(table, {}).by_window[window].token == token


# Content of a file


def test_columns_use_suitable_encodings(tmp_path: Path):
    """Integers, times and short decimals are written as differences, repeated texts as a dictionary. All rows are read
    back unchanged."""
    count = 1_000
    rows = pa.record_batch(
        {
            "id": pa.array(range(count), pa.int64()),
            "day": pa.array(range(count), pa.date32()),
            "at": pa.array(
                [None if row % 7 == 0 else row * 1_000_001 for row in range(count)], pa.timestamp("us", "UTC")
            ),
            "small": pa.array([-(row % 255) for row in range(count)], pa.int16()),
            "rate": pa.array([Decimal(row) - 500 for row in range(count)], pa.decimal128(18, 6)),
            "cents": pa.array([Decimal(row) for row in range(count)], pa.decimal128(9, 2)),
            "amount": pa.array([Decimal(-row) for row in range(count)], pa.decimal128(19, 2)),
            "currency": pa.array(["EUR", "USD"] * (count // 2)),
            "note": pa.array([f"note {row}" for row in range(count)]),
            "id.of": pa.array(range(count), pa.int64()),
        }
    )
    path = tmp_path / "rows.parquet"
    writer = FileWriter(LocalFolder(tmp_path), "rows.parquet", rows.schema)
    writer.write(rows)
    assert writer.close({}) == path.stat().st_size

    group = pq.read_metadata(path).row_group(0)
    ways = {group.column(place).path_in_schema: group.column(place).encodings for place in range(group.num_columns)}
    by_difference = [name for name, used in ways.items() if "DELTA_BINARY_PACKED" in used]
    by_dictionary = [name for name, used in ways.items() if "RLE_DICTIONARY" in used]
    assert (by_difference, by_dictionary) == (
        ["id", "day", "at", "small", "rate", "cents"],
        ["currency"],
    )
    assert pq.read_table(path).to_batches() == [rows]
