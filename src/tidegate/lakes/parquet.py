"""Organised Parquet: one file per partition value, in folders that people can read.

`organized/{column}_{value}/{table}_{column}_{value}.parquet`; tables outside of the default schema stand below a
folder of their schema. Each footer carries the facts of its file (table, value, rows, hash, scope), so the lake
explains itself.

Facts that shape this file
 * A file is written under an attempt's own name and then renamed: a reader never sees half a file.
 * Many a bit that flips in a Parquet file makes other rows of it and no error. So pages carry checksums.
 * Two targets may share one lake. Publishing therefore compares, under a lock, what is there with what planning saw.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import escape as glob_escape
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from tidegate.errors import LakeError
from tidegate.model.evidence import LakeFile
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.values import Value

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FOOTER_KEY = b"tidegate"
FORMAT = 1
# Table, column and value stand in one file name, and file systems take 255 bytes.
_LONGEST_NAME = 80
_SHORTENED = "~"
_ROW_GROUP_ROWS = 256 * 1024
_ROW_GROUP_BYTES = 64 * 1024 * 1024
_DIGITS_OF_AN_INTEGER = 18


@dataclass(frozen=True)
class Found:
    """A file under the name of a table's value. `value` is None where only the footer can tell it."""

    path: Path
    stamp: str
    value: str | None


