"""PostgreSQL's declarative partitions: their layout, and DETACH and ATTACH as a switch.

Facts that shape this file
 * A partition is a table. A stage that becomes one needs equal columns, NOT NULL and CHECK constraints; what else is
   missing (indexes, foreign keys) ATTACH would build while readers wait. So the stage has all of it before.
 * ATTACH reads the whole stage unless a CHECK constraint implies the partition's bounds. It reads the default partition
   as well: its rows must not belong to the new one.
 * An index of the stage counts for a constraint of the parent only if it belongs to a constraint, too.
 * DETACH takes ACCESS EXCLUSIVE on the parent. While it waits for one reader, all later readers wait behind it.
 * A partition must not have an identity column of its own (an error from version 17 on).
 * LOCK TABLE of a parent locks all of its partitions; ONLY locks the parent alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tidegate.databases.postgresql.switch_rules import rules
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, NewPartition, PartitionLayout, Precondition
from tidegate.model.values import Value, ValueKind
from tidegate.sql.text import Literal, Name, Sql, raw, sql

if TYPE_CHECKING:
    from tidegate.databases.postgresql.session import PostgresqlSession

_METHODS = {"r": "range", "l": "list", "h": "hash"}
_BOUND_CHECK = "tidegate_bounds"
_RANGE = re.compile(r"FOR VALUES FROM \((?P<low>.*)\) TO \((?P<high>.*)\)", re.DOTALL)
_LIST = re.compile(r"FOR VALUES IN \((?P<values>.*)\)", re.DOTALL)
_CONSTANT = re.compile(r"\s*(?:'((?:[^']|'')*)'(?:::[\w \"().]+)?|([^',]+))\s*(?:,|$)")
_PROBLEMS = {"p": "it has partitions of its own", "f": "it is a foreign table"}


class PostgresqlPartitions(NativePartitions):
    """Partitions of PostgreSQL: a switch is DETACH and ATTACH in one transaction."""

    def __init__(self, session: PostgresqlSession) -> None:
        self._session = session

    # The layout

    def layout(self, table: TableName, kind: ValueKind | None) -> PartitionLayout | None:
        found: list[Any] = self._session.query(
            sql(
                "SELECT p.partstrat, p.partnatts, coalesce(a.attname, ''), pg_get_partkeydef(c.oid)\n"
                "FROM pg_partitioned_table AS p JOIN pg_class AS c ON c.oid = p.partrelid\n"
                "JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
                "LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0\n"
                "WHERE n.nspname = {schema} AND c.relname = {table}",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        if not found:
            return None
        [(strategy, columns, column, definition)] = found
        method = _METHODS.get(str(strategy), str(strategy))
        problem = _problem(method, int(columns), str(column), str(definition), kind)
        partitions: tuple[NativePartition, ...] = ()
        try:
            partitions = tuple(self._partitions(table, None if problem else kind))
        except ValueError as unread:
            problem = f"a bound cannot be read: {unread}"
            partitions = tuple(self._partitions(table, None))
        return PartitionLayout(
            table, method, str(column) if columns == 1 else "", _in_order(partitions), problem=problem
        )

    def _partitions(self, table: TableName, kind: ValueKind | None) -> Iterator[NativePartition]:
        rows = self._session.query(
            sql(
                "SELECT n.nspname, c.relname, pg_get_expr(c.relpartbound, c.oid), c.reltuples::bigint, c.relkind,\n"
                "       coalesce(s.spcname, '')\n"
                "FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid\n"
                "JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
                "JOIN pg_class AS parent ON parent.oid = i.inhparent\n"
                "JOIN pg_namespace AS m ON m.oid = parent.relnamespace\n"
                "LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace\n"
                "WHERE m.nspname = {schema} AND parent.relname = {table} AND NOT i.inhdetachpending\n"
                "ORDER BY c.oid",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        for number, row in enumerate(rows, 1):
            schema, name, bound, estimate, relation, place = row
            low, high, values = _bounds(str(bound), kind)
            yield NativePartition(
                number=number,
                name=str(name),
                low=low,
                high=high,
                values=values,
                is_default=bound == "DEFAULT",
                rows=int(str(estimate)) if int(str(estimate)) >= 0 else None,
                place=str(place),
                table=TableName(str(schema), str(name)),
                problem=_PROBLEMS.get(str(relation), ""),
            )

    def preconditions(
        self, layout: PartitionLayout, partition: NativePartition | None, stage: TableName | None
    ) -> list[Precondition]:
        return rules(self._session, layout, partition, stage)

    def new_boundaries(self, layout: PartitionLayout, new: NewPartition) -> list[Sql]:
        name = Name.of(TableName(layout.table.schema, f"{layout.table.name[:40]}_{new.name}"[:63]))
        if new.value is not None:
            bounds = sql("IN ({value})", value=Literal(new.value.text))
        else:
            assert new.low is not None
            assert new.high is not None
            bounds = sql("FROM ({low}) TO ({high})", low=Literal(new.low.text), high=Literal(new.high.text))
        return [
            sql(
                "CREATE TABLE {name} PARTITION OF {table} FOR VALUES {bounds}",
                name=name,
                table=Name.of(layout.table),
                bounds=bounds,
            )
        ]

    def rows_of(self, layout: PartitionLayout, partition: NativePartition) -> Sql:
        return sql("{table}", table=Name.of(_table(partition)))

    # The stage

    def create_stage(
        self, layout: PartitionLayout, partition: NativePartition, stage: TableName, *, compress: bool
    ) -> None:
        like = _table(partition)
        options, method, place = self._storage(like)
        self._session.execute(
            sql(
                "CREATE TABLE {stage} (LIKE {like} INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING GENERATED"
                " INCLUDING STORAGE INCLUDING COMPRESSION INCLUDING STATISTICS INCLUDING COMMENTS)"
                "{method}{options}{place}",
                stage=Name.of(stage),
                like=Name.of(like),
                method=sql(" USING {method}", method=Name.of(method)),
                options=sql(" WITH ({options})", options=raw(options)) if options else raw(""),
                place=sql(" TABLESPACE {place}", place=Name.of(place)) if place else raw(""),
            )
        )

    def _storage(self, table: TableName) -> tuple[str, str, str]:
        [row] = self._session.query(
            sql(
                "SELECT coalesce(array_to_string(c.reloptions, ', '), ''), coalesce(m.amname, 'heap'),\n"
                "       coalesce(s.spcname, '')\n"
                "FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace\n"
                "LEFT JOIN pg_am AS m ON m.oid = c.relam LEFT JOIN pg_tablespace AS s ON s.oid = c.reltablespace\n"
                "WHERE n.nspname = {schema} AND c.relname = {table}",
                schema=Literal(table.schema),
                table=Literal(table.name),
            )
        )
        return str(row[0]), str(row[1]), str(row[2])

    def finish_stage(self, layout: PartitionLayout, partition: NativePartition, stage: TableName) -> None:
        """An archive has its indexes and keys already: what is there is not built again."""
        like, name = _table(partition), Name.of(stage)
        if not self._has_indexes(stage):
            for definition in self._definitions(like, "p", "u", "x"):
                self._session.execute(sql("ALTER TABLE {stage} ADD {key}", stage=name, key=raw(definition)))
            for start, rest in self._indexes(like):
                self._session.execute(raw(start + self._text(stage) + rest))
            for number, definition in enumerate(self._definitions(like, "f")):
                # NOT VALID first: the check of the rows then does not keep others from writing to the other table.
                key = Name.of(f"tidegate_fk_{number}")
                later = raw(definition.removesuffix(" NOT VALID"))
                self._session.execute(
                    sql("ALTER TABLE {stage} ADD CONSTRAINT {key} {rule} NOT VALID", stage=name, key=key, rule=later)
                )
                self._session.execute(sql("ALTER TABLE {stage} VALIDATE CONSTRAINT {key}", stage=name, key=key))
        if bounds := self._implied(like):
            self._session.execute(
                sql(
                    "ALTER TABLE {stage} DROP CONSTRAINT IF EXISTS {check}, ADD CONSTRAINT {check} CHECK ({bounds})",
                    stage=name,
                    check=Name.of(_BOUND_CHECK),
                    bounds=raw(bounds),
                )
            )
        self.update_statistics(stage)

    def _has_indexes(self, stage: TableName) -> bool:
        return bool(
            self._session.query(
                sql(
                    "SELECT 1 FROM pg_index WHERE indrelid = {stage}::regclass LIMIT 1",
                    stage=Literal(self._text(stage)),
                )
            )
        )

    def _definitions(self, table: TableName, *kinds: str) -> list[str]:
        rows = self._session.query(
            sql(
                "SELECT pg_get_constraintdef(k.oid) FROM pg_constraint AS k\n"
                "WHERE k.conrelid = {table}::regclass AND k.contype IN ({kinds}) ORDER BY k.conname",
                table=Literal(self._text(table)),
                kinds=[Literal(kind) for kind in kinds],
            )
        )
        return [str(row[0]) for row in rows]

    def _indexes(self, table: TableName) -> list[tuple[str, str]]:
        """Return the definition of each index without a constraint, before and after the name of its table."""
        rows = self._session.query(
            sql(
                "SELECT d.start, substr(pg_get_indexdef(i.indexrelid), length(d.start || d.named) + 1)\n"
                "FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid\n"
                "JOIN pg_class AS t ON t.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = t.relnamespace\n"
                "CROSS JOIN LATERAL (SELECT\n"
                "    CASE WHEN i.indisunique THEN 'CREATE UNIQUE INDEX ' ELSE 'CREATE INDEX ' END AS start,\n"
                "    quote_ident(x.relname) || ' ON ' || CASE x.relkind WHEN 'I' THEN 'ONLY ' ELSE '' END\n"
                "    || quote_ident(n.nspname) || '.' || quote_ident(t.relname) AS named) AS d\n"
                "WHERE i.indrelid = {table}::regclass AND i.indisvalid\n"
                "  AND NOT EXISTS (SELECT 1 FROM pg_constraint AS k WHERE k.conindid = i.indexrelid"
                " AND k.contype IN ('p', 'u', 'x'))\n"
                "ORDER BY i.indexrelid",
                table=Literal(self._text(table)),
            )
        )
        return [(f"{start}ON ", str(rest)) for start, rest in rows]

    def _implied(self, partition: TableName) -> str:
        statement = sql(
            "SELECT pg_get_partition_constraintdef({table}::regclass)", table=Literal(self._text(partition))
        )
        [(found,)] = self._session.query(statement)
        return "" if found is None else str(found)

    def rebuild_indexes(self, stage: TableName) -> None:
        self._session.execute(sql("REINDEX TABLE {stage}", stage=Name.of(stage)))

    def update_statistics(self, table: TableName) -> None:
        self._session.execute(sql("ANALYZE {table}", table=Name.of(table)))

    # The switch

    def lock_rows(self, switch: Switch) -> None:
        # The parent first, as writers do: the other way round, a writer and this load would wait for each other.
        for table in (switch.table, _table(switch.partition)):
            self._session.execute(sql("LOCK TABLE ONLY {table} IN SHARE MODE", table=Name.of(table)))

    def switch(self, switch: Switch) -> None:
        table, partition = Name.of(switch.table), _table(switch.partition)
        name = Name.of(partition)
        self._session.execute(sql("SET LOCAL lock_timeout = {ms}", ms=Literal(max(1, int(switch.wait_seconds * 1000)))))
        self._session.execute(sql("LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE", table=table))
        statement = sql(
            "SELECT pg_get_expr(c.relpartbound, c.oid) FROM pg_class AS c WHERE c.oid = {name}::regclass",
            name=Literal(self._text(partition)),
        )
        [(bounds,)] = self._session.query(statement)
        for change in (
            sql("ALTER TABLE {table} DETACH PARTITION {name}", table=table, name=name),
            sql("ALTER TABLE {name} RENAME TO {old}", name=name, old=Name.of(switch.old.name)),
            sql("ALTER TABLE {stage} RENAME TO {new}", stage=Name.of(switch.stage), new=Name.of(partition.name)),
            sql("ALTER TABLE {table} ATTACH PARTITION {name} {rule}", table=table, name=name, rule=raw(str(bounds))),
            sql("ALTER TABLE {name} DROP CONSTRAINT IF EXISTS {check}", name=name, check=Name.of(_BOUND_CHECK)),
        ):
            self._session.execute(change)

    def _text(self, table: TableName) -> str:
        return self._session.database.render(sql("{table}", table=Name.of(table)))


def _table(partition: NativePartition) -> TableName:
    assert partition.table is not None
    return partition.table


def _problem(method: str, columns: int, column: str, definition: str, kind: ValueKind | None) -> str:
    if method not in ("range", "list"):
        return f"it is partitioned by {definition}, which keeps no value together with its neighbours"
    if columns != 1:
        return f"it is partitioned by several columns: {definition}"
    if not column:
        return f"it is partitioned by an expression: {definition}"
    if kind is None:
        return f"values of {column} have no exact order"
    if method == "range" and kind is ValueKind.TEXT:
        return f"texts of {column} are ordered by their collation, so that only the server knows their partition"
    return ""


def _bounds(bound: str, kind: ValueKind | None) -> tuple[Value | None, Value | None, tuple[Value | None, ...]]:
    if kind is None:
        return None, None, ()
    if found := _RANGE.fullmatch(bound):
        low, high = (_constants(found[side])[0] for side in ("low", "high"))
        return (
            None if low == "MINVALUE" else Value.of(low, kind),
            None if high == "MAXVALUE" else Value.of(high, kind),
            (),
        )
    if found := _LIST.fullmatch(bound):
        return None, None, tuple(None if text == "NULL" else Value.of(text, kind) for text in _constants(found[1]))
    return None, None, ()


def _constants(text: str) -> list[str]:
    """Return the constants of a list as the catalog shows them: bare, or in quotes and perhaps with a cast."""
    return [
        found[1].replace("''", "'") if found[1] is not None else found[2].strip() for found in _CONSTANT.finditer(text)
    ]


def _in_order(partitions: tuple[NativePartition, ...]) -> tuple[NativePartition, ...]:
    """Return the partitions by their ranges, numbered; the default partition comes last."""
    from dataclasses import replace

    def place(partition: NativePartition) -> tuple[int, Any, str]:
        first = partition.low or next((value for value in partition.values if value is not None), None)
        if partition.is_default:
            return 2, "", partition.name
        return (0, "", partition.name) if first is None else (1, first.sort_key, partition.name)

    ordered = sorted(partitions, key=place)
    return tuple(replace(partition, number=number) for number, partition in enumerate(ordered, 1))
