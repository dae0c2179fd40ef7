"""filebase: a third-party database plugin for databases in one file. A URL is `filebase:///path/to/file.db`.

It is SQLite under another name. `tests/stories/test_new_database.py` installs it like a third-party package: this file
on the path, and an entry point in the group `tidegate.databases`. It needs no change in Tidegate.

Facts that shape this file
 * A column accepts every value. Its type only sets the preferred storage, and sizes are not enforced. Letters in the
   type's name decide: INT first, then TEXT, then BLOB, then REAL and FLOA.
 * There are no exact decimals and no times. Their types begin with `text_`, so that every digit is kept. A decimal
   therefore sorts as text and cannot be a partition column.
 * NaN would be stored as NULL, and -0.0 as 0.0.
 * Types cannot be altered, and need not be: see the first fact.
 * A file has one writer at a time. BEGIN IMMEDIATE waits for the others, so a transaction holds every lock.
 * A transaction sees the file as of its first read. Other sessions cannot share this snapshot.
 * COMMIT runs in this process, so its outcome is never unknown.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import DatabaseError, MissingObject, NotNative, Transient, Unreachable, Unsupported, ValueProblem
from tidegate.interfaces import BatchSize, Capabilities, Database, ReadRequest, Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName, staged_name
from tidegate.model.types import Type
from tidegate.model.values import Value, ValueKind
from tidegate.sql.text import AsText, Dialect, ExactColumn, Literal, Name, Part, Sql, names, raw, render, sql

if TYPE_CHECKING:
    import pyarrow as pa

KIND = "filebase"
SCHEMA = "main"
SECONDS_TO_WAIT = 300
STEPS_BETWEEN_LOOKS = 10_000

# Types: the values of each, and the declaration of a column for values of another database.

_FAMILIES = {
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "integer": "int64",
    "boolean": "bool",
    "float": "float32",
    "real": "float64",
    "text": "string",
    "blob": "binary",
    "text_decimal": "decimal",
    "text_date": "date",
    "text_time": "time",
    "text_timestamp": "timestamp",
    "text_instant": "instant",
}
_PLAIN = {
    "int8": "smallint",
    "flag": "smallint",
    "uint8": "smallint",
    "int16": "smallint",
    "uint16": "int",
    "int32": "int",
    "uint32": "bigint",
    "int64": "bigint",
    "uint64": "text_decimal(20,0)",
    "bool": "boolean",
    "float32": "float",
    "float64": "real",
    "date": "text_date",
    "geometry": "blob",
}
_SIZED = {
    "string": "text",
    "char": "text",
    "trimmed": "text",
    "enum": "text",
    "binary": "blob",
    "time": "text_time",
    "clock": "text_time",
    "timestamp": "text_timestamp",
    "instant": "text_instant",
}
_TYPE = re.compile(r"(\w+)(?:\((\d+)(?:,(\d+))?\))?")


def logical_type(declared: str) -> Type:
    found = _TYPE.fullmatch(declared.lower())
    if found is None or found[1] not in _FAMILIES:
        return Type("local", spelling=declared)
    return Type(_FAMILIES[found[1]], int(found[2]) if found[2] else None, int(found[3] or 0))


def _declared_type(wanted: Type) -> str:
    if wanted.family == "decimal" and wanted.scale >= 0:
        return f"text_decimal({wanted.size},{wanted.scale})"
    if wanted.family in _SIZED:
        return _SIZED[wanted.family] + ("" if wanted.size is None else f"({wanted.size})")
    return _PLAIN.get(wanted.family, "text")


def _value_kind(column: Column) -> ValueKind | None:
    kinds = {"date": ValueKind.DATE, "string": ValueKind.TEXT}
    return ValueKind.INTEGER if column.logical_type.is_integer else kinds.get(column.logical_type.family)


# Statements


class FilebaseDialect(Dialect):
    """Compares texts by their bytes, whatever the column's collation is."""

    delete_joined = "DELETE FROM {table} AS t WHERE EXISTS (SELECT 1 FROM {stage} AS s WHERE {on})"

    def typed(self, quoted: str, column_type: str) -> str:
        return f"CAST({quoted} AS INTEGER)" if logical_type(column_type).is_integer else quoted

    def exact(self, column: str, column_type: str = "") -> str:
        return f"{column} COLLATE BINARY"

    def is_one_of(self, column: str, values: Sequence[Literal]) -> str:
        return super().is_one_of(self.exact(column), values)


