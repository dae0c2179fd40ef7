"""Bulk load: Parquet files and a manifest in object storage, COPY into a temporary table, INSERT ... SELECT.

Facts that shape this file
 * COPY of Parquet goes by position and count: the temporary table has exactly the columns of the file, in its order.
 * COPY reads several files at once, about one for each slice, so rows are written as files of a sensible size.
 * A manifest for Parquet tells the length of each file. `mandatory` makes a missing file an error.
 * A text beyond the bytes of its column would end COPY without the name of the table's column, and a NUL ends a text
   for parts of the server. So values are checked here, before anything is sent.
 * A killed process leaves its files behind, where the lake keeps parts of runs: `tidegate clean` deletes them.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidegate.databases.redshift.statements import copy_from, create_copy, insert_from_copy, staged_type
from tidegate.databases.redshift.types import bytes_of
from tidegate.errors import DatabaseError, TidegateError, Unsupported, ValueProblem
from tidegate.interfaces.stored_files import ObjectStore, StoredFile
from tidegate.model.columns import Column
from tidegate.model.names import TableName
from tidegate.sql.contents import count_rows, drop_table

if TYPE_CHECKING:
    import pyarrow as pa

    from tidegate.databases.redshift.session import RedshiftSession

FOLDER = ".tidegate/tmp"
_BYTES_OF_A_FILE = 128 * 1024 * 1024
_ROWS_OF_A_GROUP = 256 * 1024


class Copy:
    """The rows of one load in a temporary table of the session. Dropped when its `with` block ends."""

    def __init__(
        self, session: RedshiftSession, store: ObjectStore, table: TableName, columns: Sequence[Column], role: str
    ) -> None:
        self._session, self._store, self._table, self._columns, self._role = session, store, table, columns, role
        token = uuid.uuid4().hex
        self._folder, self.name = f"{FOLDER}/{token}", TableName("", f"tidegate_copy_{token}")
        self._schema: pa.Schema | None = None
        self._rows = 0

    def __enter__(self) -> Copy:
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(TidegateError):
            self._store.delete_folder(self._folder)
        if self._schema is not None:
            with suppress(DatabaseError):  # a lost connection takes its temporary tables along
                self._session.execute(drop_table(self.name))

    def fill(self, batches: Iterator[pa.RecordBatch], files: Sequence[StoredFile]) -> None:
        """Copy the rows. `files` are files with exactly these rows and columns: then none is written."""
        first = next(batches, None)
        if first is None:
            return
        checked = _Checked(self._table, self._columns)
        if files and can_copy(first.schema):
            self._schema = first.schema
            checked.check(first)
            for batch in batches:
                checked.check(batch)
        else:
            self._schema = _copyable(first.schema)
            files = self._write(first, batches, checked)
        self._rows = checked.rows
        manifest = f"{self._folder}/manifest"
        self._store.write_text(manifest, manifest_of(files))
        self._session.execute(create_copy(self.name, self._schema))
        self._session.execute(copy_from(self.name, as_s3(self._store.full_path(manifest)), self._role))
        self._require_all()

    def _write(self, first: pa.RecordBatch, batches: Iterator[pa.RecordBatch], checked: _Checked) -> list[StoredFile]:
        import pyarrow.parquet as pq

        assert self._schema is not None
        files: list[StoredFile] = []
        pending: list[pa.RecordBatch] = []

        def put() -> None:
            import pyarrow as pa

            path = f"{self._folder}/part-{len(files) + 1:04}.parquet"
            with self._store.output(path) as output:
                table = pa.Table.from_batches(pending, self._schema)
                pq.write_table(table, output, compression="snappy", row_group_size=_ROWS_OF_A_GROUP)
            files.append(StoredFile(self._store.full_path(path), self._store.flush(path)))
            pending.clear()

        batch: pa.RecordBatch | None = first
        while batch is not None:
            checked.check(batch)
            pending.append(_as_copyable(batch, self._schema))
            if sum(each.nbytes for each in pending) >= _BYTES_OF_A_FILE:
                put()
            batch = next(batches, None)
        if pending:
            put()
        return files

    def _require_all(self) -> None:
        arrived = int(str(self._session.query(count_rows(self.name))[0][0]))
        if arrived != self._rows:
            raise DatabaseError(
                f"{self._table}: COPY brought {arrived:,} of {self._rows:,} rows.",
                "The load did not start; the target is unchanged.",
                "Run again; look into STL_LOAD_ERRORS or SYS_LOAD_ERROR_DETAIL if it repeats.",
            )

    def insert_into_table(self) -> int:
        """Move the rows into the target, inside of the open transaction. Return their number."""
        if self._schema is None or not self._rows:
            return 0
        return self._session.execute(insert_from_copy(self._table, self._columns, self._schema, self.name))


def manifest_of(files: Sequence[StoredFile]) -> str:
    """Return the manifest of files, all of which must be there."""
    entries = [{"url": as_s3(file.url), "mandatory": True, "meta": {"content_length": file.bytes}} for file in files]
    return json.dumps({"entries": entries}, indent=1)


def as_s3(url: str) -> str:
    """Return the address as COPY knows it: Hadoop's `s3a://` is S3, too."""
    return "s3://" + url.removeprefix("s3a://") if url.startswith("s3a://") else url


