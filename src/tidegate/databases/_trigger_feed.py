"""What the trigger feeds share: AFTER triggers append keys to a log table, which a run reads and cleans.

Facts that shape this file
 * A log belongs to one project: what is loaded there may be removed. Each project has triggers of its own.
 * The names of triggers carry a hash of the table's whole name, its key and the body of the trigger. So two tables
   never share a name, and triggers of an older version or another key are seen as such.
 * A log tells keys, not values: rows are read again. So the order of the log does not matter.
 * A transaction that began to write early and commits late must not be passed over. Each database has its own way to
   say what is committed for good; `bounds` asks it.
"""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import Unsupported
from tidegate.interfaces.feed import Feed, FeedHealth, FeedState, FeedTable, Problem
from tidegate.interfaces.requests import ReadRequest
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.feeds import DELETE, INSERT, UPDATE, Position
from tidegate.model.names import TableName
from tidegate.model.types import Type
from tidegate.sql.contents import count_rows
from tidegate.sql.keys import has_key
from tidegate.sql.text import Dialect, Sql, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

INSERTED, UPDATED, DELETED, EMPTIED = "I", "U", "D", "T"
_OPERATIONS = {INSERTED: INSERT, UPDATED: UPDATE, DELETED: DELETE}
OPERATION_COLUMN = "operation"
_ODD = re.compile(r"[^a-z0-9_]+")
_UNTOUCHED = "Nothing was changed."


@dataclass(frozen=True)
class Installed:
    """What the catalog has of the triggers and the log of one table."""

    log: str = ""
    """What tells this log from one that was made anew; empty where there is none."""
    triggers: Mapping[str, bool] | None = None
    """The triggers of Tidegate on the table by name, and whether each is enabled."""


