"""What a database plug-in offers without a connection: its capabilities, its SQL, and how it connects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar

from tidegate.errors import Unsupported
from tidegate.interfaces.capabilities import CAPABILITY_NAMES, Capabilities
from tidegate.model.columns import Column, TableSchema
from tidegate.model.connection import Connection
from tidegate.model.foreign_keys import ForeignKey
from tidegate.model.names import TableName
from tidegate.model.structure import Index
from tidegate.model.types import Type, type_fit
from tidegate.model.values import ValueKind
from tidegate.sql.text import Dialect, Name, Sql, names, raw, render, sql

if TYPE_CHECKING:
    from tidegate.interfaces.archive import ArchiveSql, Migration
    from tidegate.interfaces.feed import Feed
    from tidegate.interfaces.session import Session
    from tidegate.interfaces.stored_files import ObjectStore


class Database(ABC):
    """One server and login. It holds no connection, so Spark can send it to its workers."""

    kind: ClassVar[str]
    label: ClassVar[str]
    capabilities: ClassVar[Capabilities]
    dialect: ClassVar[Dialect]
    is_source: ClassVar[bool] = True
    """Rows can be extracted from it. Otherwise it is a target alone."""
    folds_names: ClassVar[bool] = False
    """Names have one case only, whatever case a statement writes: the catalog shows `id` for `"ID"`."""
    statement_end: ClassVar[str] = ";"
    """What ends a statement in a script for the server's own command line."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @classmethod
    def connection_of(cls, driver: object) -> Connection | None:
        """Return the address and login of a connection that a program opened with a driver of its own.

        None for a connection of another database, or one that does not tell its password."""
        return None

    def loading_from(self, store: ObjectStore | None) -> Database:
        """Return the database with the place of files that its server loads. Needs `bulk_from_files`.

        None where the lake is in no object storage: raises Unsupported."""
        return self

    def require(self, capability: str, *, for_: str, instead: str = "") -> None:
        """Raise Unsupported unless the database has this capability. Call it before any work starts.

        Args:
            capability: the name of a field of `Capabilities`.
            for_: what needs the capability, as the user wrote it: "`load: merge`".
            instead: what the user can do instead, as a sentence.
        """
        if not getattr(self.capabilities, capability):
            missing = CAPABILITY_NAMES[capability]
            raise Unsupported(f"{self.label} has no {missing}, which {for_} needs.", remedy=instead)

    @abstractmethod
    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        """Return an open session. Raises Unreachable. The server's monitoring shows `purpose`."""

    @property
    @abstractmethod
    def default_schema(self) -> str:
        """Return the schema of a table whose name has none."""

    @abstractmethod
    def own_table(self, name: str) -> TableName:
        """Return the full name of one of Tidegate's own tables, such as `ledger`: apart from the user's tables."""

    @abstractmethod
    def value_kind(self, column: Column) -> ValueKind | None:
        """Return how the values of this column are ordered; None if it cannot be a partition column or a cursor.

        It can be one if a literal of the normalised `Value.text` (without zone and trailing zeros) finds the rows, and
        if `max` finds the greatest value."""

    def clock_query(self, cursor: Column) -> Sql | None:
        """Return a query for the current time of the server, as text of this column's type.

        A cursor value beyond the answer lies in the future. None for a column that holds no time."""
        return None

    def change_counter(self, schema: TableSchema) -> Column | None:
        """Return a column that the server itself raises with every change of a row; None where a table has none.

        `clock_query` of it gives the greatest value below which no transaction is open any more."""
        return None

    def number_block(self, table: TableName, column: Column) -> Sql | None:
        """Return a scalar query for how many numbers of a column one session draws at once; null where nothing draws
        them. None where every number is drawn for the row that gets it.

        A session that has drawn a block may write a smaller number long after others wrote greater ones."""
        return None

    def open_transactions(self, table: TableName) -> Sql | None:
        """Return a scalar query for the transactions that may still write to this table, as a JSON text.

        Each has `session` (which names this transaction and no later one), `who` (for people), `age` in seconds, and
        `wrote`: whether it has taken a lock to write to the table. The answer is null where this login may not see
        transactions; None where the server cannot tell, or no query can. The query is part of a larger statement, so
        that bound and transactions are of one moment."""
        return None

    def only_valid(self, column: Column) -> Sql | None:
        """Return an expression for a column: null for values that other databases do not have, such as zero dates.

        None where values of this type are valid everywhere."""
        return None

    def feed(self, kind: str, name: str) -> Feed | None:
        """Return the change feed of this kind (`cdc`, `change_tracking`, `triggers`); None where there is none.

        `name` is the project's: what the feed makes on the server is called so."""
        return None

    def space(self, table: TableName) -> Sql | None:
        """Return a scalar query for the bytes that a table has on disk, with its indexes; null for one that is not
        there. None where the server cannot tell."""
        return None

    # Targets

    @abstractmethod
    def declare(self, column: Column) -> Column:
        """Return the column of this database that takes every value of a source's `column`.

        A column of the same kind of database keeps its `declared_type`. Another column gets a `type` in this database's
        words, and the `logical_type` that the catalog will report once the column exists. The ledger's tables are
        declared in the same way. Implementations end with `read_like(column)`, so that reading the target gives back
        the values of the source."""

    def invalid_names(self, names: Sequence[str]) -> dict[str, str]:
        """Return the names that one table cannot have here, each with the reason: too long, or equal but for case.

        Asked before DDL, which would cut or refuse them."""
        return {}

    def refused_types(self, columns: Sequence[Column]) -> dict[str, str]:
        """Return the columns of a source whose values no type takes here, each with the reason. Asked before DDL."""
        return {}

    def cautions(self, columns: Sequence[Column]) -> tuple[str, ...]:
        """Return what people should know of the types of these columns of a source: values that could not be stored."""
        return ()

    @abstractmethod
    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        """Return the DDL of a table of declared columns. No index if `index_on` is empty."""

    @abstractmethod
    def add_column(self, table: TableName, column: Column) -> Sql:
        """Return the DDL that adds a column. The column is nullable: existing rows have no value for it."""

    def widening_problem(self, source: Column, target: Column, schema: TableSchema) -> str:
        """Return why `widen_column` cannot widen this column of the target table, or an empty text if it can.

        Asked only for columns for which `fits` answers `widen`."""
        return ""

    @abstractmethod
    def widen_column(self, table: TableName, column: Column) -> Sql:
        """Return the DDL that changes the type of a column and nothing else.

        Never called on a database whose `fits` does not answer `widen`."""

    def fits(self, source: Column, target: Column) -> str:
        """Return whether `target` takes every value of `source`.

        `same` and `wider`: it does. `widen`: it does after `widen_column`. Any other text is the reason why not."""
        declared = self.declare(source)
        if (declared.type, declared.logical_type) == (target.declared_type, target.logical_type):
            return "same"
        if source.logical_type == declared.logical_type == Type("string") and declared.type == target.declared_type:
            return "same"  # `columns: {price: text}` between servers of one kind: the text goes into the source's type
        verdict = type_fit(target.logical_type, source.logical_type)
        if not verdict and declared.logical_type != source.logical_type:
            verdict = type_fit(target.logical_type, declared.logical_type)
        # A type that exists in the target database alone (a domain, an enum) belongs to its users: it is never altered.
        if not verdict or (verdict == "widen" and target.portable_type):
            return f"{target.name} is {target.type} in the target and {source.type} in the source"
        return "widen" if verdict == "widen" else "wider"

    def add_surrogate(self, table: TableName, name: str) -> Sql:
        """Return the DDL that adds a column in which the server numbers the rows. Needs `surrogate_keys`."""
        raise Unsupported(f"{self.label} has no {CAPABILITY_NAMES['surrogate_keys']}.")

    def numbered(self, statements: Sequence[str], table: TableName, name: str) -> tuple[str, ...]:
        """Return the DDL of a new table with a column in which the server numbers the rows. Needs `surrogate_keys`."""
        return (*statements, self.render(self.add_surrogate(table, name)))

    def laid_out(
        self, statements: Sequence[str], table: TableName, distribution: str, sort_keys: Sequence[str]
    ) -> tuple[str, ...]:
        """Return the DDL of a new table with its distribution over the servers and its sort keys."""
        raise Unsupported(
            f"{self.label} has no distribution and no sort keys.",
            "Nothing was written.",
            "Leave out `distribution` and `sort_keys`.",
        )

    def in_partitions(self, table: TableName, statements: Sequence[Sql], column: str, parts: int) -> list[Sql]:
        """Return the DDL of a table, as `create_table` made it, in partitions by the hash of a column of its key."""
        raise Unsupported(
            f"{self.label} has no partitions by the hash of a column.",
            "Nothing was written.",
            "Leave out `partition_by_filter`, or create the table yourself on a partition scheme of its filter.",
        )

    @abstractmethod
    def stage_name(self) -> TableName:
        """Return an unused name for a staging table that only one session sees."""

    @abstractmethod
    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        """Return the DDL of a staging table: these columns with the types that they have in `table`, all nullable."""

    @abstractmethod
    def drop_stage(self, stage: TableName) -> Sql:
        """Return the DDL that drops a staging table."""

    # What a table has besides columns, on request

    def index_problem(self, columns: Sequence[Column]) -> str:
        """Return why these columns of a table here cannot have an index; an empty text if they can."""
        return ""

    def ignored_by_collation(self, collation: str) -> str:
        """Return what a key of this collation does not tell apart, such as `case`; empty for an exact one."""
        return ""

    def create_index(self, table: TableName, index: Index) -> Sql:
        """Return the DDL of an index. A `definition` is one of this kind of database."""
        unique = raw("UNIQUE " if index.is_unique else "")
        ending = raw(index.definition) if index.definition else sql("({columns})", columns=names(index.columns))
        return sql(
            "CREATE {unique}INDEX {name} ON {table} {ending}",
            unique=unique,
            name=Name.of(index.name),
            table=Name.of(table),
            ending=ending,
        )

    def add_foreign_key(self, key: ForeignKey) -> Sql:
        """Return the DDL of a foreign key. The server checks every row that is there."""
        return sql(
            "ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({columns}) REFERENCES {parent} ({theirs})",
            table=Name.of(key.table),
            name=Name.of(key.name),
            columns=names(key.columns),
            parent=Name.of(key.parent),
            theirs=names(key.parent_columns),
        )

    def set_default(self, table: TableName, column: str, expression: str) -> Sql | None:
        """Return the DDL of a default, an expression in words of this database; None where no column that is there can
        get one."""
        return None

    def comment(self, table: TableName, column: str, text: str) -> Sql | None:
        """Return the DDL of a comment on a column, or on the table; None where that needs more than a statement."""
        return None

    # Foreign keys and triggers

    can_bypass_triggers: ClassVar[bool] = False
    """`Session.one_transaction` can leave triggers out."""
    checks_rows_alone: ClassVar[bool] = False
    """A foreign key is checked for each row by itself: also a table that refers to itself needs its rows in order."""

    def deferral(self, keys: Sequence[ForeignKey]) -> tuple[str, str]:
        """Return how `Session.one_transaction` checks these keys at its end, in words for the plan; and why it cannot,
        with what to do. One of the two is empty."""
        return "", f"{self.label} checks every statement; disable the keys before the run, and check them after it"

    # Snapshots

    def snapshot_archive(self) -> ArchiveSql:
        """Return the statements of an archive of snapshots in this database."""
        raise Unsupported(
            f"{self.label} cannot hold the archive of snapshots.",
            "Nothing was read or written.",
            "Name a PostgreSQL database as the archive, or leave the archive out.",
        )

    def snapshot_procedures(self, table: TableName, register: TableName, suffix: str) -> tuple[Migration, ...]:
        """Return the procedures with which people clean up and count the snapshot table. None by default.

        `register` has a row per snapshot of the table. The names of the procedures end with `suffix`."""
        return ()

    def grants_to_read(self, tables: Sequence[TableName]) -> list[Sql]:
        """Return the statements with which an administrator lets this login read the tables.

        Empty where logins have no rights of their own."""
        return []

    def grants_to_write(self, tables: Sequence[TableName], updated: Collection[TableName]) -> list[Sql]:
        """Return the statements with which an administrator lets this login load the tables.

        The tables, and Tidegate's own, need not exist yet. Rows of `updated` tables are changed in place; rows of the
        others are only deleted and inserted."""
        return []

    def notes_on_rights(self) -> tuple[str, ...]:
        """Return what a load needs besides rights in the database, for people to read."""
        return ()

    def optional_grants(self, *, writes: bool) -> dict[str, Sql]:
        """Return grants that a login can do without, by what each is good for."""
        return {}

    def render(self, statement: Sql) -> str:
        """Return the statement as the text that the server gets."""
        return render(statement, self.dialect)

    def script(self, statement: Sql) -> str:
        """Return the statement as it stands in a script for the server's own command line."""
        return f"{self.render(statement)}{self.statement_end}"

    def __repr__(self) -> str:
        return f"<{self.kind} {self.connection.display}>"
