"""Lakes of table formats: one commit for each window, exactly once, readable by others and back again exactly."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidegate import plugins
from tidegate.errors import LakeError, Unsupported
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, LakeTable, Layout, Part
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes._landing import Conflict
from tidegate.lakes._tables import TableLake
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import PartitionToken
from tidegate.model.values import Value, ValueKind
from tidegate.storage.local import LocalFolder

ORDERS = LakeTable(TableName("", "orders"), Layout.VALUES, "day")
RATES = LakeTable(TableName("", "rates"), Layout.WHOLE, "static")
CLIENTS = LakeTable(TableName("sales", "clients"), Layout.LOG, "scd")
NEWEST = "2024-01-31-10-00-00"
RUN = "run"
FORMATS = ["iceberg", "delta"]


def field(name: str, kind: pa.DataType, storage_type: str) -> pa.Field:
    return pa.field(name, kind, metadata={"tidegate.storage_type": storage_type})


SCHEMA = pa.schema([field("day", pa.int32(), "int32"), field("id", pa.int64(), "int64")])


@pytest.fixture(params=FORMATS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> TableLake:
    made = plugins.lake(request.param).at(tmp_path / "lake")
    assert isinstance(made, TableLake)
    made.begin(RUN)
    return made


def rows_of(window: str, ids: tuple[int, ...]) -> pa.RecordBatch:
    day = int(window) if window.isdigit() else 0
    return pa.record_batch([pa.array([day] * len(ids), pa.int32()), pa.array(ids, pa.int64())], schema=SCHEMA)


def write(
    lake: TableLake,
    table: LakeTable,
    window: str,
    *ids: int,
    role: str = ROWS,
    name: str = "attempt",
    rows: pa.RecordBatch | None = None,
    **facts: Any,
) -> Part:
    """Return a part with these rows, which is not committed yet."""
    batch = rows if rows is not None else rows_of(window, ids)
    told: dict[str, Any] = {
        "window": window,
        "rows": batch.num_rows,
        "hash": f"{sum(ids):032x}",
        "columns": tuple(batch.schema.names),
        "columns_id": "columns",
        "storage_types": tuple((one.metadata or {})[b"tidegate.storage_type"].decode() for one in batch.schema),
        "text_columns": (),
        "token": PartitionToken("7"),
        "run": RUN,
        "why": "new in the source",
        "read_at": "2024-01-31T10:00:00+00:00",
        "scope": Scope().to_json(),
    }
    writer = lake.writer(table, RUN, f"{name}-{window}-{sum(ids)}", batch.schema, role)
    writer.write(batch)
    return writer.close(EntryFacts(**{**told, **facts}))


def put(lake: TableLake, table: LakeTable, window: str, *ids: int, **facts: Any) -> LakeEntry:
    """Return a committed entry with these rows."""
    return lake.commit(table, window, [write(lake, table, window, *ids, **facts)])[0]


def ids_in(lake: TableLake, table: LakeTable, entry: LakeEntry, role: str = ROWS) -> list[int]:
    return [row for batch in lake.read(table, entry.id, BatchSize(), role=role) for row in batch["id"].to_pylist()]


def seen_from_outside(lake: TableLake, table: LakeTable) -> list[dict[str, Any]]:
    """Return the rows of the table as the format's own library reads them."""
    found = READERS[lake.kind](Path(lake.place), *lake.names(table.name))
    return sorted(found.to_pylist(), key=repr)


def ids_outside(lake: TableLake, table: LakeTable) -> list[int]:
    return sorted(row["id"] for row in seen_from_outside(lake, table))


def by_pyiceberg(root: Path, schema: str, name: str) -> pa.Table:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("tidegate", uri=f"sqlite:///{root}/catalog.db", warehouse=f"file://{root}")
    try:
        return catalog.load_table((schema, name)).scan().to_arrow()
    finally:
        catalog.close()


def by_delta_rs(root: Path, schema: str, name: str) -> pa.Table:
    from deltalake import DeltaTable
    from deltalake.query import QueryBuilder

    # `to_pyarrow_table` of deltalake 1.6.6 aborts the process at its end.
    reader = QueryBuilder().register("rows", DeltaTable(str(root / schema / name)))
    return pa.table(reader.execute("SELECT * FROM rows"))


READERS: dict[str, Callable[[Path, str, str], pa.Table]] = {"iceberg": by_pyiceberg, "delta": by_delta_rs}


# Commits