class ParquetLake:
    """Organised Parquet files below one folder."""

    kind = "parquet"

    def __init__(self, root: Path) -> None:
        self.root = root

    # Where things are

    def path_of(self, table: TableName, column: str, value: Value) -> Path:
        """The place of a value. An empty schema stands for the default one, which has no folder."""
        partition = f"{_safe(column)}_{_safe(value.text)}"
        return self._folder(table) / partition / f"{_safe(table.name)}_{partition}.parquet"

    def static_path(self, table: TableName, at: str) -> Path:
        """The place of a whole table as it was read at this time."""
        name = _safe(table.name)
        return self._folder(table) / f"static_{name}" / f"{name}_static_{at}.parquet"

    def newest_static(self, table: TableName) -> Path | None:
        """The newest file of a whole table: their names tell when they were read."""
        name = _safe(table.name)
        return max((self._folder(table) / f"static_{name}").glob(f"{glob_escape(name)}_static_*.parquet"), default=None)

    def scd_path(self, table: TableName, at: str) -> Path:
        """The place of the versions that were read at this time; it begins with the day."""
        name = _safe(table.name)
        return self._folder(table) / f"scd_{name}" / at[:10] / f"{name}_scd_{at}.parquet"

    def scd_files(self, table: TableName) -> dict[str, Found]:
        """Every file of versions, by the time in its name. No file is opened."""
        name = _safe(table.name)
        paths = (self._folder(table) / f"scd_{name}").glob(f"*/{glob_escape(name)}_scd_*.parquet")
        times = {path.stem.removeprefix(f"{name}_scd_"): path for path in paths}
        return {at: Found(path, stamp_of(path), at) for at, path in sorted(times.items())}

    def scd_rows(
        self, table: TableName, columns: Sequence[str], most_rows: int, most_bytes: int
    ) -> Iterator[pa.RecordBatch]:
        """These columns of every version that was ever landed, as far as its file is here."""
        for found in self.scd_files(table).values():
            for batch in self.batches(found.path, most_rows, most_bytes, list(columns)):
                yield batch.select(list(columns))

    def scd_keys_path(self, table: TableName, at: str) -> Path:
        """The place of the keys that there were at this time. Not beside the versions: their folder is read as one."""
        name = _safe(table.name)
        return self._folder(table) / f"keys_{name}" / at[:10] / f"{name}_keys_{at}.parquet"

    def _folder(self, table: TableName) -> Path:
        organised = self.root / "organized"
        return organised / _visible(_safe(table.schema)) if table.schema else organised

    def files(self, table: TableName, column: str) -> list[Found]:
        """Every file under this table's name. No file is opened."""
        prefix, stem = f"{_safe(column)}_", f"{_safe(table.name)}_{_safe(column)}_"
        found = []
        try:
            folders = [entry for entry in os.scandir(self._folder(table)) if entry.name.startswith(prefix)]
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise self._unusable(problem) from None
        for folder in folders:
            tail = folder.name[len(prefix) :]
            path = Path(folder.path) / f"{stem}{tail}.parquet"
            stamp = stamp_of(path)
            if stamp:
                found.append(Found(path, stamp, None if _SHORTENED in tail else unquote(tail)))
        return found

    # Reading

    def footer(self, path: Path, table: TableName, column: str) -> tuple[str, dict[str, Any], LakeFile]:
        """The value, all facts, and the file as evidence. A file that cannot be used says so in `broken`."""
        stamp = stamp_of(path)
        try:
            facts = _read_footer(path)
        except (OSError, ValueError, KeyError) as problem:
            return "", {}, LakeFile(str(path), stamp, broken=_first_line(problem))
        if (facts["table"], facts["column"]) != (str(table), column):
            raise LakeError(
                f"{path} says that it holds {facts['table']} by {facts['column']}, not {table} by {column}.",
                "It was neither read nor overwritten.",
                "Move it away, or give this project a lake of its own.",
            )
        return (
            facts["value"],
            facts,
            LakeFile(
                path=str(path),
                stamp=stamp,
                rows=facts["rows"],
                hash=facts["hash"],
                text_columns=tuple(facts["text_columns"]),
                newest=facts["newest"],
                columns=tuple(facts["columns"]),
                columns_id=facts["columns_id"],
                storage_types=tuple(facts.get("storage_types", ())),
                unproven=facts["unproven"],
                read_at=facts["read_at"],
                window=facts.get("window", ""),
            ),
        )

    def batches(
        self, path: Path, most_rows: int, most_bytes: int, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows of a file, as batches within both bounds: bytes as far as the average of a row group tells."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with pq.ParquetFile(path, page_checksum_verification=True) as file:
                for number in range(file.num_row_groups):
                    group = file.metadata.row_group(number)
                    fitting = most_bytes * group.num_rows // max(group.total_byte_size, 1)
                    yield from file.iter_batches(max(1, min(most_rows, fitting)), row_groups=[number], columns=columns)
        except (pa.ArrowException, OSError) as problem:
            raise LakeError(
                f"{path} cannot be read: {_first_line(problem)}.",
                "The target keeps what it had.",
                "Delete the file: the next run extracts it again.",
            ) from None

    # Writing

    def workspace(self, run: str) -> Path:
        """The folder for what a run has not published yet."""
        return self.root / ".tidegate" / "tmp" / run

    def prepare(self, run: str) -> Path:
        """Make that folder, and so find out early whether the lake can be written at all."""
        folder = self.workspace(run)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / "probe"
            probe.write_bytes(b"tide")
            probe.unlink()
        except OSError as problem:
            raise self._unusable(problem) from None
        return folder

    def publish(self, written: Path, place: Path, replaces: str) -> bool:
        """Move a finished file to its place. False when a newer one was published since planning saw `replaces`."""
        try:
            with self._alone():
                if stamp_of(place) not in ("", replaces) and _is_newer(place, written):
                    written.unlink()
                    return False
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(written, place)
                _sync_folder(place.parent)
        except OSError as problem:
            raise self._unusable(problem) from None
        return True

    # The scope, which the footers of existing files cannot tell after a value was forgotten

    def keep_scope(self, table: TableName, target: str, scope: Scope) -> None:
        """Write a copy of the scope that a target declared, in case that its ledger is lost."""
        place = self._scope_file(table, target)
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            written = place.with_suffix(f".{os.getpid()}")
            written.write_text(scope.to_json())
            os.replace(written, place)
        except OSError as problem:
            raise self._unusable(problem) from None

    def kept_scope(self, table: TableName, target: str) -> Scope | None:
        """Return the copy of a target's scope. None when there is no copy, or one that cannot be read."""
        try:
            return Scope.from_json(self._scope_file(table, target).read_text())
        except (OSError, ValueError, KeyError, TypeError):  # a copy that was cut is as good as lost
            return None

    def _scope_file(self, table: TableName, target: str) -> Path:
        # Two targets may share the lake, each with a scope of its own.
        place = hashlib.sha256(target.encode()).hexdigest()[:12]
        return self.root / ".tidegate" / "scopes" / f"{_safe(str(table))}.{place}.json"

    def remove(self, path: Path) -> None:
        """Delete a file, and its folder when that was the last one in it."""
        try:
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                path.parent.rmdir()
        except OSError as problem:
            raise self._unusable(problem) from None

    def finish(self, run: str) -> None:
        """Drop what the run left in its workspace."""
        shutil.rmtree(self.workspace(run), ignore_errors=True)

    def leftovers(self, older_than_seconds: float) -> list[Path]:
        """Workspaces of runs that ended without tidying up."""
        folder = self.root / ".tidegate" / "tmp"
        if not folder.is_dir():
            return []
        limit = time.time() - older_than_seconds
        return sorted(path for path in folder.iterdir() if path.stat().st_mtime <= limit)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with open(self.root / ".tidegate" / "publish.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _unusable(self, problem: OSError) -> LakeError:
        return LakeError(
            f"The lake {self.root} cannot be used: {problem.strerror or problem}.",
            "Files that were published before are complete; the target keeps what it had.",
            "Make room or correct the rights of the folder, then run again.",
        )


class FileWriter:
    """Writes batches into one Parquet file under a temporary name, in row groups of a sensible size."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path, self._schema = path, schema
        self._pending: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._writer: pq.ParquetWriter | None = None
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, batch: pa.RecordBatch) -> None:
        self._pending.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROW_GROUP_ROWS or self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._writer is None:
            repetitive = _repetitive(self._pending[0]) if self._pending else []
            self._writer = pq.ParquetWriter(
                self.path,
                self._schema,
                compression="zstd",
                compression_level=1,
                store_decimal_as_integer=True,
                write_page_checksum=True,
                use_dictionary=repetitive or False,
                column_encoding=_by_differences(self._schema, repetitive) or None,
            )
        if self._rows:
            table = pa.Table.from_batches(self._pending, self._schema)
            self._writer.write_table(table, row_group_size=_ROW_GROUP_ROWS)
        self._pending, self._rows, self._bytes = [], 0, 0

    def close(self, facts: dict[str, Any]) -> int:
        """Write the facts into the footer and make the file durable; its size in bytes."""
        self._flush()
        assert self._writer is not None
        self._writer.add_key_value_metadata({FOOTER_KEY.decode(): json.dumps({"format": FORMAT, **facts})})
        self._writer.close()
        with open(self.path, "rb") as file:
            os.fsync(file.fileno())
        return self.path.stat().st_size

    def abandon(self) -> None:
        """Close without a footer and delete: the file was never to be seen."""
        if self._writer is not None:
            with contextlib.suppress(Exception):
                self._writer.close()
        with contextlib.suppress(OSError):
            self.path.unlink()


def _repetitive(batch: pa.RecordBatch) -> list[str]:
    """The columns that a dictionary makes smaller. For the others it costs more time than all the rest of encoding."""
    import pyarrow.compute as pc

    few = max(batch.num_rows // 5, 1)
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return [name for name, column in columns if _is_one(name) and pc.count_distinct(column).as_py() <= few]


def _by_differences(schema: pa.Schema, repetitive: list[str]) -> dict[str, str]:
    """Numbers, days and moments, each written as its distance from the one before: a third of the bytes in half the
    time, as they mostly grow."""
    import pyarrow.types as types

    return {
        field.name: "DELTA_BINARY_PACKED"
        for field in schema
        if (types.is_integer(field.type) or types.is_temporal(field.type) or _is_stored_as_integer(field.type))
        and _is_one(field.name)
        and field.name not in repetitive
    }


def _is_stored_as_integer(kind: pa.DataType) -> bool:
    """A decimal that fits into 64 bits."""
    import pyarrow.types as types

    return bool(types.is_decimal(kind) and kind.precision <= _DIGITS_OF_AN_INTEGER)


def _is_one(name: str) -> bool:
    """Whether pyarrow takes the name for that of a column: with a dot it would be a path into a struct."""
    return "." not in name


def stamp_of(path: Path) -> str:
    """Size and modification time; empty when there is no such file."""
    try:
        seen = path.stat()
    except OSError:
        return ""
    return f"{seen.st_size}-{seen.st_mtime_ns}"


def _read_footer(path: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(path)
    stored = (metadata.metadata or {}).get(FOOTER_KEY)
    if stored is None:
        raise ValueError("its footer has no facts of Tidegate's")
    facts: dict[str, Any] = json.loads(stored)
    if facts["rows"] != metadata.num_rows:
        raise ValueError(f"it holds {metadata.num_rows} rows, its facts say {facts['rows']}")
    return facts


def _is_newer(place: Path, written: Path) -> bool:
    """Whether the file that is there was read from the source at the same time or later than ours."""
    try:
        return bool(_read_footer(place)["read_at"] >= _read_footer(written)["read_at"])
    except (OSError, ValueError, KeyError):
        return False


def _safe(text: str) -> str:
    """A name for the file system: unsafe characters escaped, endless ones shortened by a hash."""
    escaped = quote(text, safe="").replace("~", "%7E")
    if len(escaped) <= _LONGEST_NAME:
        return escaped
    return escaped[:60] + _SHORTENED + hashlib.sha256(text.encode()).hexdigest()[:16]


def _visible(name: str) -> str:
    """`.` and `..` lead elsewhere, and other names with a dot in front are hidden."""
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _first_line(problem: BaseException) -> str:
    return str(problem).strip().split("\n")[0].rstrip(".") or type(problem).__name__
