"""The statements that only SQL Server has, for each of its types."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa

from sql.statements import ANOTHER, COBID, ODD, TEXTS, Statement, counts, in_transaction, joint_load, own, read, write
from tidegate.databases.sqlserver.types import logical_type
from tidegate.errors import Transient, Unsupported, ValueProblem
from tidegate.hashing.arrow import arrow_type
from tidegate.interfaces import ReadRequest, Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.model.values import Value, ValueKind
from tidegate.sql import contents, cursors, partitions
from tidegate.sql.text import Sql

CODE_PAGE = "varchar(20) COLLATE Latin1_General_CI_AS"


TYPES_IN_VARIANTS = (
    *("bit", "bigint", "decimal(9,2)", "float", "money", "date", "time(7)", "datetimeoffset(7)", "varbinary(8)"),
    *(CODE_PAGE, "nchar(3) COLLATE Japanese_CI_AS", "uniqueidentifier"),
)


def typed(name: str, declared: str, read_as: Type | None = None) -> Column:
    held = logical_type(declared)
    collation = declared.partition(" COLLATE ")[2]
    storage_type = (read_as or held).storage_type
    return Column(
        name,
        declared,
        storage_type,
        logical_type=held,
        database="sqlserver",
        collation=collation,
        read_as=read_as,
        identity=name == "id",
    )


EVERY_TYPE = tuple(
    typed(f"c {declared}", declared)
    for declared in (
        *("bit", "tinyint", "smallint", "int", "bigint", "decimal(38,18)", "numeric(9,2)", "money", "smallmoney"),
        *("real", "float", "date", "time(7)", "time(3)", "datetime", "smalldatetime", "datetime2(7)", "datetime2(6)"),
        *("datetimeoffset(7)", "char(5)", "nchar(5)", CODE_PAGE, "nvarchar(20)", "nvarchar(max)", "text", "ntext"),
        *("binary(8)", "varbinary(max)", "image", "uniqueidentifier", "timestamp", "xml", "json", "vector(3)"),
        *("hierarchyid", "geometry", "geography", "sql_variant"),
    )
)
SOME_DECIMAL = pa.array([Decimal(1)])
ARRAYS = {
    "date": pa.array([date(1, 1, 1)]),
    "time": pa.array([time(23, 59, 59, 999999)]),
    "timestamp": pa.array([datetime(9999, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us")),
    "timestamptz": pa.array([datetime(2024, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC")),
    "int16": pa.array([1], pa.int16()),
    "int32": pa.array([1], pa.int32()),
    "int64": pa.array([1], pa.int64()),
    "bool": pa.array([True]),
    "float32": pa.array([0.5], pa.float32()),
    "float64": pa.array([0.5]),
    "string": pa.array(["x"]),
    "text": pa.array(["x"]),
    "binary": pa.array([b"x"]),
}


MOMENTS = {
    "time(7)": "23:59:59.9999999",
    "datetime2(7)": "9999-12-31 23:59:59.9999999",
    "datetimeoffset(7)": "2024-03-10 23:59:59.1234567 +05:30",
}


def _array(one: Column) -> pa.Array:
    if one.type in MOMENTS:
        return pa.array([MOMENTS[one.type]])
    return ARRAYS.get(one.storage_type, SOME_DECIMAL).cast(arrow_type(one.storage_type))


def write_typed(session: Session, *columns: Column) -> None:
    arrays = [_array(one) for one in columns]
    session.write(ODD, columns, iter([pa.RecordBatch.from_arrays(arrays, names=[one.name for one in columns])]))


HALF = pa.record_batch({"note": ["\N{REPLACEMENT CHARACTER}", "x"]})


def read_texts(session: Session, rows: Sql | None) -> None:
    list(session.read(ReadRequest(ODD, (typed("note", "nvarchar(20)"),), rows)))


VALUES = (
    ("tinyint", Value.of(7, ValueKind.INTEGER)),
    ("datetime", Value.of("2024-01-31 10:00:00.003", ValueKind.TIMESTAMP)),
    ("datetime2(7)", Value.of("2024-01-31 10:00:00.5", ValueKind.TIMESTAMP)),
    ("timestamp", Value.of(2001, ValueKind.INTEGER)),
    (CODE_PAGE, Value.of("it's", ValueKind.TEXT)),
    ("nvarchar(max)", Value.of("it's", ValueKind.TEXT)),
)


def joint_load_of_rows(session: Session) -> None:
    """Bring rows into a table inside of one transaction: a second session fills their stage."""
    with session.one_transaction([], []):
        write(session, *own(session, COBID))


FOREIGN_KEYS = [
    ("fk", ODD.schema, ODD.name, ANOTHER.schema, ANOTHER.name, 0, "CASCADE", "NO_ACTION", 1, "cobid", "id"),
    ("not trusted", ANOTHER.schema, ANOTHER.name, ODD.schema, ODD.name, 1, "NO_ACTION", "NO_ACTION", 1, "id", "cobid"),
]

SQLSERVER: dict[str, Statement] = {
    "joint_load": Statement(
        joint_load, answers={"FROM sys.foreign_keys AS f": FOREIGN_KEYS, "FROM sys.triggers AS t": [("audit",)]}
    ),
    "joint_load_of_rows": Statement(joint_load_of_rows),
    "mark_clock_of_row_versions": Statement(
        lambda session: session.query(session.database.clock_query(typed("rv", "timestamp")))
    ),
    "mark_clock_of_ticks": Statement(
        lambda session: session.query(session.database.clock_query(typed("changed", "datetime")))
    ),
    "mark_window_of_row_versions": Statement(
        lambda session: session.query(
            cursors.count_and_greatest(ODD, typed("rv", "timestamp"), Value.of(2001, ValueKind.INTEGER))
        )
    ),
    "optional_grants": Statement(
        lambda session: [
            session.execute(one)
            for writes in (False, True)
            for one in session.database.optional_grants(writes=writes).values()
        ]
    ),
    "session_room": Statement(
        lambda session: session.log_space(),
        answers={"dm_db_log_space_usage": [("FULL", 1024, 100)], "database_files": [(4096, 1000, 1)]},
    ),
    "session_remarks": Statement(lambda session: session.target_notes()),
    "session_shapes_of_partitioned_tables": Statement(
        lambda session: session.table_schemas([ODD]),
        answers={
            "INFORMATION_SCHEMA.TABLES": [(ODD.schema, ODD.name, 7)],
            "SELECT c.object_id, c.name": [(7, "cob", "int", 4, 10, 0, None, *[False] * 6, None, 0, None)],
            "'partitioned_by'": [(7, "partitioned_by", "RANGE (cob)")],
            "FROM sys.partition_functions": [],
        },
    ),
    "session_shapes_where_changes_are_captured": Statement(
        lambda session: session.table_schemas([ODD]),
        answers={
            "INFORMATION_SCHEMA.TABLES": [(ODD.schema, ODD.name, 7)],
            "d.snapshot_isolation_state": [(1, 0, 2, 3, -220, 1)],
        },
    ),
    "session_describe": Statement(
        lambda session: session.describe(TableSchema(ODD, (COBID,))),
        answers={
            "INFORMATION_SCHEMA.TABLES": [(ODD.schema, ODD.name, 7)],
            "d.snapshot_isolation_state": [(1, 0, 2, 3, -220, 1, "READ_WRITE", 1, 1)],
        },
    ),
    "session_shapes_of_synapse": Statement(
        lambda session: session.table_schemas([ODD]),
        answers={
            "INFORMATION_SCHEMA.TABLES": [(ODD.schema, ODD.name, 7)],
            "d.snapshot_isolation_state": [(1, 0, 2, 6, -220)],
        },
        raises=Unsupported,
    ),
    "write_variants": Statement(
        lambda session: write_typed(session, typed("v", "sql_variant")),
        answers={"SELECT DISTINCT LEFT": [(kind,) for kind in TYPES_IN_VARIANTS]},
    ),
    "write_variants_that_are_none": Statement(
        lambda session: write_typed(session, typed("v", "sql_variant")),
        answers={"SELECT DISTINCT LEFT": [("int",), ("int; DROP TABLE x",)]},
        raises=ValueProblem,
    ),
    "session_take_turns": Statement(
        lambda session: in_transaction(session, lambda: session.wait_for_other_loads(TableName("dbo", "t")))
    ),
    "session_take_no_turns": Statement(
        lambda session: in_transaction(session, lambda: session.wait_for_other_loads(TableName("dbo", "t"))),
        answers={"d.snapshot_isolation_state": [(1, 1, 2, 3, -220)], "FROM sys.indexes": [(1,)]},
    ),
    "session_take_turns_without_index": Statement(
        lambda session: in_transaction(session, lambda: session.wait_for_other_loads(TableName("dbo", "t"))),
        answers={"d.snapshot_isolation_state": [(1, 1, 2, 3, -220)], "FROM sys.indexes": [(0,)]},
    ),
    "stage_of_documents": Statement(
        lambda session: session.execute(
            session.database.create_stage(TableName("", "#stage"), ODD, [typed("id", "int"), typed("doc", "xml")])
        )
    ),
    "session_identity_of_group": Statement(lambda session: session.known_identities()),
    "session_export_snapshot_not_allowed": Statement(
        lambda session: session.export_snapshot(), answers={"d.snapshot_isolation_state": [(0, 1, 2, 3, -220)]}
    ),
    "session_lock_timed_out": Statement(
        lambda session: in_transaction(session, lambda: session.lock_in_transaction("tidegate value it's 7")),
        lock_is_free=False,
        raises=Transient,
    ),
    "session_texts_of_user_are_undone": Statement(
        lambda session: session.query_user_sql("SELECT cob FROM ready"), opened={"read_only": True}
    ),
    "session_is_open": Statement(lambda session: session.is_open),
    "table_checksum_of_every_type": Statement(lambda session: session.query(contents.checksum(ODD, EVERY_TYPE))),
    "read_every_type_of_its_own": Statement(lambda session: read(session, *EVERY_TYPE)),
    "read_every_type_of_its_own_as_text": Statement(lambda session: read(session, *EVERY_TYPE, as_text=True)),
    "read_what_may_be_half_of_a_character": Statement(
        lambda session: read_texts(session, None), answers={"in Arrow": [HALF], "NCHAR(65533)": [(1,)]}
    ),
    "read_half_of_a_character": Statement(
        lambda session: read_texts(session, partitions.has_value(typed("id", "int"), Value.of(7, ValueKind.INTEGER))),
        answers={"in Arrow": [HALF], "NCHAR(65533)": [(0,)]},
        raises=ValueProblem,
    ),
    "read_instant_back": Statement(lambda session: read(session, typed("at", "datetimeoffset(6)", Type("instant", 6)))),
    "write_every_type_of_its_own": Statement(
        lambda session: write_typed(session, *(one for one in EVERY_TYPE if one.type != "timestamp")),
        answers={"SELECT DISTINCT LEFT": [("decimal(9,2)",)]},
    ),
    "write_identity": Statement(lambda session: write_typed(session, typed("id", "int"))),
    "write_every_type_where_there_is_no_bulk_copy": Statement(
        lambda session: write_typed(session, *(one for one in EVERY_TYPE if one.type != "timestamp")),
        answers={"d.snapshot_isolation_state": [(1, 0, 1, 3)]},
    ),
    "write_rows_refused": Statement(
        lambda session: write(session, *own(session, COBID)), answers={"ROWCOUNT_BIG": 8115}, raises=ValueProblem
    ),
    "write_rows_after_somebody_died": Statement(
        lambda session: write(session, *own(session, COBID)), answers={"FROM sys.tables AS t\nWHERE": [("stage_0",)]}
    ),
    "partition_texts_of_code_page": Statement(lambda session: counts(session, typed("code", CODE_PAGE), TEXTS)),
    "partition_delete_by_its_own_types": Statement(
        lambda session: [
            session.execute(partitions.delete_value(ODD, typed("p", declared), value)) for declared, value in VALUES
        ]
    ),
}