DIALECT = FilebaseDialect()

_COLUMNS = """
SELECT t.name, c.name, c.type, c."notnull", c.dflt_value IS NOT NULL, c.hidden, c.pk
FROM sqlite_master AS t JOIN pragma_table_xinfo(t.name) AS c
WHERE t.type IN ('table', 'view') AND c.hidden <> 1
ORDER BY t.name, c.cid
"""
# An index on an expression, or with another collation than BINARY, cannot find the next greater value.
_INDEXES = """
SELECT t.name, i.name, i."unique" AND i.origin <> 'pk', x.name, x.name IS NULL OR x.coll <> 'BINARY'
FROM sqlite_master AS t JOIN pragma_index_list(t.name) AS i JOIN pragma_index_xinfo(i.name) AS x
WHERE t.type = 'table' AND x.key AND NOT i.partial
ORDER BY t.name, i.seq, x.seqno
"""
_GUARDS = """
SELECT tbl_name, 'triggers', name FROM sqlite_master WHERE type = 'trigger'
UNION SELECT f."table", 'referenced_by', t.name FROM sqlite_master AS t JOIN pragma_foreign_key_list(t.name) AS f
UNION SELECT t.name, 'references', f."table" FROM sqlite_master AS t JOIN pragma_foreign_key_list(t.name) AS f
"""
_TABLES = """
SELECT name FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'tidegate\\_%' ESCAPE '\\'
ORDER BY name
"""
_NOW = "SELECT strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')"
_FIRST_READING = "SELECT count(*) FROM sqlite_master"

_BY_SEEKS = """
WITH RECURSIVE seek(value) AS (
  SELECT min({exactly}) FROM {table}
  UNION ALL
  SELECT (SELECT min({exactly}) FROM {table} WHERE {exactly} > seek.value) FROM seek WHERE seek.value IS NOT NULL
)
SELECT {text} FROM seek WHERE value IS NOT NULL LIMIT {limit}
"""
_BY_SCAN = """
SELECT {text} FROM (SELECT DISTINCT {exactly} AS value FROM {table}) WHERE value IS NOT NULL LIMIT {limit}
"""


class Filebase(Database):
    """A database in one file, with SQLite inside."""

    kind = KIND
    label = "filebase"
    capabilities = Capabilities(
        transactional_ddl=True,
        enforced_keys=True,
        session_locks=True,  # lock files beside the database
        streams_into_transaction=True,
        exported_snapshots=False,
        read_only_sessions=True,
        native_partitions=False,
        row_versions=False,
        bulk_from_files=False,
        schemas_are_databases=False,
        updates_identity=True,
        surrogate_keys=False,
        alters_columns=False,
    )
    dialect = DIALECT

    @property
    def path(self) -> Path:
        return Path("/", self.connection.database)

    def connect(self, purpose: str, *, read_only: bool = False, query_timeout: float | None = None) -> Session:
        return FilebaseSession(self, self.path, read_only=read_only, query_timeout=query_timeout)

    @property
    def default_schema(self) -> str:
        return SCHEMA

    def own_table(self, name: str) -> TableName:
        return TableName(SCHEMA, f"tidegate_{name}")

    def value_kind(self, column: Column) -> ValueKind | None:
        return _value_kind(column)

    def declare(self, column: Column) -> Column:
        declared = column.declared_type if column.database == KIND else _declared_type(column.logical_type)
        target = replace(
            column, type=declared, portable_type="", logical_type=logical_type(declared), database=KIND, collation=""
        )
        return target.read_like(column)

    def fits(self, source: Column, target: Column) -> str:
        verdict = super().fits(source, target)
        return "wider" if verdict == "widen" else verdict

    def create_table(self, name: TableName, columns: Sequence[Column], key: Sequence[str], index_on: str) -> list[Sql]:
        parts: list[Part] = [_definition(column) for column in columns]
        if key:
            parts.append(sql("PRIMARY KEY ({columns})", columns=names(key)))
        statements = [sql("CREATE TABLE {table} ({parts})", table=Name.of(name), parts=parts)]
        if index_on and tuple(key[:1]) != (index_on,):
            index = TableName(name.schema, f"{name.name} by {index_on}")
            table, column = Name.of(name.name), Name.of(index_on)
            create_index = sql(
                "CREATE INDEX {index} ON {table} ({column})", index=Name.of(index), table=table, column=column
            )
            statements.append(create_index)
        return statements

    def add_column(self, table: TableName, column: Column) -> Sql:
        definition = _definition(replace(column, nullable=True))
        return sql("ALTER TABLE {table} ADD COLUMN {column}", table=Name.of(table), column=definition)

    def widen_column(self, table: TableName, column: Column) -> Sql:
        raise Unsupported(f"{table}: {self.label} cannot alter a column; `fits` never asks for it.")

    def stage_name(self) -> TableName:
        return TableName("temp", f"tidegate_{uuid.uuid4().hex}")

    def create_stage(self, stage: TableName, table: TableName, columns: Sequence[Column]) -> Sql:
        named = [replace(column, name=staged_name(number), nullable=True) for number, column in enumerate(columns)]
        parts: list[Part] = [_definition(column) for column in named]
        return sql("CREATE TABLE {stage} ({parts})", stage=Name.of(stage), parts=parts)

    def drop_stage(self, stage: TableName) -> Sql:
        return sql("DROP TABLE IF EXISTS {stage}", stage=Name.of(stage))