@pytest.mark.parametrize(("table", "window"), [(ORDERS, "1"), (RATES, "all rows"), (CLIENTS, NEWEST)])
def test_part_is_invisible_before_its_commit(lake: TableLake, table: LakeTable, window: str):
    """A part that is written and not committed is no entry, and no reader sees it. The commit makes it one."""
    part = write(lake, table, window, 1, 2)
    assert lake.entries(table, {}).by_window == {}
    assert [batch["id"].to_pylist() for batch in lake.read(table, part.id, BatchSize())] == [[1, 2]]

    entry, is_newest = lake.commit(table, window, [part])

    assert is_newest
    assert lake.entries(table, {}).by_window == {window: entry}
    assert lake.entry(table, entry.id) == entry
    assert (entry.rows, entry.hash, ids_in(lake, table, entry)) == (2, f"{3:032x}", [1, 2])
    assert (entry.columns, entry.storage_types) == (("day", "id"), ("int32", "int64"))
    assert (entry.token, entry.read_at) == (PartitionToken("7"), "2024-01-31T10:00:00+00:00")
    assert ids_outside(lake, table) == [1, 2]


def test_odd_names_are_kept_apart(lake: TableLake):
    """Tables with odd names, and of other schemas, have places of their own."""
    odd = [
        TableName("", "Order Items"),
        TableName("", "Order_Items"),
        TableName("..", "a.b/c"),
        TableName("é", "orders"),
    ]
    tables = [LakeTable(name, Layout.VALUES, "day") for name in odd]
    for number, table in enumerate(tables):
        put(lake, table, "1", number)

    assert [ids_outside(lake, table) for table in tables] == [[number] for number in range(4)]
    assert all(path.is_relative_to(lake.place) for path in Path(lake.place).rglob("*.parquet"))


def test_value_replaces_its_own_rows_only(lake: TableLake):
    """A value that is committed again takes the place of its rows. Readers see one version, and other values stay."""
    first, other = put(lake, ORDERS, "1", 1), put(lake, ORDERS, "2", 2)
    again, _ = lake.commit(ORDERS, "1", [write(lake, ORDERS, "1", 5)], replaces=first.etag)

    assert lake.entries(ORDERS, {}).by_window == {"1": again, "2": other}
    assert ids_outside(lake, ORDERS) == [2, 5]
    assert ids_in(lake, ORDERS, first) == [1], "what was replaced stays readable as history"


@pytest.mark.parametrize(
    ("partition", "spec"),
    [("identity", "identity"), ("truncate(1000)", "truncate[1000]"), ("none", "")],
)
def test_iceberg_tables_are_partitioned_on_request(tmp_path: Path, partition: str, spec: str):
    """A value that comes again takes its own rows alone out of a partition that it shares with others."""
    lake = plugins.lake("iceberg").at(tmp_path)
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    table = LakeTable(TableName("", "orders"), Layout.VALUES, "day", partition)
    first, other = put(lake, table, "1", 1), put(lake, table, "2", 2)
    again, _ = lake.commit(table, "1", [write(lake, table, "1", 5)], replaces=first.etag)

    assert lake.entries(table, {}).by_window == {"1": again, "2": other}
    assert ids_outside(lake, table) == [2, 5]
    metadata = lake.opened(table.name).metadata()
    assert [field["transform"] for field in metadata["partition-specs"][-1]["fields"]] == [spec] * bool(spec)


@pytest.mark.parametrize("partition", ["days", "months"])
def test_timestamps_are_partitioned_by_days(tmp_path: Path, partition: str):
    lake = plugins.lake("iceberg").at(tmp_path)
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    schema = pa.schema([field("day", pa.timestamp("us"), "timestamp"), field("id", pa.int64(), "int64")])
    table = LakeTable(TableName("", "orders"), Layout.VALUES, "day", partition)
    for hour in (1, 2):
        moment = datetime.datetime(2024, 1, 31, hour)
        rows = pa.record_batch([pa.array([moment], pa.timestamp("us")), pa.array([hour], pa.int64())], schema=schema)
        lake.commit(table, str(moment), [write(lake, table, str(moment), rows=rows, name=f"hour-{hour}")])

    assert ids_outside(lake, table) == [1, 2]
    again = pa.record_batch([pa.array([moment], pa.timestamp("us")), pa.array([7], pa.int64())], schema=schema)
    entry = lake.entries(table, {}).by_window[str(moment)]
    lake.commit(table, str(moment), [write(lake, table, str(moment), rows=again, name="again")], replaces=entry.etag)
    assert ids_outside(lake, table) == [1, 7]


