"""MySQL's and MariaDB's partitions: their layout, and EXCHANGE PARTITION as a switch.

Facts that shape this file
 * EXCHANGE PARTITION swaps the rows of a partition with those of a table of the same definition, and commits by itself.
   The table keeps its name and comment: only the rows change places.
 * It checks every row of the table unless it says WITHOUT VALIDATION (MySQL, MariaDB from 11.4 on). Readers go on
   during that check; writers wait.
 * With RANGE, null is less than every value. A partition ends before its bound, and begins where the one before it
   ends; MAXVALUE has no end.
 * RANGE by an expression: TO_DAYS and YEAR of a column are understood here, since they grow with the column.
 * CREATE TABLE ... LIKE copies the partitions, too; REMOVE PARTITIONING takes them away from the empty copy.
 * A new range can be added after the last one only; MAXVALUE must be reorganised, which copies its rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Any

from tidegate.databases.mysql.switch_rules import rules
from tidegate.interfaces.native_partitions import NativePartitions, Switch
from tidegate.model.names import TableName
from tidegate.model.native import NativePartition, NewPartition, PartitionLayout, Precondition
from tidegate.model.values import Value, ValueKind
from tidegate.sql.text import Literal, Name, Sql, raw, sql

if TYPE_CHECKING:
    from tidegate.databases.mysql.session import MysqlSession

_COLUMN = re.compile(r"\s*`?(?P<column>[^`(),]+)`?\s*")
_OF_COLUMN = re.compile(r"\s*(?P<function>to_days|year)\(\s*`?(?P<column>[^`(),]+)`?\s*\)\s*", re.IGNORECASE)
_CONSTANT = re.compile(r"\s*(?:_\w+)?(?:'((?:[^'\\]|''|\\.)*)'|([^',]+))\s*(?:,|$)")
_DEFAULT = re.compile(r"PARTITION `((?:[^`]|``)+)` DEFAULT")
_DAYS_BEFORE_YEAR_1 = 365
"""TO_DAYS counts from the year 0."""


class MysqlPartitions(NativePartitions):
    """Partitions of MySQL and MariaDB: a switch is EXCHANGE PARTITION, which commits by itself."""

    commits_itself = True

    def __init__(self, session: MysqlSession) -> None:
        self._session = session

    # The layout

    def layout(self, table: TableName, kind: ValueKind | None) -> PartitionLayout | None:
        rows: list[Any] = self._session.query(
            sql(
                "SELECT PARTITION_NAME, SUBPARTITION_NAME, PARTITION_METHOD, PARTITION_EXPRESSION,"
                " PARTITION_DESCRIPTION,\n"
                "       TABLE_ROWS, COALESCE(TABLESPACE_NAME, '')\n"
                "FROM information_schema.PARTITIONS\n"
                "WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {table} AND PARTITION_NAME IS NOT NULL\n"
                "ORDER BY PARTITION_ORDINAL_POSITION, SUBPARTITION_ORDINAL_POSITION",
                schema=Literal(table.schema or self._session.database.default_schema),
                table=Literal(table.name),
            )
        )
        if not rows:
            return None
        method, expression = str(rows[0][2]).lower(), str(rows[0][3])
        column, function = _deciding_column(expression)
        shape = method.removesuffix(" columns")
        defaults = self._defaults(table) if shape == "list" else set()
        problem = _problem(shape, column, expression, kind)
        try:
            partitions = tuple(_partitions(rows, shape, function, None if problem else kind, defaults))
        except ValueError as unread:
            problem = f"a bound cannot be read: {unread}"
            partitions = tuple(_partitions(rows, shape, function, None, defaults))
        return PartitionLayout(table, shape, column, partitions, function=function, problem=problem)

    def _defaults(self, table: TableName) -> set[str]:
        """Return the names of default partitions: the catalog lists one of MariaDB's as the value 0."""
        [row] = self._session.query(sql("SHOW CREATE TABLE {table}", table=Name.of(table)))
        return {found[1].replace("``", "`") for found in _DEFAULT.finditer(str(row[1]))}

    def preconditions(
        self, layout: PartitionLayout, partition: NativePartition | None, stage: TableName | None
    ) -> list[Precondition]:
        return rules(self._session, layout, partition, stage)

    def can_split(self, layout: PartitionLayout, partition: NativePartition) -> bool:
        return partition.is_default or (layout.method == "range" and partition.high is None)

    def new_boundaries(self, layout: PartitionLayout, new: NewPartition) -> list[Sql]:
        table, name = Name.of(layout.table), Name.of(new.name)
        if new.value is not None:
            part = sql("PARTITION {name} VALUES IN ({value})", name=name, value=_literal(new.value))
        else:
            assert new.high is not None
            part = sql("PARTITION {name} VALUES LESS THAN ({high})", name=name, high=_bound(new.high, layout.function))
        split = layout.named(new.splits) if new.splits else None
        if split is None or split.is_default:
            return [sql("ALTER TABLE {table} ADD PARTITION ({part})", table=table, part=part)]
        rest = [part]
        if new.low is not None and split.low != new.low:
            before = sql(
                "PARTITION {name} VALUES LESS THAN ({low})",
                name=Name.of(f"{new.name}_before"),
                low=_bound(new.low, layout.function),
            )
            rest.insert(0, before)
        if split.high != new.high:
            end = raw("MAXVALUE") if split.high is None else sql("({high})", high=_bound(split.high, layout.function))
            rest.append(sql("PARTITION {name} VALUES LESS THAN {end}", name=Name.of(split.name), end=end))
        return [
            sql(
                "ALTER TABLE {table} REORGANIZE PARTITION {split} INTO ({parts})",
                table=table,
                split=Name.of(split.name),
                parts=rest,
            )
        ]

    def rows_of(self, layout: PartitionLayout, partition: NativePartition) -> Sql:
        return sql("{table} PARTITION ({partition})", table=Name.of(layout.table), partition=Name.of(partition.name))

    # The stage

    def create_stage(
        self, layout: PartitionLayout, partition: NativePartition, stage: TableName, *, compress: bool
    ) -> None:
        """Its indexes are there before the rows come: EXCHANGE compares them in their order, as LIKE copies them."""
        name, table = Name.of(stage), Name.of(layout.table)
        self._session.execute(sql("CREATE TABLE {stage} LIKE {table}", stage=name, table=table))
        self._session.execute(sql("ALTER TABLE {stage} REMOVE PARTITIONING", stage=name))

    def finish_stage(self, layout: PartitionLayout, partition: NativePartition, stage: TableName) -> None:
        self.update_statistics(stage)

    def rebuild_indexes(self, stage: TableName) -> None:
        self._session.execute(sql("ALTER TABLE {stage} FORCE", stage=Name.of(stage)))

    def update_statistics(self, table: TableName) -> None:
        self._session.query(sql("ANALYZE TABLE {table}", table=Name.of(table)))

    # The switch

    def lock_rows(self, switch: Switch) -> None:
        """Locks of this transaction would end before the EXCHANGE: see `can_carry_rows`."""

    def switch(self, switch: Switch) -> None:
        with self._waiting(switch.wait_seconds):
            self._session.execute(
                sql(
                    "ALTER TABLE {table} EXCHANGE PARTITION {partition} WITH TABLE {stage}{unchecked}",
                    table=Name.of(switch.table),
                    partition=Name.of(switch.partition.name),
                    stage=Name.of(switch.stage),
                    unchecked=raw(" WITHOUT VALIDATION" if self._can_trust else ""),
                )
            )
        # The DDL committed: what records it goes into a transaction again.
        self._session.execute(sql("START TRANSACTION"))

    def replaced_rows(self, switch: Switch) -> TableName:
        return switch.stage

    @property
    def _can_trust(self) -> bool:
        return not self._session.is_mariadb or self._session.version >= (11, 4)

    @contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        limit = Literal(max(1, round(seconds)))
        [(before,)] = self._session.query(sql("SELECT @@SESSION.lock_wait_timeout"))
        self._session.execute(sql("SET SESSION lock_wait_timeout = {limit}", limit=limit))
        try:
            yield
        finally:
            if self._session.is_open:
                self._session.execute(sql("SET SESSION lock_wait_timeout = {before}", before=Literal(int(str(before)))))


