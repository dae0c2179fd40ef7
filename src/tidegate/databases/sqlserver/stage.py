"""The staging table of a bulk load: filled before the transaction that inserts its rows into the target.

Facts that shape this file
 * A bulk copy opens a connection of its own: it sees no open transaction and no #temp table. So the stage is a regular
   table, and one INSERT ... SELECT moves its rows inside the load's transaction.
 * A heap takes several bulk copies at once, under a bulk update lock. They are minimally logged in the recovery models
   SIMPLE and BULK_LOGGED, and fully logged in FULL.
 * The driver asks for the columns of a table by a statement that concatenates them in a variable. SQL Server does that;
   a compatible server may keep only the last column. So we ask first whether the server concatenates. If not, rows are
   written by INSERT, which is slow and exact, and the plan says so.
 * Login and metadata queries of a bulk copy take longer than one INSERT of a few hundred rows.
 * A killed process leaves its stage behind. Each session locks its stages: a stage whose lock is free is orphaned. A
   session drops orphaned stages once, before its first stage.
 * An identity column takes values only while IDENTITY_INSERT is on, for one table of a session at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tidegate.databases.sqlserver import variants
from tidegate.databases.sqlserver.statements import characters_lost, insert_staged
from tidegate.databases.sqlserver.types import base_type
from tidegate.errors import DatabaseError, TidegateError, ValueProblem
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.text import Count, Literal, Name, raw, sql

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.sqlserver.session import SqlServerSession

_PREFIX = "stage_"
FEW_ROWS, FEW_BYTES = 500, 1 << 18


class Stage:
    """A staging table for the rows of one load. Dropped when its `with` block ends."""

    def __init__(self, session: SqlServerSession, table: TableName, columns: Sequence[Column]) -> None:
        self._session, self._table, self._columns = session, table, columns
        self._name = session.database.own_table(f"{_PREFIX}{uuid.uuid4().hex}")
        self._rows = 0
        self._types_of: dict[int, list[str]] = {}

    def __enter__(self) -> Stage:
        if not self._session.has_dropped_orphaned_stages:
            self._session.has_dropped_orphaned_stages = True
            self._drop_orphaned_stages()
        self._session.try_lock(str(self._name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(DatabaseError):  # after a lost connection, another session drops it
            self._drop(self._name)

    def fill(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Write the rows into the stage. Raises ValueProblem for values that the target would change."""
        from tidegate.databases.sqlserver.rows import stage_types, staged

        first = next(batches, None)
        if first is None:
            return
        names = [f"c{number}" for number in range(len(self._columns))]
        types = stage_types(self._columns, first.schema)
        columns = [
            sql("{name} {type} NULL", name=Name.of(name), type=raw(kind))
            for name, kind in zip(names, types, strict=True)
        ]
        for statement in self._session.database.create_schema(self._name):
            self._session.execute(statement)
        self._session.execute(sql("CREATE TABLE {stage} ({columns})", stage=Name.of(self._name), columns=columns))
        second = list(islice(batches, 1))
        is_small = not second and first.num_rows <= FEW_ROWS and first.nbytes <= FEW_BYTES
        rows = staged(chain([first], second, batches), self._columns, str(self._table))
        sent = _CountedBatches(rows, len(self._columns))
        if is_small or not self._session.can_bulk_copy:
            self._insert(sent)
        else:
            self._copy(names, sent)
        self._require_all(sent, names)
        self._rows = sent.rows
        self._require_characters()
        self._types_of = dict(self._types_of_variants())

    def _copy(self, columns: Sequence[str], sent: _CountedBatches) -> None:
        try:
            self._session.copy(self._name, columns, sent)
        except DatabaseError as problem:
            # For an error of ours inside the iterator, the driver reports only that its input failed.
            raise sent.problem or problem from None

    def _insert(self, sent: _CountedBatches) -> None:
        from tidegate.databases.sqlserver.rows import literals

        for batch in sent:
            for piece in literals(batch):
                self._session.execute(
                    sql("INSERT INTO {stage} VALUES {rows}", stage=Name.of(self._name), rows=raw(piece))
                )

    def _require_all(self, sent: _CountedBatches, columns: Sequence[str]) -> None:
        """Raise unless all rows arrived, with all values of every column: a missing column would become null."""
        counts = [sql("COUNT_BIG({column})", column=Name.of(column)) for column in columns]
        question = sql("SELECT {counts} FROM {stage}", counts=[Count(), *counts], stage=Name.of(self._name))
        rows, *values = (int(str(count)) for count in self._session.query(question)[0])
        pairs = zip(self._columns, values, sent.values, strict=True)
        incomplete = [column.name for column, arrived, expected in pairs if arrived != expected]
        if rows != sent.rows or incomplete:
            of_columns = f", and not every value of {', '.join(incomplete)}" if rows == sent.rows else ""
            raise DatabaseError(
                f"{self._table}: {rows:,} of {sent.rows:,} rows arrived at the server{of_columns}.",
                "The load did not start; the target is unchanged.",
                "Run again; report this with the server's version if it repeats.",
            )

    def _require_characters(self) -> None:
        question = characters_lost(self._columns, self._name)
        answer: Any = self._session.query(question)[0] if question is not None else ()
        lost = [self._columns[number].name for number in answer if number is not None and number >= 0]
        if lost:
            raise ValueProblem(
                f"{self._table}: column {lost[0]} cannot store a value in the target: its code page lacks a character.",
                "Nothing was loaded; the target keeps what it had.",
                "Make the target's column an nvarchar.",
            )

    def _types_of_variants(self) -> Iterator[tuple[int, list[str]]]:
        for number, column in enumerate(self._columns):
            if base_type(column.type) == variants.KIND:
                found = self._session.query(variants.types_staged(self._name, f"c{number}"))
                types = [str(row[0]) for row in found]
                if not all(map(variants.is_type, types)):
                    raise ValueProblem(
                        f"{self._table}: column {column.name} cannot store a value in the target: its text does not"
                        " start with a type that a sql_variant can have.",
                        "Nothing was loaded; the target keeps what it had.",
                        "Extract the table again (`tidegate run --reload`).",
                    )
                yield number, types

    def insert_into_table(self, session: SqlServerSession) -> int:
        """Move the rows into the target, inside the open transaction of a session. Return the number of rows."""
        if not self._rows:
            return 0
        statement = insert_staged(self._table, self._columns, self._name, self._types_of)
        if not any(column.identity for column in self._columns):
            return session.insert(statement, self._table, self._columns)
        table = Name.of(self._table)
        session.execute(sql("SET IDENTITY_INSERT {table} ON", table=table))
        try:
            return session.insert(statement, self._table, self._columns)
        finally:
            with suppress(DatabaseError):
                session.execute(sql("SET IDENTITY_INSERT {table} OFF", table=table))

    def _drop(self, stage: TableName) -> None:
        try:
            self._session.execute(sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage)))
        finally:
            self._session.unlock(str(stage))

    def _drop_orphaned_stages(self) -> None:
        found = self._session.query(
            sql(
                "SELECT t.name FROM sys.tables AS t\n"
                "WHERE t.schema_id = SCHEMA_ID({schema}) AND LEFT(t.name, {length}) = {prefix}",
                schema=Literal(self._name.schema),
                length=Literal(len(_PREFIX)),
                prefix=Literal(_PREFIX),
            )
        )
        for (name,) in found:
            stage = TableName(self._name.schema, str(name))
            if self._session.try_lock(str(stage)):
                with suppress(DatabaseError):  # its bulk copy may still run: a later session drops it
                    self._drop(stage)


class _CountedBatches:
    """Batches with a count of their rows and values: neither driver nor server reports what did not arrive."""

    def __init__(self, batches: Iterator[pa.RecordBatch], columns: int) -> None:
        self._batches = batches
        self.rows = 0
        self.values = [0] * columns
        """The number of values that are not null, by column."""
        self.problem: TidegateError | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self.rows += batch.num_rows
                for position, array in enumerate(batch.columns):
                    self.values[position] += len(array) - array.null_count
                yield batch
        except TidegateError as problem:
            self.problem = problem
            raise