def test_a_partition_that_a_type_has_not_is_refused(tmp_path: Path):
    lake = plugins.lake("iceberg").at(tmp_path)
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    with pytest.raises(Unsupported, match="cannot be partitioned by days of day"):
        put(lake, LakeTable(TableName("", "orders"), Layout.VALUES, "day", "days"), "1", 1)


def test_whole_table_is_replaced(lake: TableLake):
    """Of a whole table the newest entry counts, and readers see its rows alone."""
    put(lake, RATES, "all rows", 1, 2)
    newest = put(lake, RATES, "all rows", 3, name="again")

    found = lake.entries(RATES, {})

    assert (found.by_window, found.superseded) == ({"all rows": newest}, ())
    assert ids_outside(lake, RATES) == [3]


def test_log_grows(lake: TableLake):
    """Windows of a log are appended. Their keys are kept beside them, and no reader of the table sees the keys."""
    parts = [write(lake, CLIENTS, NEWEST, 2), write(lake, CLIENTS, NEWEST, 1, 2, 3, role=KEYS)]
    with_keys, _ = lake.commit(CLIENTS, NEWEST, parts)
    put(lake, CLIENTS, "2024-02-01-10-00-00", 4)

    found = lake.entries(CLIENTS, {}).by_window

    assert [entry.has_keys for entry in found.values()] == [True, False]
    assert ids_in(lake, CLIENTS, with_keys, KEYS) == [1, 2, 3]
    assert [batch["id"].to_pylist() for batch in lake.read_log(CLIENTS, ["id"], BatchSize())] == [[2], [4]]
    assert ids_outside(lake, CLIENTS) == [2, 4]


def test_several_parts_make_one_entry(lake: TableLake):
    """The parts of one window are committed at once. Their counts and hashes add up."""
    parts = [write(lake, ORDERS, "1", 1, 2, name="one"), write(lake, ORDERS, "1", 3, name="other")]
    before = len(lake.commits(ORDERS))

    entry, _ = lake.commit(ORDERS, "1", parts)

    assert len(lake.commits(ORDERS)) == before + 1
    assert (entry.rows, entry.hash) == (3, f"{6:032x}")
    assert ids_in(lake, ORDERS, entry) == [1, 2, 3]
    assert ids_outside(lake, ORDERS) == [1, 2, 3]


def test_window_without_rows_is_committed(lake: TableLake):
    """A window in which the source has no rows any more is an entry too, and takes the place of its rows."""
    first = put(lake, ORDERS, "1", 1)
    empty, _ = lake.commit(ORDERS, "1", [write(lake, ORDERS, "1")], replaces=first.etag)

    assert lake.entries(ORDERS, {}).by_window == {"1": empty}
    assert (empty.rows, ids_in(lake, ORDERS, empty), ids_outside(lake, ORDERS)) == (0, [], [])


def test_repeated_commit_changes_nothing(lake: TableLake):
    """A commit that is repeated after its answer was lost finds its own entry, also after others committed."""
    part = write(lake, ORDERS, "1", 1)
    entry, _ = lake.commit(ORDERS, "1", [part])
    put(lake, ORDERS, "2", 2)

    assert lake.commit(ORDERS, "1", [part]) == (entry, True)
    assert ids_outside(lake, ORDERS) == [1, 2]


@pytest.mark.parametrize(("hour", "stays"), [(10, False), (11, True), (12, True)])
def test_newer_entry_of_somebody_else_stays(lake: TableLake, hour: int, stays: bool):
    """When somebody committed the window since planning, the entry that was read later stays."""
    theirs = put(lake, ORDERS, "1", 1, read_at=f"2024-01-31T{hour}:00:00+00:00")
    part = write(lake, ORDERS, "1", 2, read_at="2024-01-31T11:00:00+00:00")

    entry, is_newest = lake.commit(ORDERS, "1", [part], "an etag from before")

    assert is_newest is not stays
    assert (entry == theirs) is stays
    assert ids_outside(lake, ORDERS) == [1 if stays else 2]
    assert bool(lake.storage.etag(part.id)) is not stays


