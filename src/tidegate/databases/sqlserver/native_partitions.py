"""SQL Server's partitions: scheme, function and boundaries, and ALTER TABLE ... SWITCH.

Facts that shape this file
 * A stage on the target's own partition scheme has its partitions on the same filegroups, and needs no check of the
   range. A table for the old rows is created likewise, in the transaction: a partition can go out to an empty one only.
 * SWITCH, CREATE TABLE and ALTER TABLE are transactional. SWITCH takes Sch-M on both tables: it waits for every reader,
   and later readers wait behind it. So the wait is short (LOCK_TIMEOUT, error 1222) and repeated.
 * A variable in SWITCH PARTITION is not supported where CDC is on or the table is published: numbers are literals.
 * NEXT USED names the filegroup of one SPLIT, for every scheme on the function, before every SPLIT.
 * SPLIT of a partition with rows moves rows under locks. A function may serve several tables: all of them are split.
 * Constraints that are created WITH CHECK on loaded rows are trusted, as a switch demands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Any

from tidegate.databases.sqlserver import catalog, layout
from tidegate.databases.sqlserver.switch_facts import IndexFacts, TableFacts, questions, table_facts
from tidegate.databases.sqlserver.switch_rules import column_definition, rules_of_stage, rules_of_table
from tidegate.errors import DatabaseError, ProofFailed
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, NewPartition, PartitionLayout, Precondition
from tidegate.model.values import Value, ValueKind
from tidegate.sql.text import Literal, Name, Part, Sql, raw, sql

if TYPE_CHECKING:
    from tidegate.databases.sqlserver.session import SqlServerSession


class SqlServerPartitions(NativePartitions):
    """Partitions of SQL Server: a switch is two SWITCH statements in one transaction."""

    def __init__(self, session: SqlServerSession) -> None:
        self._session = session

    # The layout

    def layout(self, table: TableName, kind: ValueKind | None) -> PartitionLayout | None:
        found: list[Any] = self._session.query(
            sql(
                "SELECT ps.name, pf.name, pf.boundary_value_on_right, c.name\n"
                "FROM sys.indexes AS i\n"
                "JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id\n"
                "JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id\n"
                "JOIN sys.index_columns AS ic\n"
                "  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1\n"
                "JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id\n"
                "WHERE i.object_id = {table} AND i.index_id IN (0, 1)",
                table=Literal(self._number(table)),
            )
        )
        if not found:
            return None
        [(scheme, function, is_right, column)] = found
        problem = ""
        if kind is None:
            problem = f"values of {column} have no exact order"
        elif kind is ValueKind.TEXT:
            problem = f"texts of {column} are ordered by their collation, so that only the server knows their partition"
        try:
            partitions = tuple(self._partitions(table, None if problem else kind))
        except ValueError as unread:
            problem, partitions = f"a bound cannot be read: {unread}", tuple(self._partitions(table, None))
        return PartitionLayout(
            table,
            "range",
            str(column),
            partitions,
            low_included=bool(is_right),
            function=str(function),
            scheme=str(scheme),
            problem=problem,
        )

    def _partitions(self, table: TableName, kind: ValueKind | None) -> Iterator[NativePartition]:
        rows = self._session.query(
            sql(
                "SELECT p.partition_number, {low}, {high}, p.rows, p.data_compression_desc, fg.name, fg.is_read_only\n"
                "FROM sys.indexes AS i\n"
                "JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id\n"
                "JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id\n"
                "LEFT JOIN sys.destination_data_spaces AS d\n"
                "  ON d.partition_scheme_id = ps.data_space_id AND d.destination_id = p.partition_number\n"
                "LEFT JOIN sys.filegroups AS fg ON fg.data_space_id = d.data_space_id\n"
                "LEFT JOIN sys.partition_range_values AS low\n"
                "  ON low.function_id = ps.function_id AND low.boundary_id = p.partition_number - 1\n"
                "LEFT JOIN sys.partition_range_values AS high\n"
                "  ON high.function_id = ps.function_id AND high.boundary_id = p.partition_number\n"
                "WHERE i.object_id = {table} AND i.index_id IN (0, 1) ORDER BY p.partition_number",
                low=layout.bound("low"),
                high=layout.bound("high"),
                table=Literal(self._number(table)),
            )
        )
        for number, low, high, count, compression, place, read_only in rows:
            yield NativePartition(
                number=int(str(number)),
                name=str(number),
                low=_bound(low, kind),
                high=_bound(high, kind),
                rows=int(str(count or 0)),
                place=str(place or ""),
                compression="" if compression in (None, "NONE") else str(compression),
                problem=f"its filegroup {place} is read-only (error 4978)" if read_only else "",
            )

    def rows_of(self, layout: PartitionLayout, partition: NativePartition) -> Sql:
        return sql(
            "(SELECT * FROM {table} WHERE $PARTITION.{function}({column}) = {number}) AS part",
            table=Name.of(layout.table),
            function=Name.of(layout.function),
            column=Name.of(layout.column),
            number=Literal(partition.number),
        )

    def can_split(self, layout: PartitionLayout, partition: NativePartition) -> bool:
        """Return whether the last partition is empty in every table that the function serves."""
        if partition.high is not None:
            return False
        [(rows,)] = self._session.query(
            sql(
                "SELECT COALESCE(SUM(p.rows), 0)\n"
                "FROM sys.partition_functions AS pf\n"
                "JOIN sys.partition_schemes AS ps ON ps.function_id = pf.function_id\n"
                "JOIN sys.indexes AS i ON i.data_space_id = ps.data_space_id AND i.index_id IN (0, 1)\n"
                "JOIN sys.partitions AS p ON p.object_id = i.object_id AND p.index_id = i.index_id\n"
                "WHERE pf.name = {function} AND p.partition_number = {number}",
                function=Literal(layout.function),
                number=Literal(partition.number),
            )
        )
        return int(str(rows)) == 0

    def new_boundaries(self, layout: PartitionLayout, new: NewPartition) -> list[Sql]:
        known = {bound for partition in layout.partitions for bound in (partition.low, partition.high)}
        split = layout.named(new.splits)
        place = Name.of(split.place if split and split.place else "PRIMARY")
        schemes = self._session.query(
            sql(
                "SELECT ps.name FROM sys.partition_schemes AS ps\n"
                "JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id\n"
                "WHERE pf.name = {function} ORDER BY ps.name",
                function=Literal(layout.function),
            )
        )
        statements = []
        for bound in (new.low, new.high):
            if bound is None or bound in known:
                continue
            statements += [
                sql("ALTER PARTITION SCHEME {scheme} NEXT USED {place}", scheme=Name.of(str(name)), place=place)
                for (name,) in schemes
            ]
            statements.append(
                sql(
                    "ALTER PARTITION FUNCTION {function}() SPLIT RANGE ({bound})",
                    function=Name.of(layout.function),
                    bound=_literal(bound),
                )
            )
        return statements

    # What forbids a switch

    def preconditions(
        self, layout: PartitionLayout, partition: NativePartition | None, stage: TableName | None
    ) -> list[Precondition]:
        table, render = self._facts(layout.table), self._session.database.render
        found = [Precondition("values map to partitions", not layout.problem, reason=layout.problem)]
        found += rules_of_table(table, render)
        if partition is not None:
            found.append(
                Precondition("the filegroup is not read-only", not partition.problem, "4978", partition.problem)
            )
        if stage is not None:
            found += rules_of_stage(table, self._facts(stage), render)
        return found

    def _facts(self, table: TableName) -> TableFacts:
        features = self._session.server_features
        asked = questions(self._number(table), dependencies=features.dependencies, captures=features.captures)
        return table_facts(table, {name: self._session.query(question) for name, question in asked.items()})

    def _number(self, table: TableName) -> int:
        return catalog.numbered(self._session.query, [table])[table]

    # The stage

    def create_stage(
        self, layout: PartitionLayout, partition: NativePartition, stage: TableName, *, compress: bool
    ) -> None:
        """The compression is the table's own: a switch compares it, whatever `compress` says."""
        facts = self._facts(layout.table)
        columns: list[Part] = [column_definition(column) for column in facts.columns]
        self._session.execute(
            sql(
                "CREATE TABLE {stage} ({columns}) ON {scheme} ({by}){packed}",
                stage=Name.of(stage),
                columns=columns,
                scheme=Name.of(facts.scheme),
                by=Name.of(facts.partitioned_by),
                packed=_with(_compression(facts.compression)),
            )
        )

    def finish_stage(self, layout: PartitionLayout, partition: NativePartition, stage: TableName) -> None:
        self._build(layout, stage)
        self.update_statistics(stage)

    def _build(self, layout: PartitionLayout, stage: TableName) -> None:
        """Build the indexes and constraints that the table has and the stage does not."""
        facts = self._facts(layout.table)
        if not self._facts(stage).indexes:
            for statement in _indexes(facts, stage):
                self._session.execute(statement)
        there = {text for _, text, _ in self._facts(stage).checks}
        for _, text, is_trusted in facts.checks:
            if is_trusted and text not in there:
                self._session.execute(
                    sql("ALTER TABLE {stage} WITH CHECK ADD CHECK {rule}", stage=Name.of(stage), rule=raw(text))
                )
        if not self._facts(stage).foreign_keys:
            for key in facts.foreign_keys:
                self._session.execute(
                    sql(
                        "ALTER TABLE {stage} WITH CHECK ADD FOREIGN KEY ({columns}) REFERENCES {other} ({others})"
                        "{deletes}{updates}",
                        stage=Name.of(stage),
                        columns=[Name.of(column) for column, _ in key.columns],
                        other=raw(key.table),
                        others=[Name.of(column) for _, column in key.columns],
                        deletes=_action("DELETE", key.on_delete),
                        updates=_action("UPDATE", key.on_update),
                    )
                )

    def rebuild_indexes(self, stage: TableName) -> None:
        self._session.execute(sql("ALTER INDEX ALL ON {stage} REBUILD", stage=Name.of(stage)))

    def update_statistics(self, table: TableName) -> None:
        self._session.execute(sql("UPDATE STATISTICS {table}", table=Name.of(table)))

    # The switch

    def lock_rows(self, switch: Switch) -> None:
        self._session.query(sql("SELECT TOP (1) 1 FROM {table} WITH (TABLOCK, HOLDLOCK)", table=Name.of(switch.table)))

    def switch(self, switch: Switch) -> None:
        number, table = Literal(switch.partition.number), Name.of(switch.table)
        expected = self._rows(switch.stage, switch.partition)
        if self._rows(switch.table, switch.partition):
            # It comes into being in this transaction, and is empty: its indexes take no time.
            self.create_stage(switch.layout, switch.partition, switch.old, compress=True)
            self._build(switch.layout, switch.old)
        [(before,)] = self._session.query(sql("SELECT @@LOCK_TIMEOUT"))
        wait = Literal(max(1, int(switch.wait_seconds * 1000)))
        self._session.execute(sql("SET LOCK_TIMEOUT {wait}", wait=wait))
        try:
            if self._rows(switch.table, switch.partition):
                self._session.execute(_switched(table, Name.of(switch.old), number))
            self._session.execute(_switched(Name.of(switch.stage), table, number))
        finally:
            with suppress(DatabaseError):  # a lost connection says so itself
                self._session.execute(sql("SET LOCK_TIMEOUT {wait}", wait=Literal(int(str(before)))))
        arrived = self._rows(switch.table, switch.partition)
        if arrived != expected:
            raise ProofFailed(
                f"{switch.table}: partition {switch.partition.name} has {arrived:,} rows after the switch, and the"
                f" stage had {expected:,}.",
                "The switch was rolled back; the target keeps what it had.",
                "Run again; report this with the server's version if it repeats.",
            )

    def _rows(self, table: TableName, partition: NativePartition) -> int:
        [(rows,)] = self._session.query(
            sql(
                "SELECT COALESCE(SUM(p.rows), 0) FROM sys.partitions AS p\n"
                "WHERE p.object_id = OBJECT_ID({table}) AND p.index_id IN (0, 1) AND p.partition_number = {number}",
                table=Literal(self._session.database.render(sql("{table}", table=Name.of(table)))),
                number=Literal(partition.number),
            )
        )
        return int(str(rows))


