"""The statements that have a golden file, by its name: those of every database, and those of a single one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sql.recorders import Rows
from tidegate.errors import Locked, TidegateError, Transient, ValueProblem
from tidegate.frames.queries import index_on
from tidegate.interfaces import ReadRequest, Session
from tidegate.interfaces.load import AsideRow
from tidegate.interfaces.splits import Divisible
from tidegate.loads._soft_deletes import is_gone
from tidegate.model.columns import Column, TableSchema
from tidegate.model.cursors import Cursor
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import MappedTable, TableName
from tidegate.model.records import Gap, LoadMetrics, Watermark
from tidegate.model.scope import Scope
from tidegate.model.state import LedgerEntry
from tidegate.model.structure import Index
from tidegate.model.tokens import PartitionToken
from tidegate.model.types import Type
from tidegate.model.values import Value, ValueKind
from tidegate.ops.queries import get_incremental_query
from tidegate.sql import contents, cursors, partitions, staged, watermarks
from tidegate.sql.foreign_keys import count_orphans
from tidegate.sql.text import Name, Sql, raw, sql
from tidegate.state import lock, notes, own_tables
from tidegate.state.ledger import Ledger
from tidegate.state.records import Records
from tidegate.state.rows_aside import Aside


@dataclass(frozen=True)
class Statement:
    """What a session sends during `call`; without a `call`, what it sends when it opens.

    `opened` are arguments of `connect`, `raises` is the expected error; the others are arguments of the recorder.
    """

    call: Callable[[Session], object] | None
    answers: Mapping[str, Rows] = field(default_factory=dict)
    lock_is_free: bool = True
    server: str = ""
    raises: type[TidegateError] | None = None
    opened: Mapping[str, Any] = field(default_factory=dict)


def joint_load(session: Session) -> None:
    """Load two tables in one transaction, the first without its triggers."""
    bypassed = [ODD] if session.database.can_bypass_triggers else []
    with session.one_transaction([ODD, ANOTHER], bypassed), session.transaction():
        session.execute(contents.delete_rows(ODD))


def structure(session: Session) -> None:
    """Ask for what a table has besides columns, and create it in another one."""
    session.structures([ODD, ANOTHER])
    session.type_definitions(["public.mood", "it's.odd[]"])
    database = session.database
    refused = database.index_problem([NOTE]) if database.kind == "redshift" else ""
    is_known = database.kind == "postgresql"  # a definition is only sent to its own kind of database
    statements = [
        None if refused else database.create_index(ODD, Index("by_code", ("code", "note"), is_unique=True)),
        database.create_index(ODD, Index("lower", (), definition="USING btree (lower(code))")) if is_known else None,
        database.add_foreign_key(replace(TO_ANOTHER, is_deferrable=True)),
        database.set_default(ODD, "note", "'it''s'"),
        database.comment(ODD, "", "it's ours"),
        database.comment(ODD, "note", "it's ours"),
    ]
    for statement in statements:
        if statement is not None:
            session.execute(statement)


def mapped_table(session: Session) -> None:
    """Count, and read a row, of a table that the configuration maps; then what is counted because of it."""
    database, condition = session.database, "region = 'EU' -- {others}"
    renamed = database.render(sql("{name}", name=Name.of(NOTE.name)))
    mapped = MappedTable(ODD.schema, ODD.name, ((renamed, "note"),), condition)
    session.query(contents.count_rows(mapped))
    session.query(contents.count_doubled(ODD, own(session, LOAD_ID)))
    session.query(contents.count_doubled(mapped, own(session, LOAD_ID), sql("{note} IS NULL", note=Name.of("note"))))
    session.query(contents.count_rows(mapped, sql("{note} IS NULL", note=Name.of("note"))))
    session.query(contents.count_all_and(ODD, condition))
    for family in ("date", "clock", "time", "decimal", "enum"):
        column_of_it = database.declare(column(f"a {family}", Type(family, 9, 2)))
        valid = database.only_valid(replace(column_of_it, logical_type=Type(family, 9, 2)))
        if valid is not None:
            session.query(contents.count_invalid(ODD, column_of_it, valid, ""))
    valid = sql("{note}", note=Name.of("note"))
    session.query(contents.count_invalid(ODD, NOTE, valid, condition))
    session.query(contents.examples_of_invalid([NOTE], ODD, NOTE, valid, condition, 3))


def column(name: str, logical_type: Type, *, nullable: bool = True) -> Column:
    """Return a column of a logical type; each database declares its own for it."""
    return Column(name, str(logical_type), logical_type.storage_type, nullable=nullable, logical_type=logical_type)


ODD = TableName("sales", 'odd "orders" `of` [x] {y} 100%')
ANOTHER = TableName("sales", "daily")
TO_ANOTHER = ForeignKey("fk", ODD, ("cobid", "code"), ANOTHER, ("id", "code"))
COBID = column("cobid", Type("int32"), nullable=False)
NOTE = column('it\'s a "note"', Type("string", 20))
CODE = column("code", Type("string", 20), nullable=False)
LOAD_ID = column("load_id", Type("int64"))
LONG = column("long", Type("string"), nullable=False)
BYTES = column("b", Type("binary"))
BITS = column("bits", Type("bits", 8))
EVERY_TYPE = tuple(
    column(f"a {logical_type}", logical_type)
    for logical_type in (
        *(Type(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)),
        *map(Type, ("flag", "bool", "float32", "float64", "number", "date", "uuid", "json", "xml", "geometry")),
        *(Type("decimal", 19, 2), Type("decimal", 50, 10)),
        *(Type("time", 6), Type("clock", 3), Type("timestamp", 6), Type("instant", 3)),
        *(Type("string", 20), Type("string"), Type("char", 3), Type("trimmed", 4), Type("enum", 10)),
        *(Type("binary", 16), Type("binary"), Type("bits", 8), Type("local", spelling="inet")),
    )
)
POINT = bytes(4) + b"\x01\x01\x00\x00\x00" + bytes(16)
NO_DAY = Value.null(ValueKind.INTEGER)
DAY, NEXT_DAY = Value.of(20240131, ValueKind.INTEGER), Value.of(20240201, ValueKind.INTEGER)
TEXTS = [Value.of("it's", ValueKind.TEXT), Value.of("back\\slash", ValueKind.TEXT)]
VALUES = (
    (Type("int64"), DAY),
    (Type("uint64"), DAY),
    (Type("decimal", 10, 2), Value.of("1.50", ValueKind.DECIMAL)),
    (Type("date"), Value.of("2024-01-31", ValueKind.DATE)),
    (Type("timestamp", 3), Value.of("2024-01-31 10:00:00.5", ValueKind.TIMESTAMP)),
    (Type("instant", 6), Value.of("2024-01-31 10:00:00", ValueKind.TIMESTAMP)),
    (Type("string", 20), TEXTS[0]),
    (Type("char", 3), Value.of("a", ValueKind.TEXT)),
    (Type("uuid"), Value.of("0b5e36e0-4f4b-4c2f-8a6d-0c2f4f0f0d57", ValueKind.TEXT)),
)
ENTRY = LedgerEntry(
    generation=3,
    kind="loaded",
    rows=1204,
    hash="0f" * 16,
    text_columns=("it's",),
    token=PartitionToken("2024-01-31 10:00:00"),
    columns_id="abc",
    etag="1204-99",
    run="r-1",
)


# Helpers for the tables below


def cursors_of(session: Session) -> list[Cursor]:
    """Return a cursor of one column, and two of several columns."""
    columns = own(session, column("a", Type("timestamp", 6)), column("b", Type("timestamp", 6)))
    return [Cursor(columns[:1]), Cursor(columns, "coalesce"), Cursor(columns, "greatest")]


def watermark_bounds(session: Session) -> None:
    [number] = own(session, LOAD_ID)
    for cursor in cursors_of(session):
        session.query(watermarks.bounds(ODD, cursor, NOON, NOON, session.database.open_transactions(ODD)))
    session.query(watermarks.bounds(ODD, cursors_of(session)[0], None, None, None))
    session.query(watermarks.first_missing_number(ODD, number, DAY))
    question = session.database.number_block(ODD, number)
    if question is not None:
        session.query(question)


def watermark_of_transactions(session: Session) -> None:
    counter = session.database.change_counter(TableSchema(ODD, ()))
    assert counter is not None
    clock = session.database.clock_query(counter)
    assert clock is not None
    session.query(clock)
    session.query(watermarks.bounds(ODD, Cursor((counter,), is_extracted=False), DAY, DAY, None))


def watermark_rows(session: Session) -> None:
    for cursor in cursors_of(session):
        for rows in (
            watermarks.between(cursor, NOON, NOON),
            watermarks.between(cursor, NOON, None, with_missing=True),
            watermarks.between(cursor, None, None),
            watermarks.later_than(cursor, NOON),
        ):
            session.query(cursors.count_where(ODD, rows))
        session.query(watermarks.count_missing(ODD, cursor))
        session.query(watermarks.examples_of_missing(ODD, cursor, own(session, COBID, NOTE), 5))


def own(session: Session, *columns: Column) -> tuple[Column, ...]:
    """Return the columns as this database declares them."""
    return tuple(session.database.declare(column) for column in columns)


def read(session: Session, *columns: Column, rows: Sql | None = None, as_text: bool = False) -> None:
    names = tuple(column.name for column in columns) if as_text else ()
    for _ in session.read(ReadRequest(ODD, columns, rows, names)):
        raise AssertionError("there are no rows")


def write(session: Session, *columns: Column) -> None:
    arrays = {
        COBID.name: pa.array([7, 8], pa.int32()),
        NOTE.name: pa.array(['say "hi", it\'s\n\\.\n', None]),
        BYTES.name: pa.array([b"\x00\xff", b""]),
        BITS.name: pa.array(["00000101", None]),
        "shape": pa.array([POINT, None]),
        "y": pa.array([0, None], pa.int16()),
    }
    batch = pa.record_batch({column.name: arrays[column.name] for column in columns})
    session.write(ODD, columns, iter([batch]))


def create(
    session: Session, *columns: Column, key: Sequence[str] = (), index_on: str = "", name: TableName = ODD
) -> None:
    for statement in session.database.create_table(name, own(session, *columns), key, index_on):
        session.execute(statement)


def values(session: Session, of: Column, *, indexed: bool) -> None:
    session.partition_values(ODD, of, indexed=indexed, limit=100_001)


def counts(session: Session, of: Column, wanted: list[Value], newest: Column | None = None) -> None:
    session.query(partitions.count_by_value(ODD, *own(session, of), wanted, newest))


def deletes(session: Session) -> Iterator[Sql]:
    for logical_type, value in VALUES:
        yield partitions.delete_value(ODD, *own(session, column(f"a {logical_type}", logical_type)), value)


def in_transaction(session: Session, call: Callable[[], object]) -> None:
    with session.transaction():
        call()


def rolled_back(session: Session) -> None:
    with suppress(KeyError), session.transaction():
        raise KeyError


def stage_changes(session: Session) -> None:
    """Update, delete and read rows with a key of two columns."""
    cobid, note, code = own(session, COBID, NOTE, BYTES)
    batch = pa.record_batch(
        {"a": pa.array([7, 8], pa.int32()), "b": pa.array(["it's", ""]), "c": pa.array([b"x", None])}
    )
    with session.staging_table(ODD, [cobid, note, code], iter([batch])) as stage:
        session.execute(staged.update_from_stage(ODD, stage, [cobid, note], [code]))
        session.execute(staged.delete_by_stage(ODD, stage, [cobid, note]))
        read(session, cobid, note, rows=staged.key_is_staged(stage, [cobid, note]))
        read(session, cobid, note, rows=staged.key_is_staged(stage, [cobid]))


def values_in_the_way(session: Session) -> None:
    """Find partition values by keys of one and of two columns; the values are numbers and texts."""
    cobid, code, note = own(session, COBID, CODE, NOTE)
    batch = pa.record_batch({"a": pa.array(["x"]), "b": pa.array(["it's"])})
    with session.staging_table(ODD, [code, note], iter([batch])) as stage:
        session.query(partitions.values_with_keys(ODD, cobid, stage, [code]))
        session.query(partitions.values_with_keys(ODD, note, stage, [code, note]))


def keep_own_columns(session: Session) -> None:
    """Values of columns that only the target has: find, save and restore them."""
    cobid, note, code = own(session, COBID, NOTE, BYTES)
    day = partitions.has_value(cobid, Value.of(20240115, ValueKind.INTEGER))
    session.query(contents.has_rows(ODD, staged.has_any_value([note, code], day)))
    session.query(contents.has_rows(ODD, staged.has_any_value([note], None)))
    with session.staging_table(ODD, [cobid, note, code], iter(())) as stage:
        session.execute(staged.copy_into_stage(ODD, stage, [cobid, note, code], day))
        session.execute(staged.copy_into_stage(ODD, stage, [cobid, note, code], None))
        session.execute(staged.update_from_stage(ODD, stage, [cobid], [note, code]))


def rows_aside(session: Session) -> None:
    """Rows that stay out of the target: kept, and found again."""
    aside, row = Aside(session, "sales.orders"), AsideRow("1f", "[7]", "a0", '{"id": 7, "item": "it\'s late"}')
    aside.keep_late([row], "changed_at", "2024-01-15 12:00:00")
    aside.keep_duplicates([row], ["id"], "the row with the greatest changed_at was chosen")
    aside.late_hashes()


def soft_deletes(session: Session) -> None:
    """Rows of the target that only say that they left the source: counted as not there."""
    [mark] = own(session, column("is gone", Type("bool")))
    session.query(contents.count_rows(ODD, sql("NOT ({gone})", gone=is_gone(mark))))
    session.query(contents.has_rows(ODD, is_gone(mark)))


def splits(session: Session, *columns: Column, rows: Sql | None = None, fixed: str = "") -> None:
    """Divide a table with a key of these columns into three parts, and read them."""
    chosen = own(session, *columns)
    key = tuple(one.name for one in chosen)
    schema = TableSchema(ODD, chosen, primary_key=key)
    window = Divisible(ReadRequest(ODD, chosen, rows), schema, 900_000, (fixed,) if fixed else ())
    for request in session.split(window, 3):
        for _ in session.read(request):
            raise AssertionError("there are no rows")


def indexes_aside(session: Session) -> None:
    for build in session.set_indexes_aside(ODD):
        session.execute(build)


def kept_notes(session: Session) -> None:
    notes.Notes(session).of("alert")
    notes.Notes(session).update("alert", {"it's late": {"since": "today"}, "gone": None})


def mark(session: Session) -> None:
    columns = own(session, COBID, NOTE)
    rows = partitions.has_value(columns[0], DAY)
    session.last_change(ODD)
    session.query(contents.count_and_greatest(ODD, NOTE))
    session.change_mark(Divisible(ReadRequest(ODD, columns, rows), TableSchema(ODD, columns), 900_000))


# One answer for every question of a split: where the rows lie, or the next boundary.
HEAPS: Rows = [("p", "", 0, -1), ("r", "heap", 120_000, 1_000_000), ("r", "heap", 80_000, 900_000)]
PLACES: Rows = [(0, 300), (1, 300), (7, 300)]
BOUNDARIES: dict[str, Rows] = {"pg_relation_size": HEAPS, "AS place": PLACES, "OFFSET": [("7",)]}

MOMENT, TRUTH = column("changed at", Type("timestamp", 3), nullable=False), column("is latest", Type("bool"))
NOON = Value.of("2024-01-31 12:00:00.125", ValueKind.TIMESTAMP)
EVE = Value.of("2024-01-30 12:00:00", ValueKind.TIMESTAMP)


def clocks(session: Session) -> None:
    for logical_type in (Type("timestamp", 3), Type("instant", 6), Type("date"), Type("int64")):
        question = session.database.clock_query(*own(session, column("cursor", logical_type)))
        if question is not None:
            session.query(question)


def windows(session: Session) -> None:
    """The conditions of a window, of a first run with current versions, of a count and of a verification."""
    moment, truth = own(session, MOMENT, TRUTH)
    latest = cursors.is_current(truth, "1")
    for rows in (
        cursors.is_missing(moment),
        cursors.is_after_pair(moment, truth, NOON, Value.of("1", ValueKind.INTEGER), inclusive=False),
        cursors.is_after_pair(moment, truth, NOON, Value.of("1", ValueKind.INTEGER), inclusive=True),
        cursors.between(moment, NOON, NOON),
        cursors.between(moment, NOON, NOON, latest),
        cursors.between(moment, None, NOON, latest),
        cursors.between(moment, NOON, None),
        cursors.is_older_and(moment, NOON, latest),
        cursors.is_greater(moment, NOON),
    ):
        session.query(cursors.count_where(ODD, rows))


def records(session: Session) -> None:
    """Every statement on the own tables, once."""
    kept = Records(session)
    kept.set_watermark(Watermark("it's", "orders", "updated_at", "2024-01-31 10:00:00.5", updated_by="somebody"))
    kept.watermark("it's", "orders", "updated_at")
    kept.watermarks("it's", "orders")
    kept.record_load(LoadMetrics("l-1", finished_at="now"))
    kept.load("l-1")
    kept.loads("it's", "orders", 20)
    kept.loads()
    kept.record_gaps("it's", "orders", "id", {"g-1": Gap("sequence", "3", "4", 2)})
    kept.record_gaps("it's", "orders", "id", {})
    kept.settings("it's", "orders")
    kept.all_settings("it's")
    kept.set_settings("it's", "orders", {"table": "orders"})


def _queries_of_strategies(session: Session) -> None:
    """Ask what an entry of `tables.yml` stands for, by each strategy."""
    for strategy in ("hybrid", "timestamp", "id_only", "full_sync"):
        entry = {"name": str(ODD), "cdc_strategy": strategy, "cdc_id_column": 'it\'s an "id"'}
        watermark = {"last_mysql_data_timestamp": "2024-08-15 10:30:00", "last_processed_id": 7}
        session.query(raw(get_incremental_query(entry, watermark, session.database.kind)))


SHARED: dict[str, Statement] = {
    "queries_of_strategies": Statement(lambda session: _queries_of_strategies(session)),
    # One session
    "session_open": Statement(None),
    "session_open_to_look": Statement(None, opened={"read_only": True, "query_timeout": 300.0}),
    "session_commit": Statement(lambda session: in_transaction(session, lambda: None)),
    "session_roll_back": Statement(rolled_back),
    "session_now": Statement(lambda session: session.now()),
    "session_identity": Statement(lambda session: session.identity()),
    "session_texts_of_user": Statement(lambda session: session.query_user_sql("SELECT cob, '{}' FROM closed_days")),
    "session_tables": Statement(lambda session: session.tables()),
    "session_shapes": Statement(
        lambda session: session.table_schemas([ODD, TableName(session.database.default_schema, "t")]),
        answers={
            "FROM information_schema.TABLES WHERE": [(ODD.schema, ODD.name)],
            "FROM INFORMATION_SCHEMA.TABLES": [(ODD.schema, ODD.name, 7), ("dbo", "t", None)],
            "SELECT SCHEMA_NAME(t.schema_id), t.name, t.object_id": [(ODD.schema, ODD.name, 7), ("dbo", "t", 8)],
        },
    ),
    "session_export_snapshot": Statement(lambda session: session.export_snapshot()),
    "session_try_lock": Statement(lambda session: session.try_lock("tidegate table it's")),
    "session_lock_in_transaction": Statement(
        lambda session: in_transaction(session, lambda: session.lock_in_transaction("tidegate value it's 7"))
    ),
    # Rows
    "read_table": Statement(lambda session: read(session, *own(session, COBID, NOTE))),
    "read_value": Statement(
        lambda session: read(
            session, *own(session, COBID, NOTE), rows=partitions.has_value(*own(session, COBID), value=DAY)
        )
    ),
    "read_every_type": Statement(lambda session: read(session, *own(session, *EVERY_TYPE))),
    "read_every_type_as_text": Statement(lambda session: read(session, *own(session, *EVERY_TYPE), as_text=True)),
    "write_rows": Statement(lambda session: write(session, *own(session, COBID, NOTE, BYTES))),
    # A large window, in three parts
    "split_table": Statement(lambda session: splits(session, COBID), answers=BOUNDARIES),
    "split_table_by_nullable_text": Statement(lambda session: splits(session, NOTE), answers=BOUNDARIES),
    "split_value": Statement(
        lambda session: splits(
            session,
            COBID,
            CODE,
            rows=partitions.has_value(*own(session, COBID), value=DAY),
            fixed=COBID.name,
        ),
        answers=BOUNDARIES,
    ),
    "notes": Statement(kept_notes),
    "indexes_aside": Statement(indexes_aside, answers={"index": [("sales", "by name", "CREATE INDEX x ON sales (a)")]}),
    "split_change_mark": Statement(mark, answers={"SELECT": [("a", 1)]}),
    # Values of a partition column
    "partition_values_by_index": Statement(lambda session: values(session, *own(session, COBID), indexed=True)),
    "partition_values_by_scan": Statement(lambda session: values(session, *own(session, COBID), indexed=False)),
    "partition_texts_by_index": Statement(lambda session: values(session, *own(session, NOTE), indexed=True)),
    "partition_texts_by_scan": Statement(lambda session: values(session, *own(session, NOTE), indexed=False)),
    "partition_counts": Statement(lambda session: counts(session, COBID, [DAY, NEXT_DAY])),
    "partition_counts_of_nulls": Statement(
        lambda session: [counts(session, COBID, [NO_DAY, *more]) for more in ([], [DAY])]
    ),
    "partition_counts_of_texts": Statement(lambda session: counts(session, NOTE, TEXTS)),
    "partition_counts_and_newest": Statement(lambda session: counts(session, COBID, [DAY], LOAD_ID)),
    "partition_newest": Statement(
        lambda session: session.query(partitions.greatest_of_value(ODD, *own(session, COBID), DAY, LOAD_ID))
    ),
    "partition_nulls": Statement(lambda session: session.query(partitions.count_nulls(ODD, NOTE))),
    "partition_delete": Statement(lambda session: [session.execute(one) for one in deletes(session)]),
    "partition_values_with_keys": Statement(values_in_the_way),
    # A whole table, and rows of it by their keys
    "table_count": Statement(lambda session: session.query(contents.count_rows(ODD))),
    "catalog_not_listed": Statement(lambda session: session.not_listed()),
    "catalog_columns_set_at_changes": Statement(lambda session: session.columns_set_at_changes(ODD)),
    "catalog_unknown_types": Statement(lambda session: session.unknown_types(["public.mood", "it's.odd[]"])),
    "table_structure": Statement(structure),
    "table_foreign_keys": Statement(lambda session: session.foreign_keys([ODD, ANOTHER])),
    "table_orphans": Statement(lambda session: session.query(count_orphans(TO_ANOTHER))),
    "table_mapped": Statement(lambda session: mapped_table(session)),
    "table_has_rows": Statement(lambda session: session.query(contents.has_rows(ODD))),
    "table_checksum": Statement(lambda session: session.query(contents.checksum(ODD, [COBID, NOTE]))),
    "table_empty": Statement(lambda session: session.execute(contents.delete_rows(ODD))),
    "stage_changes": Statement(stage_changes),
    "stage_own_columns": Statement(keep_own_columns),
    # Cursors
    "mark_clock": Statement(clocks),
    "watermark_bounds": Statement(watermark_bounds),
    "watermark_rows": Statement(watermark_rows),
    "open_transactions": Statement(
        lambda session: session.query(sql("SELECT ({seen})", seen=session.database.open_transactions(ODD) or raw("0")))
    ),
    "table_space": Statement(lambda session: session.query(session.database.space(ODD) or raw("0"))),
    "mark_newest": Statement(
        lambda session: [
            session.query(cursors.greatest_cursors(ODD, *own(session, MOMENT), at, low, indexed=indexed))
            for at, low, indexed in (
                (None, None, True),
                (None, None, False),
                (NOON, EVE, True),
                (NOON, EVE, False),
            )
        ]
    ),
    "mark_tail": Statement(
        lambda session: [
            session.query(cursors.count_and_greatest(ODD, *own(session, MOMENT), low)) for low in (None, NOON)
        ]
    ),
    "mark_window": Statement(windows),
    "mark_count_several_current": Statement(
        lambda session: session.query(
            cursors.count_keys_with_several_current(
                ODD, [*own(session, COBID), *own(session, NOTE)], *own(session, COBID), "1"
            )
        )
    ),
    "mark_count_older": Statement(
        lambda session: [
            session.query(cursors.count_older(ODD, *own(session, MOMENT), NOON, except_for))
            for except_for in (None, raw("1 = 1"))
        ]
    ),
    # Schemas
    "schema_create_table": Statement(
        lambda session: create(session, COBID, CODE, key=[CODE.name], index_on=COBID.name)
    ),
    "schema_create_table_with_key_first": Statement(
        lambda session: create(
            session,
            COBID,
            CODE,
            key=[COBID.name, CODE.name],
            index_on=COBID.name,
            name=TableName(session.database.default_schema, "t"),
        )
    ),
    "schema_create_table_without_key": Statement(lambda session: create(session, COBID, NOTE, index_on=COBID.name)),
    "schema_create_table_with_long_key": Statement(
        lambda session: create(session, COBID, LONG, key=[COBID.name, LONG.name], index_on=LONG.name)
    ),
    "schema_create_table_of_every_type": Statement(lambda session: create(session, *EVERY_TYPE)),
    "schema_add_column": Statement(
        lambda session: session.execute(session.database.add_column(ODD, *own(session, NOTE)))
    ),
    "schema_widen_column": Statement(
        lambda session: [session.execute(session.database.widen_column(ODD, one)) for one in own(session, NOTE, COBID)]
    ),
    "schema_add_surrogate": Statement(
        lambda session: session.execute(session.database.add_surrogate(ODD, "version number"))
    ),
    "grants_to_read": Statement(
        lambda session: [session.execute(one) for one in session.database.grants_to_read([ODD])]
    ),
    "grants_to_write": Statement(
        lambda session: [session.execute(one) for one in session.database.grants_to_write([ODD, ANOTHER], [ODD])]
    ),
    # The ledger
    "ledger_create": Statement(lambda session: Ledger(session).create()),
    "ledger_require_own": Statement(
        lambda session: Ledger(session).require_own(), answers={"SELECT owner, version FROM": [("1/2", 2)]}
    ),
    "ledger_upgrade": Statement(
        lambda session: Ledger(session).claim(),
        answers={
            "SELECT owner, version FROM": [("1/2", 1)],
            "SELECT table_name, value_text": [("it's", "7", 3, "2024-01-31 10:00:00")],
        },
    ),
    "ledger_disown": Statement(lambda session: Ledger(session).disown()),
    "ledger_entries": Statement(lambda session: Ledger(session).entries("it's")),
    "ledger_newest": Statement(lambda session: Ledger(session).newest("it's", "7")),
    "ledger_record": Statement(lambda session: Ledger(session).record("it's", "7", ENTRY)),
    "ledger_restamp": Statement(lambda session: Ledger(session).update_etag("it's", "7", ENTRY)),
    "ledger_scope": Statement(lambda session: Ledger(session).scope("it's")),
    "ledger_scopes": Statement(lambda session: Ledger(session).scopes()),
    "ledger_declare": Statement(lambda session: Ledger(session).declare("it's", Scope(DAY))),
    "ledger_keep_report": Statement(lambda session: Ledger(session).keep_report("r-1", {"it's": '{"a": "\\n"}'})),
    "ledger_newest_runs": Statement(lambda session: Ledger(session).newest_runs(50)),
    "ledger_reports": Statement(lambda session: Ledger(session).reports(20)),
    "ledger_forget_reports": Statement(
        lambda session: Ledger(session).forget_reports(1), answers={"SELECT run FROM": [("r-2",), ("r-1",)]}
    ),
    # The other own tables
    "rows_aside": Statement(rows_aside),
    "soft_deletes": Statement(soft_deletes),
    "own_tables_create": Statement(lambda session: own_tables.create(session)),
    "own_records": Statement(records, answers={"first_missing": [("g-2", *["x"] * 7, "open", *["x"] * 2)]}),
    "recommended_index": Statement(lambda session: session.execute(index_on(ODD, "updated_at"))),
    "scanned_tables": Statement(
        lambda session: session.scanned_tables("SELECT * FROM t"), answers={"EXPLAIN": [("[]",)]}
    ),
    "lock_take": Statement(lambda session: lock.take(session, "it's", "r-1")),
    "lock_holders": Statement(lock.holders),
    "lock_newest_run": Statement(lambda session: lock.newest_run(session, "it's")),
    "lock_refused": Statement(lambda session: lock.take(session, "it's", "r-1"), lock_is_free=False, raises=Locked),
}

POSTGRESQL: dict[str, Statement] = {
    "joint_load": Statement(
        joint_load,
        answers={
            "SELECT CAST(o.conname": [
                (
                    "fk",
                    ODD.schema,
                    ODD.name,
                    ANOTHER.schema,
                    ANOTHER.name,
                    False,
                    True,
                    "c",
                    "a",
                    True,
                    1,
                    "cobid",
                    "id",
                )
            ],
            "SELECT CAST(t.tgname": [("audit", "A")],
        },
    ),
    "session_use_snapshot": Statement(lambda session: session.use_snapshot("00000003-1")),
    "advance_counters": Statement(
        lambda session: session.advance_counters(ODD),
        answers={"FROM pg_class c": [("id", "sales", 'Order "Ids"', True, True), ("down", "sales", "d", False, True)]},
    ),
    "watermark_of_transactions": Statement(watermark_of_transactions),
    "read_money": Statement(
        lambda session: read(session, Column("price", "money", "decimal(19,2)", logical_type=Type("decimal", 19, 2)))
    ),
    "read_back_for_another_database": Statement(
        lambda session: read(
            session,
            Column("truth", "integer", "bool", logical_type=Type("int32"), read_as=Type("bool")),
            Column("flag", "boolean", "int16", logical_type=Type("bool"), read_as=Type("flag")),
            Column("code", "character(3)", "string", logical_type=Type("char", 3), read_as=Type("trimmed", 3)),
        )
    ),
}

MARIADB, MARIADB_OLD_GREETING = "11.4.2-MariaDB-ubu2404", "5.5.5-10.6.18-MariaDB"
BEFORE_0900_BIN = "8.0.16"
YEAR = Column("y", "year(4)", "int16", logical_type=Type("int16"), database="mysql")
GEOMETRY = Column("shape", "geometry", "binary", logical_type=Type("geometry"))
UNSIGNED = Column("n", "bigint unsigned", "decimal(20,0)", logical_type=Type("uint64"))
NAME = Column(
    "name",
    "varchar(20) CHARACTER SET latin1 COLLATE latin1_swedish_ci",
    "string",
    logical_type=Type("string", 20),
    collation="latin1_swedish_ci",
)
TIMES = (
    Column("t", "time(3)", "time", logical_type=Type("clock", 3)),
    Column("d", "datetime(6)", "timestamp", logical_type=Type("timestamp", 6)),
    Column("s", "timestamp", "timestamptz", logical_type=Type("instant", 0)),
)

MYSQL: dict[str, Statement] = {
    "joint_load": Statement(
        joint_load,
        answers={
            "SELECT k.CONSTRAINT_NAME": [
                ("fk", ODD.schema, ODD.name, ANOTHER.schema, ANOTHER.name, "CASCADE", "RESTRICT", "cobid", "id")
            ],
            "SELECT count(*)": [(0,)],
        },
    ),
    "open_transactions_monitor": Statement(
        lambda session: session.open_transactions(ODD), answers={"SHOW ENGINE": [("InnoDB", "", "no transactions")]}
    ),
    # One session, of each flavour
    "session_open_mariadb": Statement(None, server=MARIADB),
    "session_open_mariadb_10_6": Statement(None, server=MARIADB_OLD_GREETING),
    "session_open_mariadb_to_look": Statement(None, server=MARIADB, opened={"read_only": True, "query_timeout": 0.5}),
    "session_open_mysql_8_0_16": Statement(None, server=BEFORE_0900_BIN),
    "session_open_mysql_5_7_to_look": Statement(
        None, server="5.7.44-log", opened={"read_only": True, "query_timeout": 0.5}
    ),
    "session_identity_mariadb": Statement(lambda session: session.identity(), server=MARIADB),
    "session_lock_timed_out": Statement(
        lambda session: in_transaction(session, lambda: session.lock_in_transaction("tidegate value it's 7")),
        lock_is_free=False,
        raises=Transient,
    ),
    # Rows
    "read_floats": Statement(
        lambda session: read(
            session,
            Column("f", "float", "float32", logical_type=Type("float32")),
            Column("d", "double", "float64", logical_type=Type("float64")),
        )
    ),
    "read_bits": Statement(lambda session: read(session, *own(session, BITS))),
    "read_binary_as_text": Statement(lambda session: read(session, *own(session, BYTES), GEOMETRY, as_text=True)),
    "read_times": Statement(lambda session: read(session, *TIMES)),
    "read_times_as_text": Statement(lambda session: read(session, *TIMES, as_text=True)),
    "read_truth_back": Statement(lambda session: read(session, *own(session, column("truth", Type("bool"))))),
    "read_char_back": Statement(lambda session: read(session, *own(session, column("code", Type("char", 3))))),
    "write_rows_computed": Statement(lambda session: write(session, *own(session, COBID, BYTES, BITS), GEOMETRY, YEAR)),
    "write_rows_by_insert": Statement(
        lambda session: write(session, *own(session, COBID, NOTE, BYTES, BITS), GEOMETRY, YEAR),
        answers={"@@local_infile": [(0,)]},
    ),
    "write_rows_refused": Statement(
        lambda session: write(session, *own(session, COBID, NOTE)),
        answers={"SHOW WARNINGS": [("Warning", 1264, "Out of range value for column 'cobid' at row 1")]},
        raises=ValueProblem,
    ),
    # Values of a partition column
    "partition_texts_of_other_collation_by_index": Statement(lambda session: values(session, NAME, indexed=True)),
    "partition_texts_by_index_mariadb": Statement(
        lambda session: values(session, *own(session, NOTE), indexed=True), server=MARIADB
    ),
    "partition_delete_of_other_collation": Statement(
        lambda session: session.execute(partitions.delete_value(ODD, NAME, TEXTS[0]))
    ),
    "partition_delete_unsigned": Statement(
        lambda session: session.execute(partitions.delete_value(ODD, UNSIGNED, DAY))
    ),
    # Schemas
    "schema_create_table_mariadb": Statement(
        lambda session: create(session, COBID, CODE, key=[CODE.name], index_on=COBID.name), server=MARIADB
    ),
}