def test_writers_at_once_land_each_window_once(lake: TableLake):
    """Writers that commit different windows at the same time all land. Two that commit the same part land it once."""
    parts = {str(number): write(lake, ORDERS, str(number), number) for number in range(1, 5)}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda window: lake.commit(ORDERS, window, [parts[window]]), [*parts, *parts]))

    assert set(lake.entries(ORDERS, {}).by_window) == set(parts)
    assert ids_outside(lake, ORDERS) == [1, 2, 3, 4]


@pytest.mark.parametrize("is_there", [True, False])
def test_lost_answer_of_a_commit_is_looked_up(lake: TableLake, monkeypatch: pytest.MonkeyPatch, is_there: bool):
    """A commit whose answer was lost is looked up: it is made again only when it is not there."""
    land, lost = type(lake).land, []

    def without_answer(self: TableLake, *arguments: Any) -> None:
        if lost or is_there:
            land(self, *arguments)
        if not lost:
            lost.append("answer")
            raise ConnectionError("the connection was closed")

    monkeypatch.setattr(type(lake), "land", without_answer)
    entry = put(lake, ORDERS, "1", 1)

    assert lost
    assert lake.entries(ORDERS, {}).by_window == {"1": entry}
    assert ids_outside(lake, ORDERS) == [1]


def test_catalog_that_never_answers_is_an_error(lake: TableLake, monkeypatch: pytest.MonkeyPatch):
    """A commit that gets no answer again and again ends with an error in three parts."""

    def without_answer(*_: Any) -> None:
        raise ConnectionError("the connection was closed")

    part = write(lake, ORDERS, "1", 1)
    monkeypatch.setattr(type(lake), "land", without_answer)
    with pytest.raises(LakeError, match="has no answer: the connection was closed") as problem:
        lake.commit(ORDERS, "1", [part])
    assert "nothing is committed twice" in problem.value.safe


def test_commit_on_an_older_state_is_refused(lake: TableLake):
    """A commit is made only on top of the state that was looked at."""
    from tidegate.lakes._landing import Landing

    put(lake, ORDERS, "1", 1)
    seen = lake.commits(ORDERS)
    put(lake, ORDERS, "2", 2)

    with pytest.raises(Conflict):
        lake.land(ORDERS, seen, Landing({"dropped": ["1"]}))
    assert ids_outside(lake, ORDERS) == [1, 2]


def test_dropped_entry_is_gone(lake: TableLake):
    """Dropping removes one entry and its rows. Dropping it again does nothing."""
    kept = put(lake, ORDERS, "1", 1)
    put(lake, ORDERS, "2", 2)

    lake.drop(ORDERS, "2")
    lake.drop(ORDERS, "2")

    assert lake.entries(ORDERS, {}).by_window == {"1": kept}
    assert ids_outside(lake, ORDERS) == [1]


def test_parts_that_are_not_committed_leave_with_the_run(lake: TableLake):
    """Parts that no commit names leave at the end of the run. Committed ones stay."""
    kept = put(lake, ORDERS, "1", 1)
    write(lake, ORDERS, "2", 2, name="lost")
    write(lake, CLIENTS, NEWEST, 2, name="lost", role=KEYS)
    abandoned = lake.writer(ORDERS, RUN, "abandoned", SCHEMA)
    abandoned.write(rows_of("1", (3,)))
    abandoned.abandon()

    lake.end(RUN)

    names = {path.name for path in Path(lake.place).rglob(f"{RUN}.*.parquet")}
    assert names == {f"{RUN}.attempt-1-1.parquet"}
    assert lake.entries(ORDERS, {}).by_window == {"1": kept}
    assert lake.leftovers(0) == []


@pytest.mark.parametrize("loss", ["missing", "cut"])
def test_damaged_file_makes_an_entry_broken(lake: TableLake, loss: str):
    """An entry whose file is missing or cut is broken, and what is extracted anew takes its place."""
    entry = put(lake, ORDERS, "1", 1, 2)
    (file,) = Path(lake.place).rglob(f"{RUN}.*.parquet")
    file.unlink() if loss == "missing" else file.write_bytes(file.read_bytes()[:-10])

    broken = lake.entries(ORDERS, {}).by_window["1"]
    part = write(lake, ORDERS, "1", 9)
    lake.commit(ORDERS, "1", [part], replaces=broken.etag)

    assert broken.broken
    assert broken.etag == entry.etag
    assert ids_outside(lake, ORDERS) == [9]


