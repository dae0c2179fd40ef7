"""What PostgreSQL asks of a table and a stage before a partition can be detached and another attached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, PartitionLayout, Precondition
from tidegate.sql.text import Literal, Name, Sql, sql

if TYPE_CHECKING:
    from tidegate.databases.postgresql.session import PostgresqlSession


def rules(
    session: PostgresqlSession, layout: PartitionLayout, partition: NativePartition | None, stage: TableName | None
) -> list[Precondition]:
    found = [_mappable(layout), *_of_table(session, layout)]
    if partition is not None:
        found += _of_partition(session, partition)
    if stage is not None and partition is not None and partition.table is not None:
        found += _of_stage(session, partition.table, stage)
    return found


def _mappable(layout: PartitionLayout) -> Precondition:
    return Precondition("values map to partitions", not layout.problem, reason=layout.problem)


def _ask(session: PostgresqlSession, statement: Sql) -> list[Any]:
    return session.query(statement)


def _number(session: PostgresqlSession, table: TableName) -> Literal:
    return Literal(session.database.render(sql("{table}", table=Name.of(table))))


def _of_table(session: PostgresqlSession, layout: PartitionLayout) -> list[Precondition]:
    table = _number(session, layout.table)
    [(is_owner, owner)] = _ask(
        session,
        sql(
            "SELECT pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner)\n"
            "FROM pg_class AS c WHERE c.oid = {table}::regclass",
            table=table,
        ),
    )
    keys = _ask(
        session,
        sql(
            "SELECT k.conname, k.conrelid::regclass::text FROM pg_constraint AS k\n"
            "WHERE k.confrelid = {table}::regclass AND k.contype = 'f' AND k.conparentid = 0 ORDER BY 1",
            table=table,
        ),
    )
    drops = tuple(
        session.database.render(
            sql(
                "ALTER TABLE {other} DROP CONSTRAINT {key}",
                other=Name(tuple(part.strip('"') for part in str(other).split("."))),
                key=Name.of(str(name)),
            )
        )
        for name, other in keys
    )
    change = sql("ALTER TABLE {table} OWNER TO CURRENT_USER", table=Name.of(layout.table))
    return [
        Precondition(
            "the login owns the table",
            bool(is_owner),
            "42501",
            f"{layout.table} belongs to {owner}",
            (session.database.render(change),),
        ),
        Precondition(
            "no foreign key refers to the table",
            not keys,
            "23503",
            f"{', '.join(str(other) for _, other in keys)} refers to it, and a partition whose rows are referred to"
            " cannot be detached",
            drops,
        ),
    ]


def _of_partition(session: PostgresqlSession, partition: NativePartition) -> list[Precondition]:
    assert partition.table is not None
    triggers = _ask(
        session,
        sql(
            "SELECT t.tgname FROM pg_trigger AS t WHERE t.tgrelid = {table}::regclass AND NOT t.tgisinternal"
            " AND t.tgparentid = 0 ORDER BY 1",
            table=_number(session, partition.table),
        ),
    )
    names = ", ".join(str(name) for (name,) in triggers)
    return [
        Precondition(
            "the partition is a plain table", not partition.problem, "42809", f"{partition.name}: {partition.problem}"
        ),
        Precondition(
            "the partition has no triggers of its own",
            not triggers,
            reason=f"{partition.name} has {names}, which a table in its place would not have",
            cure=tuple(
                session.database.render(
                    sql("DROP TRIGGER {name} ON {table}", name=Name.of(str(name)), table=Name.of(partition.table))
                )
                for (name,) in triggers
            ),
        ),
    ]


def _of_stage(session: PostgresqlSession, table: TableName, stage: TableName) -> list[Precondition]:
    """Compare what ATTACH compares: columns with their types, collations and nulls, and check constraints."""
    numbers = {"table": _number(session, table), "stage": _number(session, stage)}
    columns = _ask(
        session,
        sql(
            "SELECT coalesce(a.attname, b.attname), a.attname IS NULL, b.attname IS NULL,\n"
            "       a.atttypid = b.atttypid AND a.atttypmod = b.atttypmod, a.attcollation = b.attcollation,\n"
            "       a.attnotnull <= b.attnotnull, a.attgenerated = b.attgenerated, b.attidentity = '',\n"
            "       format_type(a.atttypid, a.atttypmod)\n"
            "FROM (SELECT * FROM pg_attribute WHERE attrelid = {table}::regclass AND attnum > 0"
            " AND NOT attisdropped) AS a\n"
            "FULL JOIN (SELECT * FROM pg_attribute WHERE attrelid = {stage}::regclass AND attnum > 0"
            " AND NOT attisdropped) AS b ON b.attname = a.attname\n"
            "ORDER BY 1",
            **numbers,
        ),
    )
    checks = _ask(
        session,
        sql(
            "SELECT k.conname, pg_get_constraintdef(k.oid) FROM pg_constraint AS k\n"
            "WHERE k.conrelid = {table}::regclass AND k.contype = 'c' AND NOT EXISTS (\n"
            "    SELECT 1 FROM pg_constraint AS s WHERE s.conrelid = {stage}::regclass AND s.contype = 'c'\n"
            "    AND s.conname = k.conname AND pg_get_constraintdef(s.oid) = pg_get_constraintdef(k.oid))\n"
            "ORDER BY 1",
            **numbers,
        ),
    )
    render, name = session.database.render, Name.of(stage)

    def of_columns(title: str, error: str, wrong: list[str], cure: list[Sql]) -> Precondition:
        return Precondition(title, not wrong, error, "; ".join(wrong), tuple(map(render, cure)))

    missing = [str(row[0]) for row in columns if row[2]]
    extra = [str(row[0]) for row in columns if row[1]]
    both = [row for row in columns if not row[1] and not row[2]]
    types = [row for row in both if not row[3]]
    collations = [str(row[0]) for row in both if row[3] and not row[4]]
    nulls = [str(row[0]) for row in both if not row[5]]
    computed = [str(row[0]) for row in both if not row[6]]
    numbered = [str(row[0]) for row in both if not row[7]]
    return [
        of_columns(
            "the stage has the table's columns",
            "42804",
            [f"{column} is missing in the stage" for column in missing]
            + [f"{column} is in the stage alone" for column in extra],
            [sql("ALTER TABLE {stage} DROP COLUMN {column}", stage=name, column=Name.of(column)) for column in extra],
        ),
        of_columns(
            "columns have equal types",
            "42804",
            [f"{row[0]} is not {row[8]} in the stage" for row in types],
            [
                sql(
                    "ALTER TABLE {stage} ALTER COLUMN {column} TYPE {type}",
                    stage=name,
                    column=Name.of(str(row[0])),
                    type=Sql(str(row[8]).replace("{", "{{").replace("}", "}}")),
                )
                for row in types
            ],
        ),
        of_columns("columns have equal collations", "42P21", [f"{column} differs" for column in collations], []),
        of_columns(
            "columns are as strict about nulls",
            "42804",
            [f"{column} takes nulls in the stage" for column in nulls],
            [
                sql("ALTER TABLE {stage} ALTER COLUMN {column} SET NOT NULL", stage=name, column=Name.of(column))
                for column in nulls
            ],
        ),
        of_columns(
            "generated columns are generated on both sides", "42804", [f"{column} differs" for column in computed], []
        ),
        of_columns(
            "the stage has no identity column",
            "0A000",
            [f"{column} numbers itself in the stage" for column in numbered],
            [
                sql("ALTER TABLE {stage} ALTER COLUMN {column} DROP IDENTITY", stage=name, column=Name.of(column))
                for column in numbered
            ],
        ),
        of_columns(
            "the stage has the table's check constraints",
            "42804",
            [f"{key} is missing in the stage" for key, _ in checks],
            [
                sql(
                    "ALTER TABLE {stage} ADD CONSTRAINT {key} {rule}",
                    stage=name,
                    key=Name.of(str(key)),
                    rule=Sql(str(rule).replace("{", "{{").replace("}", "}}")),
                )
                for key, rule in checks
            ],
        ),
    ]