def can_copy(schema: pa.Schema) -> bool:
    """Return whether COPY takes files of this schema as they are: all but times of day, which travel as text."""
    import pyarrow.types as types

    return not any(types.is_time(field.type) for field in schema)


def is_copied_as_is(columns: Sequence[Column], schema: pa.Schema) -> bool:
    """Return whether COPY writes values of this schema in the types of these columns; texts of any length count."""
    import pyarrow.types as types

    return can_copy(schema) and all(
        not types.is_timestamp(field.type) and _base(staged_type(field.type)) == _base(column.type)
        for column, field in zip(columns, schema, strict=True)
    )


def _base(declared: str) -> str:
    return declared if declared.startswith("numeric") else declared.partition("(")[0]


def _copyable(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa
    import pyarrow.types as types

    return pa.schema([field.with_type(pa.string()) if types.is_time(field.type) else field for field in schema])


def _as_copyable(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [
        cells if cells.type == field.type else cells.cast(field.type)
        for cells, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@dataclass
class _Checked:
    """Checks batches against what the columns of the table take, and counts their rows."""

    table: TableName
    columns: Sequence[Column]
    rows: int = 0

    def check(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        for column, cells in zip(self.columns, batch.columns, strict=True):
            why = problem_of(cells, bytes_of(column.type))
            if why:
                raise ValueProblem(
                    f"{self.table}: column {column.name} cannot store a value in the target: {why}.",
                    "Nothing was loaded; the target keeps what it had.",
                    "Shorten or correct these values in the source, or leave the column out with a view"
                    " (`source_table`).",
                )


def problem_of(cells: pa.Array, most_bytes: int | None) -> str:
    """Return why Redshift would refuse, cut or change some of these values, or an empty text."""
    import pyarrow.compute as pc
    import pyarrow.types as types

    functions: Any = pc
    kind = cells.type
    if not (types.is_string(kind) or types.is_binary(kind)) or not len(cells):
        return ""
    longest = functions.max(functions.binary_length(cells)).as_py() or 0
    if most_bytes is not None and longest > most_bytes:
        many = functions.sum(functions.greater(functions.binary_length(cells), most_bytes)).as_py()
        what = "values have" if many > 1 else "value has"
        return f"{many:,} {what} more than {most_bytes:,} bytes, one of them {longest:,}"
    if types.is_string(kind) and functions.any(functions.match_substring(cells, "\0")).as_py():
        return "a text holds U+0000, after which Redshift would cut it"
    return ""


def without_store(label: str) -> Unsupported:
    return Unsupported(
        f"{label} loads rows by COPY from S3, and no place there is known.",
        "Nothing was written.",
        "Keep the lake in S3: `lake: s3://bucket/prefix`.",
    )