def test_table_of_another_layout_is_refused(lake: TableLake):
    """A table whose rows are filed otherwise is neither read nor written."""
    put(lake, ORDERS, "1", 1)
    other = LakeTable(ORDERS.name, Layout.WHOLE, "static")

    for act in (lambda: lake.entries(other, {}), lambda: write(lake, other, "all rows", 1)):
        with pytest.raises(LakeError, match="holds rows by day"):
            act()


# Scopes


def test_newest_scope_comes_from_entries_that_the_ledger_lacks(lake: TableLake):
    """When both copies of the scope are lost, the entry that was read last tells it. Known entries tell nothing new."""
    scopes = [Scope(Value.of(number, ValueKind.INTEGER)) for number in (5, 3)]
    for hour, scope in enumerate(scopes, 1):
        put(lake, ORDERS, str(hour), hour, scope=scope.to_json(), read_at=f"2024-01-31T1{hour}:00:00+00:00")

    found = lake.entries(ORDERS, {})

    assert found.scope == scopes[-1]
    known = {
        window: LedgerEntry(1, "loaded", entry.rows, entry.hash, etag=entry.etag)
        for window, entry in found.by_window.items()
    }
    assert lake.entries(ORDERS, known).scope is None


# Columns


def test_values_come_back_exactly(lake: TableLake):
    """Values of every type come back as they were written, in their types."""
    columns = {
        "day": (pa.int32(), "int32", [1, 1]),
        "small": (pa.int16(), "int16", [-32768, None]),
        "flag": (pa.bool_(), "bool", [True, None]),
        "ratio": (pa.float64(), "float64", [float("inf"), -0.0]),
        "single": (pa.float32(), "float32", [1.5, None]),
        "price": (pa.decimal128(38, 18), "decimal(38,18)", [Decimal("12345678901234567890.123456789012345678"), None]),
        "cents": (pa.decimal128(9, 2), "decimal(9,2)", [Decimal("-0.01"), Decimal("9999999.99")]),
        "born": (pa.date32(), "date", [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)]),
        "at": (pa.time64("us"), "time", [datetime.time(23, 59, 59, 999999), None]),
        "seen": (pa.timestamp("us"), "timestamp", [datetime.datetime(9999, 12, 31, 23, 59, 59, 999999), None]),
        "zoned": (
            pa.timestamp("us", "UTC"),
            "timestamptz",
            [datetime.datetime(2024, 3, 31, tzinfo=datetime.UTC), None],
        ),
        "raw": (pa.binary(), "binary", [b"\x00\xff", b""]),
        "Note; of (x)": (pa.string(), "string", ["é\U0001f600", ""]),
        "a.b": (pa.int64(), "int64", [2**63 - 1, -(2**63)]),
    }
    schema = pa.schema([field(name, kind, stored) for name, (kind, stored, _) in columns.items()])
    rows = pa.record_batch([pa.array(values, kind) for kind, _, values in columns.values()], schema=schema)

    entry = put(lake, ORDERS, "1", rows=rows)

    (found,) = lake.read(ORDERS, entry.id, BatchSize())
    assert found.schema.equals(schema)
    assert found.equals(rows)
    (some,) = lake.read(ORDERS, entry.id, BatchSize(), ["at", "a.b"])
    assert set(some.schema.names) == {"at", "a.b"}
    assert len(seen_from_outside(lake, ORDERS)) == 2


def test_window_that_is_read_as_text_stands_beside(lake: TableLake):
    """A column that one window had to be read as text gets a column of texts beside it. Both come back exactly."""
    numbers = pa.schema([SCHEMA.field("day"), field("price", pa.decimal128(9, 2), "decimal(9,2)")])
    texts = pa.schema([SCHEMA.field("day"), field("price", pa.string(), "text")])
    native = pa.record_batch(
        [pa.array([1], pa.int32()), pa.array([Decimal("1.50")], pa.decimal128(9, 2))], schema=numbers
    )
    spelled = pa.record_batch([pa.array([2], pa.int32()), pa.array(["NaN"])], schema=texts)

    entries = [put(lake, ORDERS, "1", rows=native), put(lake, ORDERS, "2", rows=spelled, text_columns=("price",))]

    assert [next(iter(lake.read(ORDERS, entry.id, BatchSize()))) for entry in entries] == [native, spelled]
    assert seen_from_outside(lake, ORDERS) == [
        {"day": 1, "price": Decimal("1.50"), "price__text": None},
        {"day": 2, "price": None, "price__text": "NaN"},
    ]


