"""The statements about native partitions that have a golden file: layouts, stages, switches and what forbids them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sql.statements import COBID, DAY, NEXT_DAY, NO_DAY, ODD, Statement, own
from tidegate.interfaces import Session
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.loads._switch import copy_others, holds_rows
from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, NewPartition, PartitionLayout
from tidegate.model.stages import STAGE, StageRecord
from tidegate.model.values import Value, ValueKind
from tidegate.runs.stages import drop_stage
from tidegate.sql import contents
from tidegate.sql.partitions import other_rows
from tidegate.sql.text import raw
from tidegate.state.stages import Stages

STAGED, OLD = TableName("sales", 'odd "orders"_STAGE_1'), TableName("sales", "odd_OLD_1")
PARTITION = NativePartition(2, "p20240131", DAY, NEXT_DAY, table=TableName("sales", "p20240131"))
REST = NativePartition(3, "prest", NEXT_DAY)
LAYOUT = PartitionLayout(ODD, "range", "cobid", (PARTITION, REST), function="pf", scheme="ps")
RECORD = StageRecord(STAGED, str(ODD), "p20240131", STAGE, "r-1", (("20240131", 3),))


def native(act: Callable[[NativePartitions], Any]) -> Callable[[Session], Any]:
    def call(session: Session) -> Any:
        partitions = session.native_partitions
        assert partitions is not None
        return act(partitions)

    return call


def book(session: Session) -> None:
    stages = Stages(session)
    stages.add(RECORD)
    stages.replace(RECORD)
    stages.records()
    stages.records(str(ODD))
    drop_stage(session, RECORD)


def others(session: Session) -> None:
    partitions = session.native_partitions
    assert partitions is not None
    [cobid] = own(session, COBID)
    holds_rows(session, partitions, LAYOUT, PARTITION)
    holds_rows(session, partitions, LAYOUT, PARTITION, other_rows(cobid, [DAY]))
    session.execute(copy_others(partitions, LAYOUT, PARTITION, STAGED, (COBID,), other_rows(cobid, [DAY])))


def switch(session: Session) -> None:
    partitions = session.native_partitions
    assert partitions is not None
    switched = Switch(LAYOUT, PARTITION, STAGED, OLD)
    with session.transaction():
        partitions.lock_rows(switched)
        partitions.switch(switched)


def rules(session: Session) -> None:
    """Ask for everything that forbids a switch, and run what cures it."""
    partitions = session.native_partitions
    assert partitions is not None
    for precondition in partitions.preconditions(LAYOUT, PARTITION, STAGED):
        for statement in precondition.cure:
            session.execute(raw(statement))


def create(session: Session, *news: NewPartition, layout: PartitionLayout = LAYOUT) -> None:
    partitions = session.native_partitions
    assert partitions is not None
    for new in news:
        for statement in partitions.new_boundaries(layout, new):
            session.execute(statement)


ALL: dict[str, Statement] = {
    "native_book": Statement(book),
    "native_other_rows": Statement(
        lambda session: session.query(contents.has_rows(ODD, other_rows(*own(session, COBID), [DAY])))
    ),
    "native_other_rows_than_nulls": Statement(
        lambda session: [
            session.query(contents.has_rows(ODD, other_rows(*own(session, COBID), values)))
            for values in ([NO_DAY], [NO_DAY, DAY])
        ]
    ),
}
OF_PARTITIONS: dict[str, Statement] = {
    "native_switch": Statement(switch),
    "native_others": Statement(others),
    "native_statistics": Statement(native(lambda partitions: partitions.update_statistics(STAGED))),
    "native_rebuild": Statement(native(lambda partitions: partitions.rebuild_indexes(STAGED))),
}

MARCH = [Value.of(day, ValueKind.INTEGER) for day in (20240301, 20240401)]
NEW_RANGE = NewPartition("p20240301", *MARCH)
NEW_VALUE = NewPartition("p20240131", value=DAY)

POSTGRESQL: dict[str, Statement] = {
    "native_switch": Statement(switch, answers={"SELECT pg_get_expr": [("FOR VALUES FROM (1) TO (2)",)]}),
    "native_layout": Statement(
        native(lambda partitions: partitions.layout(ODD, ValueKind.INTEGER)),
        answers={
            "FROM pg_partitioned_table": [("r", 1, "cobid", "RANGE (cobid)")],
            "FROM pg_inherits": [("sales", "p", "FOR VALUES FROM (1) TO ('2'::bigint)", 7, "r", "")],
        },
    ),
    "native_new": Statement(lambda session: create(session, NEW_RANGE, NEW_VALUE)),
    "native_stage": Statement(
        native(
            lambda partitions: [
                partitions.create_stage(LAYOUT, PARTITION, STAGED, compress=True),
                partitions.finish_stage(LAYOUT, PARTITION, STAGED),
            ]
        ),
        answers={
            "array_to_string(c.reloptions": [("fillfactor=70", "heap", "fast")],
            "IN ('p', 'u', 'x') ORDER BY": [("PRIMARY KEY (cobid, id)",)],
            "IN ('f') ORDER BY": [("FOREIGN KEY (id) REFERENCES sales.customers(id)",)],
            "FROM pg_index AS i": [("CREATE INDEX ", " USING btree (note)")],
            "pg_get_partition_constraintdef": [("((cobid IS NOT NULL) AND (cobid >= 1))",)],
        },
    ),
    "native_rules": Statement(
        rules,
        answers={
            "pg_has_role": [(False, "somebody")],
            "k.confrelid =": [("fk", "sales.audits")],
            "FROM pg_trigger": [("log",)],
            "FULL JOIN": [
                ("a", True, False, None, None, None, None, None, None),
                ("b", False, False, False, False, False, False, False, "integer"),
            ],
            "AND NOT EXISTS": [("positive", "CHECK ((amount > 0))")],
        },
    ),
}
RANGES = [
    ("p1", None, "RANGE COLUMNS", "`cobid`", "20240131", 3, ""),
    ("p1", "s", "RANGE COLUMNS", "`cobid`", "20240131", 4, ""),
    ("p2", None, "RANGE COLUMNS", "`cobid`", "MAXVALUE", 0, ""),
]
OF_DAYS = PartitionLayout(ODD, "range", "day", (PARTITION, REST), function="to_days")
JANUARY = [Value.of(day, ValueKind.DATE) for day in ("2024-01-01", "2024-02-01")]

MYSQL: dict[str, Statement] = {
    "native_layout": Statement(
        native(lambda partitions: partitions.layout(ODD, ValueKind.INTEGER)),
        answers={"SELECT PARTITION_NAME": RANGES},
    ),
    "native_layout_of_list": Statement(
        native(lambda partitions: partitions.layout(ODD, ValueKind.INTEGER)),
        answers={
            "SELECT PARTITION_NAME": [("p1", None, "LIST", "`cobid`", "1,NULL", 3, "")],
            "SHOW CREATE TABLE": [("t", "... PARTITION `rest` DEFAULT ENGINE = InnoDB")],
        },
    ),
    "native_new": Statement(lambda session: create(session, NEW_RANGE, NEW_VALUE)),
    "native_new_split": Statement(lambda session: create(session, NewPartition("p20240301", *MARCH, splits="prest"))),
    "native_new_of_functions": Statement(
        lambda session: [
            create(session, NewPartition("p2024_01_01", *JANUARY), layout=OF_DAYS),
            create(
                session,
                NewPartition("p2024_01_01", *JANUARY),
                layout=PartitionLayout(ODD, "range", "day", (), function="year"),
            ),
        ]
    ),
    "native_stage": Statement(
        native(
            lambda partitions: [
                partitions.create_stage(LAYOUT, PARTITION, STAGED, compress=True),
                partitions.finish_stage(LAYOUT, PARTITION, STAGED),
            ]
        )
    ),
    "native_switch": Statement(switch, answers={"@@SESSION.lock_wait_timeout": [(300,)]}),
    "native_switch_mariadb": Statement(
        switch, answers={"@@SESSION.lock_wait_timeout": [(300,)]}, server="10.11.6-MariaDB"
    ),
    "native_rules": Statement(
        rules,
        answers={
            "SELECT ENGINE": [("MyISAM",)],
            "KEY_COLUMN_USAGE": [("fk", "sales", "audits")],
            "SELECT COUNT(*) FROM information_schema.PARTITIONS": [(2,)],
        },
    ),
}

CATALOG: dict[str, Any] = {
    "FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_NAME": [
        (ODD.schema, ODD.name, 7),
        (STAGED.schema, STAGED.name, 8),
        (OLD.schema, OLD.name, 9),
    ],
    "c.name, i.type_desc,": [("ps", "pf", 1, "cobid", "CLUSTERED", 0, 0, 0, 0, 0, 0, 0, 0)],
    "c.is_ansi_padded, c.generated_always_type": [
        ("cobid", "int", None, 0, None, None, 0, 0, 0, 0, 1, 0),
        ("name", "nvarchar(50)", "Latin1_General_100_CI_AS", 1, None, None, 0, 0, 0, 0, 1, 0),
        ("amount", "decimal(19, 4)", None, 1, None, None, 0, 0, 0, 0, 1, 0),
        ("twice", "decimal(20, 4)", None, 1, "([amount]*(2))", 1, 0, 0, 0, 0, 1, 0),
    ],
    "WHERE i.object_id = 8 AND i.index_id > 0": [],
    "WHERE i.object_id = 9 AND i.index_id > 0": [],
    "WHERE i.object_id = 7 AND i.index_id > 0": [
        (1, "pk", "CLUSTERED", 1, 0, 1, None, 0, "ps", "cobid"),
        (2, "ix_name", "NONCLUSTERED", 0, 0, 0, "([amount]>(0))", 0, "ps", "cobid"),
        (3, "ix_columns", "NONCLUSTERED COLUMNSTORE", 0, 0, 0, None, 0, "ps", "cobid"),
    ],
    "WHERE ic.object_id = 7": [
        (1, "cobid", 1, 0, 0),
        (1, "name", 2, 1, 0),
        (2, "name", 1, 0, 0),
        (2, "amount", 0, 0, 1),
        (3, "amount", 0, 0, 1),
    ],
    "FROM sys.partitions AS p WHERE p.object_id = ": [
        *[(1, number, kind) for number, kind in ((1, "PAGE"), (2, "PAGE"), (3, "NONE"), (4, "ROW"))],
        *[(3, number, "COLUMNSTORE") for number in range(1, 5)],
    ],
    "FROM sys.check_constraints AS k WHERE k.parent_object_id = 7": [("positive", "([amount]>=(0))", 0, 0)],
    "WHERE f.parent_object_id = 7": [
        ("fk", "[sales].[customers]", "name", "name", "CASCADE", "NO_ACTION", 0, 0),
        ("fk", "[sales].[customers]", "cobid", "cobid", "CASCADE", "NO_ACTION", 0, 0),
    ],
    "SELECT ps.name FROM sys.partition_schemes": [("ps",), ("ps2",)],
    "SELECT @@LOCK_TIMEOUT": [(300000,)],
    "SELECT COALESCE(SUM(p.rows), 0)": [(3,)],
}
FORBIDDEN: dict[str, Any] = {
    **CATALOG,
    "d.snapshot_isolation_state": [(1, 0, 2, 3, -220, 1, "READ_WRITE", 1, 1)],
    "FROM cdc.change_tables": [("sales_odd",)],
    "c.name, i.type_desc,": [("ps", "pf", 1, "cobid", "CLUSTERED", 2, 1, 1, 1, 0, 0, 1, 1)],
    "WHERE i.object_id = 7 AND i.index_id > 0": [
        (1, "pk", "CLUSTERED", 1, 0, 1, None, 1, "ps", "cobid"),
        (2, "ix_name", "NONCLUSTERED", 0, 0, 0, None, 0, None, None),
    ],
    "FROM sys.foreign_keys AS f WHERE f.referenced_object_id = 7": [("fk_line", "[sales].[lines]")],
    "FROM sys.sql_expression_dependencies": [("[sales].[v]", "ix_v")],
    "FROM sys.check_constraints AS k WHERE k.parent_object_id = 7": [("positive", "([amount]>=(0))", 0, 1)],
    "WHERE c.object_id = 8": [("cobid", "bigint", None, 0, None, None, 0, 0, 0, 0, 1, 0)],
}
SQLSERVER: dict[str, Statement] = {
    "native_layout": Statement(
        native(lambda partitions: partitions.layout(ODD, ValueKind.INTEGER)),
        answers={
            **CATALOG,
            "SELECT ps.name, pf.name, pf.boundary_value_on_right, c.name\n": [("ps", "pf", 1, "cobid")],
            "fg.is_read_only\n": [(1, None, "20240131", 3, "PAGE", "FG", 0), (2, "20240131", None, 0, "NONE", "FG", 1)],
        },
    ),
    "native_new": Statement(
        lambda session: create(session, NewPartition("p20240301", *MARCH, splits="prest"), layout=LAYOUT),
        answers=CATALOG,
    ),
    "native_can_split": Statement(native(lambda partitions: partitions.can_split(LAYOUT, REST)), answers=CATALOG),
    "native_stage": Statement(
        native(
            lambda partitions: [
                partitions.create_stage(LAYOUT, PARTITION, STAGED, compress=True),
                partitions.finish_stage(LAYOUT, PARTITION, STAGED),
            ]
        ),
        answers=CATALOG,
    ),
    "native_switch": Statement(switch, answers=CATALOG),
    "native_others": Statement(others, answers=CATALOG),
    "native_rules": Statement(rules, answers=FORBIDDEN),
}