@dataclass(frozen=True)
class TriggerFeed(Feed):
    """Triggers of one project."""

    label = "triggers"
    has_images: ClassVar[bool] = False
    has_commit_times: ClassVar[bool] = False
    dialect: ClassVar[Dialect]

    name: str
    """The project's name: it is in the names of everything that is made."""

    @property
    def id(self) -> str:
        return f"triggers of {self.name}"

    # What is on the server

    def key_of(self, schema: TableSchema) -> list[Column]:
        """Return the columns that the triggers log. Raises Unsupported for a table without a primary key."""
        if not schema.primary_key:
            raise Unsupported(
                f"{schema.name} has no primary key, so its triggers could not name a row.",
                _UNTOUCHED,
                "Add a primary key, or read the table with another `changes`.",
            )
        by_name = {column.name: column for column in schema.columns}
        return [by_name[name] for name in schema.primary_key]

    def stem(self, table: TableName) -> str:
        """Return the part of names that belongs to one table of this project."""
        digest = hashlib.sha256(f"{self.name}\n{table.schema}\n{table.name}".encode()).hexdigest()
        return f"{_ODD.sub('_', table.name.lower())[:24]}_{digest[:10]}"

    @abstractmethod
    def log_table(self, table: TableName) -> TableName:
        """Return the name of the log of a table."""

    @abstractmethod
    def triggers(self, schema: TableSchema) -> dict[str, list[Sql]]:
        """Return the triggers of a table: the statements that make each, by its name."""

    @abstractmethod
    def create_log(self, schema: TableSchema) -> list[Sql]:
        """Return the statements that make the log of a table."""

    @abstractmethod
    def drop_trigger(self, table: TableName, name: str) -> list[Sql]: ...

    @abstractmethod
    def drop_log(self, table: TableName) -> list[Sql]: ...

    @abstractmethod
    def installed(self, session: Session, table: TableName) -> Installed: ...

    def enable(self, table: TableName, name: str) -> Sql | None:
        """Return the statement that enables a trigger; None where triggers are always enabled."""
        return None

    def trigger_name(self, schema: TableSchema, body: Sql) -> str:
        """Return the name of a trigger with this body."""
        logged = repr([(column.name, column.type) for column in self.key_of(schema)])
        version = hashlib.sha256(f"{logged}\n{render(body, self.dialect)}".encode()).hexdigest()[:6]
        return f"tidegate_{self.stem(schema.name)}_{version}"

    @staticmethod
    def logged_names(key: Sequence[Column]) -> list[str]:
        return [f"key_{number}" for number in range(1, len(key) + 1)]

    def _is_ours(self, trigger: str, table: TableName) -> bool:
        return trigger.startswith(f"tidegate_{self.stem(table)}_")

    def problems(self, session: Session, table: FeedTable) -> list[Problem]:
        schema = session.table_schemas([table.name])[table.name]
        if {column.name for column in table.keys} != set(schema.primary_key):
            return [Problem("the triggers log the primary key, and `keys` names other columns")]
        found = self.installed(session, schema.name)
        missing = self._statements(session, self._missing(schema, found))
        if missing:
            what = (
                "the triggers of another version are installed" if found.triggers else "its triggers are not installed"
            )
            return [Problem(what, missing)]
        off = [name for name, is_on in (found.triggers or {}).items() if not is_on]
        return [
            Problem(
                f"the trigger {name} is disabled: changes since then are missing in the log",
                (*self._statements(session, [statement]), f"-- and then: tidegate run {table.name.name} --reload"),
            )
            for name in off
            if (statement := self.enable(schema.name, name)) is not None
        ]

    def _missing(self, schema: TableSchema, found: Installed) -> list[Sql]:
        """Return the statements that are still to be run.

        A log whose triggers were not all there lacks changes. It is made anew, so that the next run knows it."""
        existing, wanted = dict(found.triggers or {}), self.triggers(schema)
        if found.log and existing.keys() == wanted.keys():
            return []
        # Triggers go before their log: a write in between must not fail.
        statements = [statement for name in existing for statement in self.drop_trigger(schema.name, name)]
        if found.log:
            statements += self.drop_log(schema.name)
        statements += self.create_log(schema)
        return [*statements, *(statement for made in wanted.values() for statement in made)]

    def _statements(self, session: Session, statements: Sequence[Sql]) -> tuple[str, ...]:
        return tuple(session.database.script(statement) for statement in statements)

    def create(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        schemas = session.table_schemas(tables)
        missing: list[Sql] = []
        for table in tables:
            if table not in schemas:
                raise Unsupported(f"There is no table {table}, or the login may not see it.", _UNTOUCHED)
            schema = schemas[table]
            missing += self._missing(schema, self.installed(session, schema.name))
        return missing

    def drop(self, session: Session, tables: Sequence[TableName]) -> list[Sql]:
        statements: list[Sql] = []
        for schema in session.table_schemas(tables).values():
            found = self.installed(session, schema.name)
            for name in found.triggers or {}:
                statements += self.drop_trigger(schema.name, name)
            if found.log:
                statements += self.drop_log(schema.name)
        return statements

    # Reading

    @abstractmethod
    def bounds(self, session: Session, table: TableName, log: str, after: Position | None) -> Position:
        """Return how far the log can be read: no transaction that is still open can write before that.

        `log` is that of `installed`, and the first word of the position's detail."""

    def untold(self, table: TableName, after: Position, now: Position) -> str:
        """Return why rows came or went that no trigger saw, as far as the catalog tells; empty for none."""
        return ""

    @abstractmethod
    def between(self, after: Position, upto: Position) -> Sql:
        """Return the condition for rows of the log between two positions."""

    @abstractmethod
    def since(self, after: Position) -> Sql:
        """Return the condition for rows of the log that a position does not cover, also of newer transactions."""

    @abstractmethod
    def remove(self, session: Session, log: TableName, upto: Position) -> None:
        """Remove the rows of the log up to a position, in steps that do not hold locks for long."""

    def state(self, session: Session, table: FeedTable, after: Position | None, snapshot: str) -> FeedState:
        found = self.installed(session, table.name)
        now = self.bounds(session, table.name, found.log, after)
        notice = f"triggers do not see {self.bypassed_by}"
        if after is None:
            return FeedState(now, now, None, notices=(notice,))
        if log_of(after) != found.log:
            return FeedState(now, now, None, lost="the log of the triggers was made anew", notices=(notice,))
        log, rows = self.log_table(table.name), self.between(after, now)
        emptied = sql("{rows} AND operation = 'T'", rows=rows)
        changes = int(str(session.query(count_rows(log, rows))[0][0]))
        is_emptied = bool(changes) and int(str(session.query(count_rows(log, emptied))[0][0])) > 0
        untold = self.untold(table.name, after, now)
        if changes == 0 and now.order > after.order and not untold:
            now = after  # nothing was logged in between
        return FeedState(now, now, changes, truncated=is_emptied, untold=untold, notices=(notice,))

    def read(
        self, session: Session, table: FeedTable, after: Position, upto: Position, snapshot: str
    ) -> Generator[pa.RecordBatch, None, object]:
        import pyarrow as pa
        import pyarrow.compute as pc

        from tidegate.hashing.changes import change_schema

        schema = session.table_schemas([table.name])[table.name]
        columns, text = self._logged_columns(schema, table)
        wanted = change_schema(table)
        operation = Column(OPERATION_COLUMN, "char(1)", "string", logical_type=Type("string", 1))
        rows = sql("{rows} AND operation <> 'T'", rows=self.between(after, upto))
        request = ReadRequest(self.log_table(table.name), (operation, *columns), rows, text, table.batch)
        number = 0
        for batch in session.read(request):
            letters = batch.column(0)
            codes = pa.array([_OPERATIONS[letter] for letter in letters.to_pylist()], pa.int16())
            places = pa.array([f"{after.order}.{number + row:012d}" for row in range(len(letters))], pa.string())
            times = pa.nulls(len(letters), pa.timestamp("us", "UTC"))
            number += len(letters)
            values = [
                pc.cast(array, field.type) for array, field in zip(batch.columns[1:], list(wanted)[3:], strict=True)
            ]
            yield pa.RecordBatch.from_arrays([codes, places, times, *values], schema=wanted)
        return None

    def told_after(
        self, session: Session, table: FeedTable, after: Position, keys: pa.RecordBatch
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = session.table_schemas([table.name])[table.name]
        columns, text = self._logged_columns(schema, table)
        rows = sql("{since} AND {asked}", since=self.since(after), asked=has_key(columns, keys))
        for batch in session.read(ReadRequest(self.log_table(table.name), tuple(columns), rows, text, table.batch)):
            yield pa.RecordBatch.from_arrays(
                [array.cast(keys.column(place).type) for place, array in enumerate(batch.columns)], keys.schema.names
            )

    def _logged_columns(self, schema: TableSchema, table: FeedTable) -> tuple[list[Column], tuple[str, ...]]:
        """Return the columns of the log that hold the key, and those of them that are read as text."""
        key = self.key_of(schema)
        logged = dict(zip((column.name for column in key), self.logged_names(key), strict=True))
        columns = [replace(column, name=logged[column.name]) for column in table.keys]
        return columns, tuple(logged[name] for name in table.text_columns if name in logged)

    def confirm(self, session: Session, positions: Mapping[TableName, Position]) -> None:
        for table, position in positions.items():
            found = self.installed(session, table)
            if found.log and found.log == log_of(position):
                self.remove(session, self.log_table(table), position)

    def health(self, session: Session, table: FeedTable, after: Position | None) -> FeedHealth:
        problems = tuple(self.problems(session, table))
        facts = {"not seen by triggers": self.bypassed_by}
        found = self.installed(session, table.name)
        if found.log:
            log = self.log_table(table.name)
            facts["log"] = str(log)
            facts["rows in the log"] = f"{int(str(session.query(count_rows(log))[0][0])):,}"
            if after is not None:
                state = self.state(session, table, after, "")
                facts["not read yet"] = state.lost or f"{state.changes:,} keys"
        alive = not any(problem.severity == "error" for problem in problems)
        return FeedHealth(f"triggers of {self.name}", alive, facts, problems)


def log_of(position: Position) -> str:
    """Return which log a position belongs to."""
    return position.detail.partition(" ")[0]