def test_new_column_is_added(lake: TableLake):
    """A column that the source got later is added to the table. Older rows have no value in it."""
    wider = pa.schema([*SCHEMA, field("desk", pa.string(), "string")])
    put(lake, ORDERS, "1", 1)
    put(
        lake,
        ORDERS,
        "2",
        rows=pa.record_batch([pa.array([2], pa.int32()), pa.array([2]), pa.array(["x"])], schema=wider),
    )

    assert [row["desk"] for row in seen_from_outside(lake, ORDERS)] == [None, "x"]


def test_lossy_change_of_type_is_refused(lake: TableLake):
    """A type that the format cannot change without loss is refused, with the reason, before anything is committed."""
    put(lake, ORDERS, "1", 1)
    other = pa.schema([SCHEMA.field("day"), field("id", pa.date32(), "date")])

    with pytest.raises(LakeError, match="the column id was"):
        lake.writer(ORDERS, RUN, "other", other)


def test_duckdb_reads_an_iceberg_table_by_its_path(tmp_path: Path):
    """DuckDB, which knows no catalog, finds the newest state of a table by its folder."""
    import duckdb
    import duckdb_extension_avro
    import duckdb_extension_iceberg

    lake = plugins.lake("iceberg").at(tmp_path / "lake")
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    first = put(lake, ORDERS, "1", 1)
    put(lake, ORDERS, "2", 2)
    lake.commit(ORDERS, "1", [write(lake, ORDERS, "1", 3)], replaces=first.etag)

    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as reader:
        for package in (duckdb_extension_avro, duckdb_extension_iceberg):
            (file,) = Path(package.__path__[0]).rglob("*.duckdb_extension")
            reader.execute(f"LOAD '{file}'")
        folder = f"{lake.place}/default/orders"
        found = reader.execute("SELECT day, id FROM iceberg_scan(?) ORDER BY id", [folder]).fetchall()

    assert found == [(2, 2), (1, 3)]


def test_rows_that_somebody_else_took_break_their_entry(tmp_path: Path):
    """Rows that somebody appends leave our entries alone. Files that somebody takes out make their entries broken, and
    what is extracted anew is there once."""
    from pyiceberg.catalog.sql import SqlCatalog

    lake = plugins.lake("iceberg").at(tmp_path / "lake")
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    kept, lost = put(lake, ORDERS, "1", 1), put(lake, ORDERS, "2", 2)
    catalog = SqlCatalog("tidegate", uri=f"sqlite:///{lake.place}/catalog.db", warehouse=f"file://{lake.place}")
    table = catalog.load_table("default.orders")
    table.append(pa.table({"day": pa.array([3], pa.int32()), "id": pa.array([3], pa.int64())}))
    assert lake.entries(ORDERS, {}).by_window == {"1": kept, "2": lost}
    table.refresh()
    table.delete("day = 2")
    catalog.close()

    found = lake.entries(ORDERS, {}).by_window
    assert found["1"] == kept
    assert "somebody took rows out of the table" in found["2"].broken
    assert [commit.operation for commit in lake.commits(ORDERS)] == ["append", "append", "append", "delete"]

    lake.commit(ORDERS, "2", [write(lake, ORDERS, "2", 5)], replaces=found["2"].etag)
    assert lake.entries(ORDERS, {}).by_window["2"].broken == ""
    assert ids_outside(lake, ORDERS) == [1, 3, 5]
    assert lake.health(ORDERS).foreign


def later() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)


@pytest.mark.parametrize("table", [ORDERS, CLIENTS])
def test_clean_keeps_every_entry(lake: TableLake, table: LakeTable):
    """Old states leave with their files; entries, rows and what comes later are as before. A second clean finds
    nothing."""
    windows = ("1", "2") if table is ORDERS else (NEWEST, NEWEST.replace("10", "11"))
    first = put(lake, table, windows[0], 1)
    put(lake, table, windows[1], 2)
    if table is ORDERS:
        lake.commit(table, windows[0], [write(lake, table, windows[0], 3)], replaces=first.etag)
    put(lake, table, windows[1] + "9", 9)
    before, rows = lake.entries(table, {}).by_window, seen_from_outside(lake, table)

    assert lake.clean(table, later(), dry_run=True).files == 0, "the run is still at work"
    lake.end(RUN)
    planned = lake.clean(table, later(), dry_run=True)
    assert lake.entries(table, {}).by_window == before
    assert len(lake.history(table)) == planned.versions + 1
    assert lake.clean(table, later(), dry_run=False) == planned
    assert planned.files == (1 if table is ORDERS else 0)

    assert lake.entries(table, {}).by_window == before
    assert seen_from_outside(lake, table) == rows
    assert [ids_in(lake, table, entry) for entry in before.values()]
    assert lake.clean(table, later(), dry_run=True).files == 0
    put(lake, table, windows[1] + "99", 7)
    assert len(lake.entries(table, {}).by_window) == len(before) + 1
    assert len(lake.history(table)) <= 4


