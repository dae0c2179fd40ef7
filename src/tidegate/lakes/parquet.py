"""Organised Parquet: one file per window, in folders that people can read.

| layout  | file                                                                |
| ------- | ------------------------------------------------------------------- |
| values  | `organized/{column}_{value}/{table}_{column}_{value}.parquet`       |
| whole   | `organized/static_{table}/{table}_static_{time}.parquet`            |
| log     | `organized/scd_{table}/{day}/{table}_scd_{time}.parquet`, keys in `keys_{table}` |

Tables outside of the default schema stand below a folder of their schema. Each footer carries the facts of its file
(table, window, rows, hash, token, scope), so the lake explains itself.

Facts that shape this file
 * A part is written under an attempt's own name and then renamed: a reader never sees half a file.
 * A flipped bit in a Parquet file can change rows without an error. So pages carry checksums.
 * Two targets may share one lake. A commit therefore compares, under a lock, what is there with what planning saw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from tidegate.errors import LakeError
from tidegate.interfaces.database import BatchSize
from tidegate.interfaces.lake import KEYS, ROWS, Entries, EntryFacts, Lake, LakeTable, Layout, Part, PartWriter
from tidegate.lakes._files import FileWriter, read_footer
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import CursorWindow, Token, entry_from_version_1
from tidegate.storage.local import LocalFolder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Table, column and value stand in one file name, and file systems take 255 bytes.
_LONGEST_NAME = 80
_SHORTENED = "~"
_PARTS = ".tidegate/tmp"
_LOCK = ".tidegate/publish.lock"


class ParquetLake(Lake):
    """Organised Parquet files below one folder."""

    kind = "parquet"

    def __init__(self, root: Path) -> None:
        self.storage = LocalFolder(root)

    @classmethod
    def at(cls, path: Path) -> ParquetLake:
        return cls(path)

    @property
    def place(self) -> str:
        return str(self.storage.root)

    # What is there

    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        match table.layout:
            case Layout.VALUES:
                return self._values(table, known)
            case Layout.WHOLE:
                return self._newest(table)
            case Layout.LOG:
                return self._log(table, known)

    def _values(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        found: dict[str, LakeEntry] = {}
        scopes: list[tuple[str, str]] = []
        for path, named in self._value_paths(table):
            entry = self._known(path, known.get(named) if named is not None else None)
            if entry is None:
                entry, facts = self._opened(table, path)
                scopes += [(facts["read_at"], facts["scope"])] if facts.get("scope") else []
                if facts and named is not None and facts["value"] != named:
                    raise LakeError(
                        f"{self.storage.full_path(path)} holds the value {facts['value']}, not the one in its name.",
                        "It was neither read nor overwritten.",
                        "Move it away: the next run extracts what is missing.",
                    )
                named = facts.get("value", named)
            if named is not None:
                found[named] = entry
        return Entries(found, scope=Scope.from_json(max(scopes)[1]) if scopes else None)

    def _value_paths(self, table: LakeTable) -> Iterator[tuple[str, str | None]]:
        """Yield the files under this table's name, each with the value in its name; None where that was shortened."""
        folder, prefix = self._folder(table.name), f"{_safe(table.column)}_"
        stem = f"{_safe(table.name.name)}_{prefix}"
        for name in self.storage.names(folder):
            if name.startswith(prefix):
                ending = name[len(prefix) :]
                path = f"{folder}/{name}/{stem}{ending}.parquet"
                if self.storage.etag(path):
                    yield path, None if _SHORTENED in ending else unquote(ending)

    def _newest(self, table: LakeTable) -> Entries:
        name = _safe(table.name.name)
        folder, prefix = f"{self._folder(table.name)}/{table.column}_{name}", f"{name}_{table.column}_"
        paths = [f"{folder}/{file}" for file in self.storage.names(folder) if _is_file_of(file, prefix)]
        if not paths:
            return Entries()
        path, older = paths[-1], tuple(paths[:-1])  # names sort by the time in them
        entry, facts = self._opened(table, path)
        return Entries({facts.get("value", "all rows"): entry}, superseded=older)

    def _log(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        with_keys = {window for window, _ in self._log_paths(table, KEYS)}
        found = {}
        for window, path in self._log_paths(table, ROWS):
            entry = self._known(path, known.get(window)) or self._opened(table, path)[0]
            found[window] = replace(entry, has_keys=window in with_keys)
        return Entries(found)

    def _log_paths(self, table: LakeTable, role: str) -> Iterator[tuple[str, str]]:
        """Yield the windows of a log with their files, oldest first."""
        folder, stem = self._log_folder(table, role)
        for day in self.storage.names(folder):
            files = [file for file in self.storage.names(f"{folder}/{day}") if _is_file_of(file, stem)]
            windows = {file[len(stem) : -len(".parquet")]: f"{folder}/{day}/{file}" for file in files}
            yield from sorted(windows.items())

    def _known(self, path: str, entry: LedgerEntry | None) -> LakeEntry | None:
        """Return the entry as the ledger knows it; None when the file must be opened."""
        etag = self.storage.etag(path)
        if entry is None or entry.etag != etag:
            return None
        return LakeEntry(
            id=path,
            etag=etag,
            rows=entry.rows,
            hash=entry.hash,
            text_columns=entry.text_columns,
            columns=entry.columns,
            columns_id=entry.columns_id,
            storage_types=entry.storage_types,
            token=entry.token,
            read_at=entry.token.read_at if isinstance(entry.token, CursorWindow) else "",
        )

    def entry(self, table: LakeTable, entry_id: str) -> LakeEntry:
        has_keys = table.layout is Layout.LOG and bool(self.storage.etag(self._keys_path(table, entry_id)))
        return replace(self._opened(table, entry_id)[0], has_keys=has_keys)

    def _keys_path(self, table: LakeTable, entry_id: str) -> str:
        return self._path(table, _log_window(entry_id, table), KEYS)

    def _opened(self, table: LakeTable, path: str) -> tuple[LakeEntry, dict[str, Any]]:
        """Return what a footer says, and all its facts; no facts for a file that cannot be used."""
        etag = self.storage.etag(path)
        try:
            facts = read_footer(self.storage, path)
        except (OSError, ValueError, KeyError) as problem:
            return LakeEntry(path, etag, broken=_first_line(problem)), {}
        if (facts["table"], facts["column"]) != (str(table.name), table.column):
            raise LakeError(
                f"{self.storage.full_path(path)} says that it holds {facts['table']} by {facts['column']},"
                f" not {table.name} by {table.column}.",
                "It was neither read nor overwritten.",
                "Move it away, or give this project a lake of its own.",
            )
        return LakeEntry(
            id=path,
            etag=etag,
            rows=facts["rows"],
            hash=facts["hash"],
            text_columns=tuple(facts["text_columns"]),
            columns=tuple(facts["columns"]),
            columns_id=facts["columns_id"],
            storage_types=tuple(facts.get("storage_types", ())),
            token=_token(facts),
            unproven=facts["unproven"],
            read_at=facts["read_at"],
        ), facts

    # Reading

    def read(
        self, table: LakeTable, entry_id: str, batch: BatchSize, columns: Sequence[str] | None = None, role: str = ROWS
    ) -> Iterator[pa.RecordBatch]:
        return self._batches(entry_id if role == ROWS else self._keys_path(table, entry_id), batch, columns)

    def read_log(self, table: LakeTable, columns: Sequence[str], batch: BatchSize) -> Iterator[pa.RecordBatch]:
        for _, path in self._log_paths(table, ROWS):
            for rows in self._batches(path, batch, columns):
                yield rows.select(list(columns))

    def _batches(self, path: str, batch: BatchSize, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Yield rows within both bounds: bytes as far as the average row of a row group tells."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self.storage.input(path) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as file:
                for number in range(file.num_row_groups):
                    group = file.metadata.row_group(number)
                    fitting = batch.bytes * group.num_rows // max(group.total_byte_size, 1)
                    yield from file.iter_batches(max(1, min(batch.rows, fitting)), row_groups=[number], columns=columns)
        except (pa.ArrowException, OSError) as problem:
            raise LakeError(
                f"{self.storage.full_path(path)} cannot be read: {_first_line(problem)}.",
                "The target keeps what it had.",
                "Delete the file: the next run extracts it again.",
            ) from None

    def dataframe(self, spark: SparkSession, table: LakeTable) -> DataFrame:
        if table.layout is Layout.VALUES:
            paths = [path for path, _ in self._value_paths(table)]
        elif table.layout is Layout.LOG:
            paths = [path for _, path in self._log_paths(table, ROWS)]
        else:
            paths = [entry.id for entry in self._newest(table).by_window.values()]
        if not paths:
            raise LakeError(f"The lake {self.place} holds nothing of {table.name}.", "", "Run `tidegate run` first.")
        return spark.read.option("mergeSchema", "true").parquet(*map(self.storage.full_path, paths))

    # Writing

    def begin(self, run: str) -> None:
        self.storage.make_folder(f"{_PARTS}/{run}")

    def end(self, run: str) -> None:
        self.storage.delete_folder(f"{_PARTS}/{run}")

    def leftovers(self, older_than_seconds: float) -> list[str]:
        folders = self.storage.folders_older_than(_PARTS, older_than_seconds)
        return [folder.rpartition("/")[2] for folder in folders]

    def writer(self, table: LakeTable, run: str, name: str, schema: pa.Schema, role: str = ROWS) -> PartWriter:
        ending = ".parquet" if role == ROWS else f".{role}.parquet"
        return _PartFile(table, role, FileWriter(self.storage, f"{_PARTS}/{run}/{name}{ending}", schema))

    def commit(
        self, table: LakeTable, window: str, parts: Sequence[Part], replaces: str = ""
    ) -> tuple[LakeEntry, bool]:
        # The window's own file comes last: once it is there, everything else of it is.
        *others, rows = sorted(parts, key=lambda part: part.role == ROWS)
        place = self._path(table, window, ROWS)
        with self.storage.alone(_LOCK):
            found = self.storage.etag(place)
            was_committed = bool(found) and not self.storage.etag(rows.id)
            is_newest = was_committed or found in ("", replaces) or not self._is_newer(place, rows.id)
            if is_newest and not was_committed:
                for part in others:
                    self.storage.publish(part.id, self._path(table, window, part.role))
                self.storage.publish(rows.id, place)
            elif not is_newest:
                self.storage.discard(rows.id)
        return self.entry(table, place), is_newest

    def _is_newer(self, place: str, written: str) -> bool:
        """Return whether the file that is there was read from the source when ours was, or later."""
        try:
            there, ours = read_footer(self.storage, place), read_footer(self.storage, written)
        except (OSError, ValueError, KeyError):
            return False
        return bool(there["read_at"] >= ours["read_at"])

    def drop(self, table: LakeTable, window: str) -> None:
        self.storage.delete(self._path(table, window, ROWS))
        if table.layout is Layout.LOG:
            self.storage.delete(self._path(table, window, KEYS))

    def drop_superseded(self, table: LakeTable, ids: Sequence[str]) -> None:
        for path in ids:
            self.storage.delete(path)

    # The scope. Footers cannot tell it after a value was forgotten.

    def save_scope(self, table: LakeTable, target: str, scope: Scope) -> None:
        self.storage.write_text(self._scope_file(table, target), scope.to_json())

    def saved_scope(self, table: LakeTable, target: str) -> Scope | None:
        try:
            return Scope.from_json(self.storage.read_text(self._scope_file(table, target)))
        except (ValueError, KeyError, TypeError):  # a copy that was cut is as good as lost
            return None

    def _scope_file(self, table: LakeTable, target: str) -> str:
        # Two targets may share the lake, each with a scope of its own.
        place = hashlib.sha256(target.encode()).hexdigest()[:12]
        return f".tidegate/scopes/{_safe(str(table.name))}.{place}.json"

    # Where things are

    def _path(self, table: LakeTable, window: str, role: str) -> str:
        name = _safe(table.name.name)
        match table.layout:
            case Layout.VALUES:
                partition = f"{_safe(table.column)}_{_safe(window)}"
                return f"{self._folder(table.name)}/{partition}/{name}_{partition}.parquet"
            case Layout.WHOLE:
                now = f"{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}"
                return f"{self._folder(table.name)}/{table.column}_{name}/{name}_{table.column}_{now}.parquet"
            case Layout.LOG:
                folder, stem = self._log_folder(table, role)
                return f"{folder}/{window[:10]}/{stem}{window}.parquet"

    def _log_folder(self, table: LakeTable, role: str) -> tuple[str, str]:
        """Return the folder and the beginning of file names. Keys stand apart: the folder of rows is read as one."""
        word = table.column if role == ROWS else role
        name = _safe(table.name.name)
        return f"{self._folder(table.name)}/{word}_{name}", f"{name}_{word}_"

    def _folder(self, name: TableName) -> str:
        return f"organized/{_visible(_safe(name.schema))}" if name.schema else "organized"


@dataclass(frozen=True)
class _PartFile(PartWriter):
    table: LakeTable
    role: str
    file: FileWriter

    def write(self, batch: pa.RecordBatch) -> None:
        self.file.write(batch)

    def close(self, facts: EntryFacts) -> Part:
        footer = {**asdict(facts), "token": facts.token.to_dict()}
        footer["value"] = footer.pop("window")
        size = self.file.close({"table": str(self.table.name), "column": self.table.column, **footer})
        return Part(self.file.path, self.role, facts.rows, size)

    def abandon(self) -> None:
        self.file.abandon()


def _token(facts: dict[str, Any]) -> Token:
    if facts["format"] == 1:
        return entry_from_version_1(facts["column"], facts["newest"], facts.get("window", ""), facts["read_at"])
    return Token.from_dict(facts["token"])


def _log_window(path: str, table: LakeTable) -> str:
    return path.rpartition("/")[2].removeprefix(f"{_safe(table.name.name)}_{table.column}_").removesuffix(".parquet")


def _is_file_of(file: str, stem: str) -> bool:
    return file.startswith(stem) and file.endswith(".parquet")


def _safe(text: str) -> str:
    """Return a name for the file system: unsafe characters escaped, long names shortened by a hash."""
    escaped = quote(text, safe="").replace("~", "%7E")
    if len(escaped) <= _LONGEST_NAME:
        return escaped
    return escaped[:60] + _SHORTENED + hashlib.sha256(text.encode()).hexdigest()[:16]


def _visible(name: str) -> str:
    """Escape a leading dot: `.` and `..` lead elsewhere, and other names with a dot in front are hidden."""
    return f"%2E{name[1:]}" if name.startswith(".") else name


def _first_line(problem: BaseException) -> str:
    return str(problem).strip().split("\n")[0].rstrip(".") or type(problem).__name__
