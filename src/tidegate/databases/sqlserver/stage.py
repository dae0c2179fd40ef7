"""A stage: a table of our own that rows are brought to before the transaction that takes them over.

Facts that shape this file
 * A bulk copy opens a connection of its own: it sees no open transaction and no #temp table. So a stage is a table that
   exists for all, and one INSERT ... SELECT takes its rows over inside of the load's transaction.
 * A heap takes several bulk copies at once, under a lock on the whole table, with little in the log.
 * The driver asks for the columns of a table by a statement that adds them up in a variable. SQL Server does that; a
   compatible server may keep the last one only, and then knows no other. So it is asked first whether it adds up:
   where it does not, rows are inserted, which is slow, exact, and told by the plan.
 * The login and the questions of a bulk copy take longer than one INSERT of a few hundred rows.
 * Whoever dies leaves a stage behind. Each is locked by its session: a stage whose lock can be had is nobody's. A
   session looks for them once, before its first stage.
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
from tidegate.databases.sqlserver.types import bare
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
    """The way of one value's rows into one table. Gone when its `with` block ends."""

    def __init__(self, session: SqlServerSession, table: TableName, columns: Sequence[Column]) -> None:
        self._session, self._table, self._columns = session, table, columns
        self._name = session.database.own_table(f"{_PREFIX}{uuid.uuid4().hex}")
        self._rows = 0
        self._types_of: dict[int, list[str]] = {}

    def __enter__(self) -> Stage:
        if not self._session.has_looked_for_stages:
            self._session.has_looked_for_stages = True
            self._drop_those_of_the_dead()
        self._session.try_lock(str(self._name))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(DatabaseError):  # a connection that is lost leaves it to the next one
            self._drop(self._name)

    def fill(self, batches: Iterator[pa.RecordBatch]) -> None:
        """Raises ValueProblem for what the table would store as something else."""
        from tidegate.databases.sqlserver.rows import stage_types, staged

        first = next(batches, None)
        if first is None:
            return
        numbered = [f"c{place}" for place in range(len(self._columns))]
        types = stage_types(self._columns, first.schema)
        columns = [
            sql("{name} {type} NULL", name=Name.of(name), type=raw(kind))
            for name, kind in zip(numbered, types, strict=True)
        ]
        for statement in self._session.database.create_schema(self._name):
            self._session.execute(statement)
        self._session.execute(sql("CREATE TABLE {stage} ({columns})", stage=Name.of(self._name), columns=columns))
        others = list(islice(batches, 1))
        is_few = not others and first.num_rows <= FEW_ROWS and first.nbytes <= FEW_BYTES
        rows = staged(chain([first], others, batches), self._columns, str(self._table))
        sent = _Sent(rows, len(self._columns))
        if is_few or not self._session.copies_in_bulk:
            self._insert(sent)
        else:
            self._copy(numbered, sent)
        self._require_all(sent, numbered)
        self._rows = sent.rows
        self._require_characters()
        self._types_of = dict(self._types_of_variants())

    def _copy(self, columns: Sequence[str], sent: _Sent) -> None:
        try:
            self._session.copy(self._name, columns, sent)
        except DatabaseError as told:
            # The driver tells only its own side of what went wrong in here.
            raise sent.problem or told from None

    def _insert(self, sent: _Sent) -> None:
        from tidegate.databases.sqlserver.rows import literals

        for batch in sent:
            for piece in literals(batch):
                self._session.execute(
                    sql("INSERT INTO {stage} VALUES {rows}", stage=Name.of(self._name), rows=raw(piece))
                )

    def _require_all(self, sent: _Sent, columns: Sequence[str]) -> None:
        """Every row, and in every column as many values: a column that did not arrive would be one of nulls."""
        counts = [sql("COUNT_BIG({column})", column=Name.of(column)) for column in columns]
        question = sql("SELECT {counts} FROM {stage}", counts=[Count(), *counts], stage=Name.of(self._name))
        rows, *values = (int(str(count)) for count in self._session.query(question)[0])
        pairs = zip(self._columns, values, sent.values, strict=True)
        short = [column.name for column, came, went in pairs if came != went]
        if rows != sent.rows or short:
            of_columns = f", and not every value of {', '.join(short)}" if rows == sent.rows else ""
            raise DatabaseError(
                f"{self._table}: of {sent.rows:,} rows {rows:,} came to the server{of_columns}.",
                "The load was not begun; the target keeps what it had.",
                "Run again; if it happens again, report it with the server's version.",
            )

    def _require_characters(self) -> None:
        question = characters_lost(self._columns, self._name)
        answer: Any = self._session.query(question)[0] if question is not None else ()
        lost = [self._columns[number].name for number in answer if number is not None and number >= 0]
        if lost:
            raise ValueProblem(
                f"{self._table}: column {lost[0]} has no room in the target for a value that came: a character that its"
                " code page lacks.",
                "Nothing was loaded; the target keeps what it had.",
                "Make the target's column an nvarchar.",
            )

    def _types_of_variants(self) -> Iterator[tuple[int, list[str]]]:
        for number, column in enumerate(self._columns):
            if bare(column.type) == variants.KIND:
                found = self._session.query(variants.types_staged(self._name, f"c{number}"))
                types = [str(row[0]) for row in found]
                if not all(map(variants.is_type, types)):
                    raise ValueProblem(
                        f"{self._table}: column {column.name} has no room in the target for a value that came: its text"
                        " does not begin with a type that a sql_variant can have.",
                        "Nothing was loaded; the target keeps what it had.",
                        "Let the file be extracted again (`run --reload`).",
                    )
                yield number, types

    def take_over(self) -> int:
        """Joins the open transaction; how many rows the table took."""
        if not self._rows:
            return 0
        statement = insert_staged(self._table, self._columns, self._name, self._types_of)
        if not any(column.identity for column in self._columns):
            return self._session.insert(statement, self._table, self._columns)
        table = Name.of(self._table)
        self._session.execute(sql("SET IDENTITY_INSERT {table} ON", table=table))
        try:
            return self._session.insert(statement, self._table, self._columns)
        finally:
            with suppress(DatabaseError):
                self._session.execute(sql("SET IDENTITY_INSERT {table} OFF", table=table))

    def _drop(self, stage: TableName) -> None:
        try:
            self._session.execute(sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage)))
        finally:
            self._session.unlock(str(stage))

    def _drop_those_of_the_dead(self) -> None:
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
                with suppress(DatabaseError):  # its bulk copy may still be at work: the next one drops it
                    self._drop(stage)


class _Sent:
    """Batches on their way, counted: neither driver nor server tells what did not arrive."""

    def __init__(self, batches: Iterator[pa.RecordBatch], columns: int) -> None:
        self._batches = batches
        self.rows = 0
        self.values = [0] * columns
        """Of each column: those that are not null."""
        self.problem: TidegateError | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._batches:
                self.rows += batch.num_rows
                for place, array in enumerate(batch.columns):
                    self.values[place] += len(array) - array.null_count
                yield batch
        except TidegateError as problem:
            self.problem = problem
            raise