def _deciding_column(expression: str) -> tuple[str, str]:
    """Return the column that decides, and the function of it that the bounds speak of; nothing for any other
    expression."""
    if found := _COLUMN.fullmatch(expression):
        return found["column"], ""
    if found := _OF_COLUMN.fullmatch(expression):
        return found["column"], found["function"].lower()
    return "", ""


def _problem(method: str, column: str, expression: str, kind: ValueKind | None) -> str:
    if method not in ("range", "list"):
        return f"it is partitioned by {method} ({expression}), which keeps no value together with its neighbours"
    if not column:
        return f"it is partitioned by ({expression}), which only the server can compute"
    if kind is None:
        return f"values of {column} have no exact order"
    if method == "range" and kind is ValueKind.TEXT:
        return f"texts of {column} are ordered by their collation, so that only the server knows their partition"
    return ""


def _partitions(
    rows: Sequence[Any], method: str, function: str, kind: ValueKind | None, defaults: set[str]
) -> Iterator[NativePartition]:
    low: Value | None = None
    seen: dict[str, NativePartition] = {}
    for name, subpartition, _, _, description, count, place in rows:
        if str(name) in seen:
            known = seen[str(name)]
            seen[str(name)] = replace(known, rows=(known.rows or 0) + int(count or 0))
            continue
        bound = str(description)
        high = None if kind is None or method != "range" or bound == "MAXVALUE" else _value(bound, function, kind)
        seen[str(name)] = NativePartition(
            number=len(seen) + 1,
            name=str(name),
            low=low,
            high=high,
            values=_values(bound, kind) if method == "list" and kind and str(name) not in defaults else (),
            is_default=str(name) in defaults,
            rows=int(count or 0),
            place=str(place),
            problem="it has sub-partitions" if subpartition is not None else "",
        )
        low = high
    yield from seen.values()


def _values(description: str, kind: ValueKind) -> tuple[Value | None, ...]:
    return tuple(None if text.upper() == "NULL" else Value.of(text, kind) for text in _constants(description))


def _value(description: str, function: str, kind: ValueKind) -> Value:
    """Return a bound as a value of the column: a number of days or years is the first of its days."""
    text = _constants(description)[0]
    if function == "to_days":
        return Value.of(date.fromordinal(int(text) - _DAYS_BEFORE_YEAR_1).isoformat(), kind)
    if function == "year":
        return Value.of(date(int(text), 1, 1).isoformat(), kind)
    return Value.of(text, kind)


def _constants(text: str) -> list[str]:
    return [
        found[1].replace("''", "'") if found[1] is not None else found[2].strip() for found in _CONSTANT.finditer(text)
    ]


def _literal(value: Value) -> Literal:
    return Literal(int(value.text)) if value.kind is ValueKind.INTEGER else Literal(value.text)


def _bound(value: Value, function: str) -> Sql:
    if function == "to_days":
        return sql("TO_DAYS({value})", value=Literal(value.text))
    if function == "year":
        return sql("YEAR({value})", value=Literal(value.text))
    return sql("{value}", value=_literal(value))