def _definition(column: Column) -> Sql:
    ending = "" if column.nullable else " NOT NULL"
    return sql("{name} {type}" + ending, name=Name.of(column.name), type=raw(column.type))


class FilebaseSession(Session):
    """A connection to the file, and the lock files that it holds."""

    def __init__(self, database: Database, path: Path, *, read_only: bool, query_timeout: float | None) -> None:
        self.database, self._path = database, path
        self._connection = database.connection
        self._locks: list[int] = []
        self._timeout, self._until = query_timeout or 0.0, 0.0
        self._is_open = True
        try:
            # Readers also open for writing: after a crash, the next connection must roll back unfinished work.
            self._driver = sqlite3.connect(
                f"{path.as_uri()}?mode=rw",
                uri=True,
                timeout=SECONDS_TO_WAIT,
                isolation_level=None,
                check_same_thread=False,  # a pool shares sessions between threads
            )
            self._driver.execute(f"PRAGMA query_only = {read_only:d}")
            self._driver.execute(_FIRST_READING).fetchall()
        except sqlite3.Error as problem:
            raise Unreachable(
                f"No connection to {self._connection.display}: {problem}.",
                "Nothing was read or written.",
                f"Check that {path} exists and is a database.",
            ) from None
        if query_timeout:
            self._driver.set_progress_handler(self._is_late, STEPS_BETWEEN_LOOKS)

    @property
    def is_open(self) -> bool:
        return self._is_open

    def _is_late(self) -> bool:
        return time.monotonic() > self._until

    def _run(self, text: str) -> sqlite3.Cursor:
        self._until = time.monotonic() + self._timeout
        with _translated(self):
            return self._driver.execute(text)

    def _rows(self, text: str) -> list[Any]:
        with _translated(self):
            return self._run(text).fetchall()

    def query(self, statement: Sql) -> list[tuple[object, ...]]:
        return self._rows(render(statement, DIALECT))

    def query_user_sql(self, query: str) -> list[str | None]:
        return [None if row[0] is None else _text(row[0]) for row in self._rows(query)]

    def execute(self, statement: Sql) -> int:
        return max(self._run(render(statement, DIALECT)).rowcount, 0)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self._run("BEGIN IMMEDIATE")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._driver.rollback()
            raise

    def close(self) -> None:
        self._is_open = False
        self._driver.close()
        while self._locks:
            os.close(self._locks.pop())

    # The catalog

    def identity(self) -> str:
        """Return a hash of path and inode: a copy has another inode or another path."""
        place = f"{self._path.resolve()} {self._path.stat().st_ino}"
        return hashlib.sha256(place.encode()).hexdigest()[:40]

    def table_schemas(self, names: Sequence[TableName]) -> dict[TableName, TableSchema]:
        found = _schemas(*map(self._rows, (_COLUMNS, _INDEXES, _GUARDS)))
        # SQLite names are case-insensitive, so at most one table matches.
        by_name = {str(name).lower(): schema for name, schema in found.items()}
        return {name: by_name[str(name).lower()] for name in names if str(name).lower() in by_name}

    def tables(self) -> list[TableName]:
        return [TableName(SCHEMA, name) for (name,) in self._rows(_TABLES)]

    def partition_values(self, table: TableName, column: Column, *, indexed: bool, limit: int) -> list[str]:
        statement = sql(
            (_BY_SEEKS if indexed else _BY_SCAN).strip(),
            exactly=ExactColumn(Name.of(column.name)),
            table=Name.of(table),
            text=AsText(Name.of("value")),
            limit=Literal(limit),
        )
        texts = [str(text) for (text,) in self.query(statement)]
        if _value_kind(column) is ValueKind.DATE:
            _require_iso_dates(table, column, texts)
        return texts

    def now(self) -> str:
        return str(self._rows(_NOW)[0][0])

    # Rows

    def read(self, request: ReadRequest) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from tidegate.hashing.arrow import arrow_schema

        schema = arrow_schema(request.columns, request.text_columns)
        with _translated(self), closing(self._run(render(_select(request), DIALECT))) as rows:
            for block in _blocks(rows, request.batch):
                values = zip(*block, strict=True)
                arrays = [_array(*parts) for parts in zip(values, request.columns, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def write(self, table: TableName, columns: Sequence[Column], batches: Iterator[pa.RecordBatch]) -> int:
        statement = sql(
            "INSERT INTO {table} ({columns}) VALUES ({values})",
            table=Name.of(table),
            columns=names(column.name for column in columns),
            values=[raw("?") for _ in columns],
        )
        text, rows = render(statement, DIALECT), 0
        for batch in batches:
            values = [_stored(array, name) for array, name in zip(batch.columns, batch.schema.names, strict=True)]
            with _translated(self):
                rows += self._driver.executemany(text, zip(*values, strict=True)).rowcount
        return rows

    # Snapshots and locks

    def export_snapshot(self) -> str:
        self._run("BEGIN")
        self._rows(_FIRST_READING)
        return ""

    def try_lock(self, name: str) -> bool:
        """Lock a file beside the database. The operating system releases it when the process ends."""
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        file = os.open(f"{self._path}.{digest}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            return False
        self._locks.append(file)
        return True

    def lock_in_transaction(self, name: str) -> None:
        """Do nothing: BEGIN IMMEDIATE already locks the whole file."""


@contextmanager
def _translated(session: FilebaseSession) -> Iterator[None]:
    """Convert the driver's errors. Its messages contain names of tables and columns, but no values."""
    try:
        yield
    except sqlite3.Error as problem:
        happened = f"{session.database.connection.display}: {problem}."
        safe = "The transaction was rolled back."
        if re.search("no such (table|column)", str(problem)):
            raise MissingObject(happened, "Nothing was changed by this statement.", "Correct the name.") from None
        if re.search("locked|busy", str(problem)):
            raise Transient(happened, safe, "Run again: it completes what is missing.") from None
        remedy = "Raise `query_timeout`." if "interrupted" in str(problem) else "Remove the cause, then run again."
        raise DatabaseError(happened, safe, remedy) from None


# The catalog


def _schemas(columns: Iterable[Any], indexes: Iterable[Any], guards: Iterable[Any]) -> dict[TableName, TableSchema]:
    found: dict[str, dict[str, Any]] = {}
    for table, *column in columns:
        found.setdefault(table, {"columns": [], "indexes": {}, "guards": {}})["columns"].append(column)
    for table, index, *part in indexes:
        found[table]["indexes"].setdefault(index, []).append(part)
    for table, kind, name in guards:
        found.get(table, {"guards": {}})["guards"].setdefault(kind, []).append(name)
    return {TableName(SCHEMA, table): _schema(table, **entry) for table, entry in found.items()}


def _schema(table: str, columns: list[Any], indexes: dict[str, list[Any]], guards: dict[str, list[str]]) -> TableSchema:
    key = tuple(name for name, *_, place in sorted(columns, key=lambda column: column[-1]) if place)
    usable = [parts for parts in indexes.values() if not any(is_unusable for *_, is_unusable in parts)]
    return TableSchema(
        name=TableName(SCHEMA, table),
        columns=tuple(_column(*column[:-1], is_row_number=_is_row_number(column, key)) for column in columns),
        primary_key=key,
        unique_keys=tuple(tuple(name for _, name, _ in parts) for parts in usable if parts[0][0]),
        indexes=tuple(tuple(name for _, name, _ in parts) for parts in usable),
        triggers=tuple(guards.get("triggers", ())),
        references=tuple(guards.get("references", ())),
        referenced_by=tuple(guards.get("referenced_by", ())),
    )


def _is_row_number(column: list[Any], key: tuple[str, ...]) -> bool:
    """Return whether the column is SQLite's row number: an INTEGER primary key, never null and generated."""
    return key == (column[0],) and column[1].lower() == "integer"


def _column(name: str, declared: str, required: int, default: int, hidden: int, *, is_row_number: bool) -> Column:
    value_type = logical_type(declared)
    return Column(
        name=name,
        type=declared,
        storage_type=value_type.storage_type,
        nullable=not (required or is_row_number),
        generated=hidden in (2, 3),
        identity=is_row_number,
        has_default=bool(default) or is_row_number,
        logical_type=value_type,
        database=KIND,
    )


def _require_iso_dates(table: TableName, column: Column, texts: Iterable[str]) -> None:
    """Refuse dates in another format than ISO: partition values are found by their text."""
    for text in texts:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", text) or Value.of(text, ValueKind.DATE).text != text:
            raise ValueProblem(
                f"{table}: {column.name} holds a day that is not written as 2024-01-31.",
                "Nothing was read or written for this table.",
                "Correct these rows, or partition by another column.",
            )


# Rows


def _select(request: ReadRequest) -> Sql:
    columns = names(column.name for column in request.columns)
    query = sql("SELECT {columns} FROM {table}", columns=columns, table=Name.of(request.table))
    return query if request.rows is None else sql("{query} WHERE {rows}", query=query, rows=request.rows)


def _blocks(rows: Iterable[tuple[Any, ...]], size: BatchSize) -> Iterator[list[tuple[Any, ...]]]:
    block: list[tuple[Any, ...]] = []
    held_bytes = 0
    for row in rows:
        block.append(row)
        held_bytes += sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)
        if len(block) >= size.rows or held_bytes >= size.bytes:
            yield block
            block, held_bytes = [], 0
    if block:
        yield block


def _array(values: Sequence[Any], column: Column, field: pa.Field) -> pa.Array:
    """Convert values to an Arrow array by way of text. Raises NotNative."""
    import pyarrow as pa

    try:
        if pa.types.is_binary(field.type):
            return pa.array(values, field.type)
        texts = [None if value is None else _text(value) for value in values]
        if pa.types.is_string(field.type) and column.logical_type.family == "decimal":
            texts = [None if text is None else _with_all_digits(text, column.logical_type.scale) for text in texts]
        if pa.types.is_time(field.type):
            moments = [None if text is None else f"1970-01-01 {text}" for text in texts]
            return pa.array(moments, pa.string()).cast(pa.timestamp("us")).cast(field.type)
        return pa.array(texts, pa.string()).cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise NotNative(field.name) from None


def _text(value: str | int | float | bytes) -> str:
    if isinstance(value, bytes):
        return "\\x" + value.hex()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _with_all_digits(text: str, scale: int) -> str:
    """Return a number with all decimal digits: 1.5 with scale 2 is 1.50. Other texts are unchanged."""
    try:
        shown = f"{Decimal(text):.{scale}f}"
        return shown if Decimal(shown) == Decimal(text) else text
    except InvalidOperation:
        return text


def _stored(array: pa.Array, name: str) -> list[Any]:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_timestamp(kind):
        zone = "+00" if kind.tz else ""
        return [
            None if value is None else _moment(value) + zone for value in array.cast(pa.timestamp("us")).to_pylist()
        ]
    values: list[Any] = array.to_pylist()
    if pa.types.is_date(kind) or pa.types.is_time(kind):
        return [None if value is None else _moment(value) for value in values]
    if pa.types.is_decimal(kind):
        return [None if value is None else f"{value:f}" for value in values]
    if pa.types.is_floating(kind) and {"nan", "-0.0"} & {repr(value) for value in values}:
        raise ValueProblem(
            f"Column {name} has NaN or -0, which {KIND} would change.",
            "The load was rolled back; the target keeps what it had.",
            f"Read {name} as text (`columns:`).",
        )
    return values


def _moment(value: object) -> str:
    """Return the text without trailing zeros in the fraction of a second."""
    text = str(value)
    return text.rstrip("0") if "." in text else text
