"""What MySQL and MariaDB ask of a table and a stage before their rows change places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, PartitionLayout, Precondition
from tidegate.sql.text import Literal, Name, Part, Sql, raw, sql

if TYPE_CHECKING:
    from tidegate.databases.mysql.session import MysqlSession


def rules(
    session: MysqlSession, layout: PartitionLayout, partition: NativePartition | None, stage: TableName | None
) -> list[Precondition]:
    found = [
        Precondition("values map to partitions", not layout.problem, reason=layout.problem),
        _engine(session, layout.table),
        *_foreign_keys(session, layout.table),
    ]
    if partition is not None:
        found.append(
            Precondition(
                "the partition has no sub-partitions",
                not partition.problem,
                "1732",
                f"{partition.name}: {partition.problem}",
            )
        )
    if stage is not None:
        found += _of_stage(session, layout.table, stage)
    return found


def _place(session: MysqlSession, table: TableName) -> dict[str, Part]:
    return {
        "schema": Literal(table.schema or session.database.default_schema),
        "table": Literal(table.name),
    }


def _engine(session: MysqlSession, table: TableName) -> Precondition:
    rows: list[Any] = session.query(
        sql(
            "SELECT ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}",
            **_place(session, table),
        )
    )
    engine = str(rows[0][0]) if rows else "none"
    change = sql("ALTER TABLE {table} ENGINE = InnoDB", table=Name.of(table))
    return Precondition(
        "the engine has transactions",
        engine.lower() == "innodb",
        "1497",
        f"{table} is stored by {engine}",
        (session.database.render(change),),
    )


def _foreign_keys(session: MysqlSession, table: TableName) -> list[Precondition]:
    rows: list[Any] = session.query(
        sql(
            "SELECT k.CONSTRAINT_NAME, k.TABLE_SCHEMA, k.TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE AS k\n"
            "WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND ((k.TABLE_SCHEMA = {schema} AND k.TABLE_NAME = {table})\n"
            "   OR (k.REFERENCED_TABLE_SCHEMA = {schema} AND k.REFERENCED_TABLE_NAME = {table}))\n"
            "ORDER BY 1",
            **_place(session, table),
        )
    )
    cure = [
        sql(
            "ALTER TABLE {other} DROP FOREIGN KEY {key}",
            other=Name.of(TableName(str(schema), str(name))),
            key=Name.of(str(key)),
        )
        for key, schema, name in rows
    ]
    return [
        Precondition(
            "no foreign key, neither way",
            not rows,
            "1740",
            f"foreign keys: {', '.join(str(row[0]) for row in rows)}",
            tuple(map(session.database.render, cure)),
        )
    ]


def _of_stage(session: MysqlSession, table: TableName, stage: TableName) -> list[Precondition]:
    """Compare what EXCHANGE compares: columns in their order, keys, row format and engine."""
    ours, theirs = _columns(session, table), _columns(session, stage)
    names, staged = [row[0] for row in ours], [row[0] for row in theirs]
    kinds = [a[0] for a, b in zip(ours, theirs, strict=False) if a[0] == b[0] and a[1:] != b[1:]]
    keys, staged_keys = _keys(session, table), _keys(session, stage)
    formats = [_format(session, one) for one in (table, stage)]
    [(rows,)] = session.query(
        sql(
            "SELECT COUNT(*) FROM information_schema.PARTITIONS\n"
            "WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table} AND PARTITION_NAME IS NOT NULL",
            **_place(session, stage),
        )
    )
    cure = sql("ALTER TABLE {stage} REMOVE PARTITIONING", stage=Name.of(stage))
    anew: tuple[str, ...] = tuple(
        session.database.render(one)
        for one in (
            sql("DROP TABLE {stage}", stage=Name.of(stage)),
            sql("CREATE TABLE {stage} LIKE {table}", stage=Name.of(stage), table=Name.of(table)),
            cure,
        )
    )
    row_format = sql("ALTER TABLE {stage} ROW_FORMAT = {format}", stage=Name.of(stage), format=raw(formats[0] or "-"))
    return [
        Precondition("the stage is not partitioned", not int(str(rows)), "1732", f"{stage} has partitions",
                     (session.database.render(cure),)),
        Precondition("the stage has the table's columns in their order", names == staged, "1736",
                     f"{', '.join(staged)} instead of {', '.join(names)}", anew),
        Precondition("columns have equal types, nulls and collations", not kinds, "1736",
                     f"{', '.join(kinds)} differ", anew),
        Precondition("the stage has the table's keys", keys == staged_keys, "1736",
                     f"other keys: {', '.join(sorted({row[0] for row in keys ^ staged_keys}))}", anew),
        Precondition("rows have the same format", formats[0] == formats[1], "1731",
                     f"{formats[1]} instead of {formats[0]}", (session.database.render(row_format),)),
    ]  # fmt: skip


def _columns(session: MysqlSession, table: TableName) -> list[tuple[str, ...]]:
    rows = session.query(
        sql(
            "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLLATION_NAME, ''),\n"
            "       COALESCE(GENERATION_EXPRESSION, '')\n"
            "FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}\n"
            "ORDER BY ORDINAL_POSITION",
            **_place(session, table),
        )
    )
    return [tuple(map(str, row)) for row in rows]


def _keys(session: MysqlSession, table: TableName) -> set[tuple[str, ...]]:
    rows = session.query(
        sql(
            "SELECT INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, 0),"
            " INDEX_TYPE\n"
            "FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}",
            **_place(session, table),
        )
    )
    return {tuple(map(str, row)) for row in rows}


def _format(session: MysqlSession, table: TableName) -> str:
    statement: Sql = sql(
        "SELECT COALESCE(ROW_FORMAT, '') FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table}",
        **_place(session, table),
    )
    rows = session.query(statement)
    return str(rows[0][0]) if rows else ""