def _switched(source: Name, target: Name, number: Literal) -> Sql:
    return sql(
        "ALTER TABLE {source} SWITCH PARTITION {number} TO {target} PARTITION {number}",
        source=source,
        target=target,
        number=number,
    )


def _bound(text: object, kind: ValueKind | None) -> Value | None:
    return None if text is None or kind is None else Value.of(text, kind)


def _literal(value: Value) -> Literal:
    return Literal(int(value.text)) if value.kind is ValueKind.INTEGER else Literal(value.text)


def _action(verb: str, action: str) -> Sql:
    return raw("" if action == "NO_ACTION" else f" ON {verb} {action.replace('_', ' ')}")


def _compression(partitions: Sequence[str]) -> list[Sql]:
    """Return one DATA_COMPRESSION for each kind of compression, with the partitions that have it."""
    options = []
    for kind in sorted(set(partitions) - {"NONE"}):
        numbers = [number for number, each in enumerate(partitions, 1) if each == kind]
        options.append(raw(f"DATA_COMPRESSION = {kind} ON PARTITIONS ({', '.join(_ranges(numbers))})"))
    return options


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield `2` or `4 TO 7` for neighbours."""
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in group]
        yield str(found[0]) if len(found) == 1 else f"{found[0]} TO {found[-1]}"


def _with(options: Sequence[Sql]) -> Sql:
    return sql(" WITH ({options})", options=list(options)) if options else raw("")


def _indexes(facts: TableFacts, stage: TableName) -> Iterator[Sql]:
    """Yield the DDL of all indexes, the clustered one first: it would build the others again."""
    for index in sorted(facts.indexes, key=lambda index: not index.type.startswith("CLUSTERED")):
        if not index.is_disabled:
            yield _index(facts, index, stage)


def _index(facts: TableFacts, index: IndexFacts, stage: TableName) -> Sql:
    columns: list[Part] = [
        sql("{column}{down}", column=Name.of(column), down=raw(" DESC" if down else ""))
        for column, down in index.columns
    ]
    # COLUMNSTORE is what a columnstore index has by itself; only COLUMNSTORE_ARCHIVE is written.
    packed = _compression(["NONE" if each == "COLUMNSTORE" else each for each in index.compression])
    place = sql("{scheme} ({by})", scheme=Name.of(facts.scheme), by=Name.of(facts.partitioned_by))
    ending = sql("{packed} ON {place}", packed=_with(packed), place=place)
    table, kind = Name.of(stage), raw(index.type)
    if index.is_primary or index.is_constraint:
        word = raw("PRIMARY KEY" if index.is_primary else "UNIQUE")
        key = sql("{word} {kind} ({columns})", word=word, kind=kind, columns=columns)
        return sql("ALTER TABLE {table} ADD {key}{ending}", table=table, key=key, ending=ending)
    included = sql("({columns})", columns=[Name.of(column) for column in index.included])
    if "COLUMNSTORE" in index.type:
        shape = sql(" {included}", included=included) if index.type.startswith("NON") else raw("")
    else:
        shape = sql(" ({columns})", columns=columns)
        if index.included:
            shape = sql("{shape} INCLUDE {included}", shape=shape, included=included)
        if index.filter:
            shape = sql("{shape} WHERE {filter}", shape=shape, filter=raw(index.filter))
    what = raw(f"UNIQUE {index.type}" if index.is_unique else index.type)
    made = sql("CREATE {what} INDEX {name} ON {table}", what=what, name=Name.of(index.name), table=table)
    return sql("{made}{shape}{ending}", made=made, shape=shape, ending=ending)