def test_clean_leaves_what_is_young_or_at_work(lake: TableLake):
    """Files of a run that is at work stay, and so do states within the retention."""
    put(lake, ORDERS, "1", 1)
    put(lake, ORDERS, "1", 2, read_at="2024-01-31T11:00:00+00:00")
    waiting = write(lake, ORDERS, "2", 5)

    assert lake.clean(ORDERS, later() - datetime.timedelta(days=3), dry_run=False).versions == 0
    lake.clean(ORDERS, later(), dry_run=False)

    lake.commit(ORDERS, "2", [waiting])
    assert ids_outside(lake, ORDERS) == [2, 5]


def test_a_new_catalog_is_opened_by_many_at_once(tmp_path: Path):
    """Several threads make the first tables of a warehouse: all of them are there."""
    lake = plugins.lake("iceberg").at(tmp_path / "lake")
    names = [f"t{number}" for number in range(8)]

    def make(name: str) -> None:
        lake.opened(TableName("", name)).append(pa.table({"id": [1]}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, names))

    assert all(lake.opened(TableName("", name)).exists for name in names)


def test_table_of_a_path_catalog_is_read_and_adopted(tmp_path: Path):
    """A table that a folder alone names is read as it is, is written only after it was adopted, and then goes on."""
    lake = plugins.lake("iceberg").at(tmp_path / "lake")
    made = lake.opened(TableName("", "codes"))
    made.append(pa.table({"id": [1, 2]}))
    (tmp_path / "lake" / "catalog.db").unlink()

    table = plugins.lake("iceberg").at(tmp_path / "lake").opened(TableName("", "codes"))
    assert table.exists and len(table.versions()) == 1
    assert pa.Table.from_batches(table.rows()).to_pydict() == {"id": [1, 2]}
    with pytest.raises(LakeError, match="belongs to a path catalog"):
        table.append(pa.table({"id": [3]}))

    table.adopt()
    table.append(pa.table({"id": [3]}))
    assert sorted(pa.Table.from_batches(table.rows())["id"].to_pylist()) == [1, 2, 3]
    with pytest.raises(LakeError, match="in the catalog already"):
        table.adopt()
    with pytest.raises(LakeError, match="no metadata/version-hint"):
        lake.opened(TableName("", "nothing")).adopt()


def test_small_files_become_one_for_readers(lake: TableLake):
    """Files of a log are merged: readers see the same rows in one file, every entry is as before, and goes on."""
    names = [f"{NEWEST}-{number}" for number in range(5)]
    for number, name in enumerate(names):
        put(lake, CLIENTS, name, number)
    wider = pa.schema([*SCHEMA, field("desk", pa.string(), "string")])
    put(lake, CLIENTS, f"{NEWEST}-9", rows=pa.record_batch([pa.array([0], pa.int32()), [9], ["x"]], schema=wider))
    before, rows = lake.entries(CLIENTS, {}).by_window, seen_from_outside(lake, CLIENTS)

    (group,) = lake.small(CLIENTS)
    part = lake.merge(CLIENTS, RUN, "merged", group)
    lake.commit_merged(CLIENTS, RUN, {part.id: group})

    assert len(lake.files_at(CLIENTS)) == 1 and lake.small(CLIENTS) == []
    assert seen_from_outside(lake, CLIENTS) == rows
    assert lake.entries(CLIENTS, {}).by_window == before
    lake.end(RUN)
    lake.clean(CLIENTS, later(), dry_run=False)
    assert seen_from_outside(lake, CLIENTS) == rows
    assert [ids_in(lake, CLIENTS, entry) for entry in before.values()] == [[0], [1], [2], [3], [4], [9]]
    with pytest.raises(LakeError, match="changed while they were merged"):
        lake.commit_merged(CLIENTS, RUN, {part.id: group})

    put(lake, CLIENTS, f"{NEWEST}-8", 8)
    again = write(lake, CLIENTS, names[1], 11, name="again", read_at="2024-01-31T11:00:00+00:00")
    lake.commit(CLIENTS, names[1], [again], replaces=before[names[1]].etag)
    assert ids_outside(lake, CLIENTS) == [0, 2, 3, 4, 8, 9, 11]


def merge_by_delta_rs(lake: TableLake, schema: str, name: str) -> None:
    from deltalake import DeltaTable

    DeltaTable(f"{lake.place}/{schema}/{name}").optimize.compact()


def test_value_is_replaced_after_somebody_merged_the_files(tmp_path: Path):
    """Delta merges files of several values into one. A value that comes again is there once, beside all the others."""
    lake = plugins.lake("delta").at(tmp_path / "lake")
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    entries = [put(lake, ORDERS, str(day), day * 10) for day in (1, 2, 3)]
    merge_by_delta_rs(lake, "default", "orders")
    assert ids_outside(lake, ORDERS) == [10, 20, 30]

    lake.commit(ORDERS, "2", [write(lake, ORDERS, "2", 21)], replaces=entries[1].etag)
    lake.drop(ORDERS, "3")

    assert ids_outside(lake, ORDERS) == [10, 21]
    found = lake.entries(ORDERS, {}).by_window
    assert {window: entry.broken for window, entry in found.items()} == {"1": "", "2": ""}


def test_rows_that_left_after_they_were_merged_are_missed(tmp_path: Path):
    """Rows go into another file by a compaction and leave from there: the windows that they came with are broken, and
    after they came again readers see each row once."""
    from deltalake import DeltaTable

    lake = plugins.lake("delta").at(tmp_path / "lake")
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    windows = {name: put(lake, CLIENTS, name, number) for number, name in enumerate((NEWEST, f"{NEWEST}-1"))}
    merge_by_delta_rs(lake, "sales", "clients")
    assert not [entry for entry in lake.entries(CLIENTS, {}).by_window.values() if entry.broken]

    DeltaTable(f"{lake.place}/sales/clients").delete("id = 1")

    found = lake.entries(CLIENTS, {}).by_window
    assert all("somebody took rows" in entry.broken for entry in found.values())
    for number, name in enumerate(windows):
        again = write(lake, CLIENTS, name, number, name="again", read_at="2024-01-31T11:00:00+00:00")
        lake.commit(CLIENTS, name, [again], replaces=found[name].etag)
    assert ids_outside(lake, CLIENTS) == [0, 1]
    assert not [entry for entry in lake.entries(CLIENTS, {}).by_window.values() if entry.broken]


def test_long_history_is_read_in_its_order(tmp_path: Path):
    """The windows of 5,000 snapshots are found from one file of metadata, oldest first."""
    from tidegate.lakes.iceberg import catalog
    from tidegate.lakes.iceberg.commits import commits_of

    lake = plugins.lake("iceberg").at(tmp_path / "lake")
    assert isinstance(lake, TableLake)
    lake.begin(RUN)
    put(lake, ORDERS, "1", 1)
    metadata = catalog.Catalog(LocalFolder(Path(lake.place))).metadata(("default", "orders"))
    assert metadata is not None
    (first,) = metadata["snapshots"]
    numbers = range(1, 5001)
    many = [
        {
            **first,
            "snapshot-id": number,
            "parent-snapshot-id": number - 1 or None,
            "summary": {**first["summary"], "tidegate.window": str(number)},
        }
        for number in numbers
    ]

    commits = commits_of({**metadata, "snapshots": many, "current-snapshot-id": 5000})

    assert [commit.window for commit in commits] == [str(number) for number in numbers]


def test_two_writers_make_one_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both writers see that the namespace is missing, both create it, and both tables are there."""
    from pyiceberg.catalog.sql import SqlCatalog

    lake = plugins.lake("iceberg").at(tmp_path / "lake")
    with lake.catalog.opened():  # the file of the catalog is there
        pass
    asked, both, look = [], threading.Barrier(2, timeout=20), SqlCatalog.namespace_exists

    def look_together(catalog: SqlCatalog, name: Any) -> bool:
        found = look(catalog, name)
        asked.append(found)
        if len(asked) <= 2:
            both.wait()
        return found

    monkeypatch.setattr(SqlCatalog, "namespace_exists", look_together)
    schema = pa.schema([("id", pa.int64())])
    tables = [lake.opened(TableName("sales", name)) for name in ("one", "two")]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda table: table.create(schema), tables))
    assert asked[:2] == [False, False]
    assert all(table.exists for table in tables)
