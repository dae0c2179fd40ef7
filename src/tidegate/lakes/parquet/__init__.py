"""Organised Parquet: one file or folder per window, in places that people can read.

| layout  | file                                                                |
| ------- | ------------------------------------------------------------------- |
| values  | `organized/{column}_{value}/{table}_{column}_{value}.parquet`       |
| whole   | `organized/static_{table}/{table}_static_{time}.parquet`            |
| log     | `organized/scd_{table}/{day}/{table}_scd_{time}.parquet`, keys in `keys_{table}` |

A window that several tasks wrote is a folder with the name of the file, and the files of the tasks in it
(`lakes/_folders.py`). Tables outside of the default schema stand below a folder of their schema. Each footer carries
the facts of its file (table, window, rows, hash, token, scope), so the lake explains itself.

Facts that shape this file
 * A part is written under an attempt's own name and then renamed: a reader never sees half a file.
 * A flipped bit in a Parquet file can change rows without an error. So pages carry checksums.
 * Two targets may share one lake. A commit therefore compares, under a lock, what is there with what planning saw.
 * A bucket has neither renames nor locks. There every window is a folder, and its commit file is put on the condition
   that nobody else's is there.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from tidegate.errors import LakeError, Unsupported
from tidegate.interfaces.lake import KEYS, ROWS, Entries, EntryFacts, Lake, LakeTable, Layout, Part, PartWriter
from tidegate.interfaces.requests import BatchSize
from tidegate.interfaces.stored_files import StoredFile
from tidegate.lakes import _folders, _paths, _probes
from tidegate.lakes._files import FileWriter, is_plain, read_footer
from tidegate.lakes._frames import read_in_tasks
from tidegate.lakes.parquet.history import PastEntry, values_at, versions_of, whole_at
from tidegate.lakes.parquet.part_file import PartFile, as_footer, own_facts, token_of
from tidegate.model.lake_versions import LakeVersion
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import CursorWindow
from tidegate.storage.door import Storage
from tidegate.storage.local import LocalFolder
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_PARTS = ".tidegate/tmp"
_TRIES = 5
_LOCK = ".tidegate/publish.lock"


class ParquetLake(Lake):
    """Organised Parquet files below one folder."""

    kind = "parquet"
    plain = False
    compression = "zstd"
    """Whether files are written in encodings that database servers read, too."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    @classmethod
    def at(cls, path: Path) -> ParquetLake:
        return cls(LocalFolder(path))

    @classmethod
    def at_bucket(cls, url: str, store: Mapping[str, str]) -> ParquetLake:
        return cls(Bucket.of(url, store))

    @property
    def place(self) -> str:
        return self.storage.place

    @property
    def spark_reads(self) -> bool:
        return self.storage.spark_reads

    def location(self, entry_id: str) -> str:
        return super().location(_folders.place_of(entry_id))

    @property
    def store(self) -> Bucket | None:
        is_s3 = isinstance(self.storage, Bucket) and self.storage.url.startswith(("s3://", "s3a://"))
        return self.storage if is_s3 and isinstance(self.storage, Bucket) else None

    def for_servers(self) -> ParquetLake:
        lake = copy.copy(self)
        lake.plain = True
        return lake

    def stored_files(self, table: LakeTable, entry_id: str) -> list[StoredFile]:
        """Files of an older run may be in encodings that servers do not read: then none is named."""
        if self.store is None:
            return []
        paths = self._files(entry_id)
        if not all(is_plain(self.storage, path) for path in paths):
            return []
        return [StoredFile(self.storage.full_path(path), self.storage.size(path)) for path in paths]

    # What is there

    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        listed = self._listed(_paths.folder_of(table.name))
        match table.layout:
            case Layout.VALUES:
                return listed._values(table, known)
            case Layout.WHOLE:
                return listed._newest(table)
            case Layout.LOG:
                return listed._log(table, known)

    def _listed(self, folder: str) -> ParquetLake:
        """Return this lake as it is now below a folder, for many questions in a row."""
        return ParquetLake(self.storage.listed(folder))

    def compressed(self, codec: str) -> Lake:
        lake = copy.copy(self)
        lake.compression = codec
        return lake

    def arranged(self, layout: str, incremental_path: str) -> Lake:
        from tidegate.lakes.parquet.schemas import SchemaLake

        return SchemaLake(self.storage, incremental_path) if layout == "schemas" else self

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
        folder, prefix = _paths.folder_of(table.name), f"{_paths.safe(table.column)}_"
        stem = f"{_paths.safe(table.name.name)}_{prefix}"
        for name in self.storage.names(folder):
            if name.startswith(prefix):
                ending = name[len(prefix) :]
                path = self._found(f"{folder}/{name}/{stem}{ending}.parquet")
                if path:
                    yield path, None if _paths.SHORTENED in ending else unquote(ending)

    def _found(self, place: str) -> str:
        """Return the id of the entry in a place: of a file or of a folder; empty when there is none."""
        ids = (place, _folders.entry_id(place))
        return next((found for found in ids if self.storage.etag(found)), "")

    def _etag(self, path: str) -> str:
        return _folders.etag_of(self.storage, path) if _folders.is_folder(path) else self.storage.etag(path)

    def _facts(self, path: str) -> dict[str, Any]:
        """Return what an entry says of itself. Raises OSError, ValueError or KeyError."""
        read = _folders.read_facts if _folders.is_folder(path) else read_footer
        return read(self.storage, path)

    def _newest(self, table: LakeTable) -> Entries:
        name = _paths.safe(table.name.name)
        folder, prefix = f"{_paths.folder_of(table.name)}/{table.column}_{name}", f"{name}_{table.column}_"
        files = [file for file in self.storage.names(folder) if _paths.is_file_of(file, prefix)]
        paths = [path for file in files if (path := self._found(f"{folder}/{file}"))]
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
        folder, stem = _paths.log_folder(table, role)
        for day in self.storage.names(folder):
            files = [file for file in self.storage.names(f"{folder}/{day}") if _paths.is_file_of(file, stem)]
            for file in files:
                if path := self._found(f"{folder}/{day}/{file}"):
                    yield file[len(stem) : -len(".parquet")], path

    def _known(self, path: str, entry: LedgerEntry | None) -> LakeEntry | None:
        """Return the entry as the ledger knows it; None when the file must be opened."""
        etag = self._etag(path)
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
        return self._place(table, _paths.log_window(_folders.place_of(entry_id), table), KEYS)

    def _place(self, table: LakeTable, window: str, role: str) -> str:
        return _paths.path_of(table, window, role)

    def _name(self, table: LakeTable) -> str:
        """Return the name of a table as entries have it."""
        return str(table.name)

    def _opened(self, table: LakeTable, path: str) -> tuple[LakeEntry, dict[str, Any]]:
        """Return what a footer says, and all its facts; no facts for a file that cannot be used."""
        etag = self._etag(path)
        try:
            facts = self._facts(path)
        except (OSError, ValueError, KeyError) as problem:
            return LakeEntry(path, etag, broken=_first_line(problem)), {}
        if (facts["table"], facts["column"]) != (self._name(table), table.column):
            raise LakeError(
                f"{self.storage.full_path(path)} says that it holds {facts['table']} by {facts['column']},"
                f" not {self._name(table)} by {table.column}.",
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
            token=token_of(facts),
            unproven=facts["unproven"],
            read_at=facts["read_at"],
        ), facts

    # Reading

    def read(
        self, table: LakeTable, entry_id: str, batch: BatchSize, columns: Sequence[str] | None = None, role: str = ROWS
    ) -> Iterator[pa.RecordBatch]:
        path = entry_id if role == ROWS else self._keys_path(table, entry_id)
        for file in self._files(path):
            yield from self._batches(file, batch, columns)

    def read_log(self, table: LakeTable, columns: Sequence[str], batch: BatchSize) -> Iterator[pa.RecordBatch]:
        for _, path in self._log_paths(table, ROWS):
            for file in self._files(path):
                for rows in self._batches(file, batch, columns):
                    yield rows.select(list(columns))

    def _files(self, path: str) -> list[str]:
        """Return the files that hold the rows of an entry, in their order. Raises LakeError."""
        if not _folders.is_folder(path):
            return [path]
        try:
            return _folders.part_files(self.storage, path)
        except (OSError, ValueError, KeyError) as problem:
            raise self._unreadable(path, problem) from None

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
            raise self._unreadable(path, problem) from None

    def _unreadable(self, path: str, problem: Exception) -> LakeError:
        form = "folder" if _folders.is_folder(path) else "file"
        return LakeError(
            f"{self.storage.full_path(_folders.place_of(path))} cannot be read: {_first_line(problem)}.",
            "The target keeps what it had.",
            f"Delete the {form}: the next run extracts it again.",
        )

    def history(self, table: LakeTable) -> list[LakeVersion]:
        return versions_of(self._past(table), by_window=table.layout is Layout.LOG)

    def entries_at(self, table: LakeTable, version: str) -> Mapping[str, LakeEntry]:
        match table.layout:
            case Layout.LOG:
                found = self._log(table, {}).by_window.items()
                return {window: entry for window, entry in found if window <= version}
            case Layout.WHOLE:
                return whole_at(self._past(table), version)
            case Layout.VALUES:
                return values_at(self.place, self._past(table), version)

    def _past(self, table: LakeTable) -> list[PastEntry]:
        """Return all entries that are there, oldest first, also older ones of a whole table."""
        match table.layout:
            case Layout.LOG:
                paths = [(path, window) for window, path in self._log_paths(table, ROWS)]
            case Layout.WHOLE:
                newest = self._newest(table)
                paths = [(path, "") for path in (*newest.superseded, *(one.id for one in newest.by_window.values()))]
            case Layout.VALUES:
                paths = [(path, named or "") for path, named in self._value_paths(table)]
        opened = [(window, *self._opened(table, path)) for path, window in paths]
        past = [PastEntry(window or facts["value"], entry, facts) for window, entry, facts in opened if facts]
        return past if table.layout is Layout.LOG else sorted(past, key=lambda one: (one.at, one.entry.id))

    def dataframe_at(self, spark: SparkSession, table: LakeTable, version: str | None, after: str | None) -> DataFrame:
        if table.layout is Layout.LOG:
            found = self._log_paths(table, ROWS)
            inside = ((window, path) for window, path in found if version is None or window <= version)
            return self._frame(spark, table, [path for window, path in inside if after is None or window > after])
        if after is not None and table.layout is Layout.WHOLE:
            raise Unsupported(
                f"A Parquet lake does not tell what came to {table.name} since a time: every file has all rows.",
                "Nothing was read.",
                "Read both states with `as_of` and compare them.",
            )
        entries = self.entries_at(table, version) if version is not None else self.entries(table, {}).by_window
        before = set() if after is None else {entry.id for entry in self.entries_at(table, after).values()}
        return self._frame(spark, table, [entry.id for entry in entries.values() if entry.id not in before])

    def dataframe(self, spark: SparkSession, table: LakeTable) -> DataFrame:
        if table.layout is Layout.VALUES:
            paths = [path for path, _ in self._value_paths(table)]
        elif table.layout is Layout.LOG:
            paths = [path for _, path in self._log_paths(table, ROWS)]
        else:
            paths = [entry.id for entry in self._newest(table).by_window.values()]
        return self._frame(spark, table, paths)

    def _frame(self, spark: SparkSession, table: LakeTable, paths: Sequence[str]) -> DataFrame:
        if not paths:
            raise LakeError(f"The lake {self.place} holds nothing of {table.name}.", "", "Run `tidegate run` first.")
        files = [file for path in paths for file in self._files(path)]
        if not self.storage.spark_reads:
            return read_in_tasks(spark, self.storage, files)
        return spark.read.option("mergeSchema", "true").parquet(*map(self.storage.full_path, files))

    # Writing

    def begin(self, run: str) -> None:
        self.storage.make_folder(f"{_PARTS}/{run}")
        if not self.storage.renames:
            _probes.require_conditions(self.storage)

    def notes(self) -> tuple[str, ...]:
        return () if self.storage.renames else (_probes.answer(self.storage),)

    def end(self, run: str) -> None:
        self.storage.delete_folder(f"{_PARTS}/{run}")

    def leftovers(self, older_than_seconds: float) -> list[str]:
        folders = self.storage.folders_older_than(_PARTS, older_than_seconds)
        return [folder.rpartition("/")[2] for folder in folders]

    def writer(self, table: LakeTable, run: str, name: str, schema: pa.Schema, role: str = ROWS) -> PartWriter:
        ending = ".parquet" if role == ROWS else f".{role}.parquet"
        return PartFile(
            self._name(table),
            table.column,
            role,
            FileWriter(
                self.storage, f"{_PARTS}/{run}/{name}{ending}", schema, plain=self.plain, compression=self.compression
            ),
        )

    def commit(
        self,
        table: LakeTable,
        window: str,
        parts: Sequence[Part],
        replaces: str = "",
        facts: EntryFacts | None = None,
    ) -> tuple[LakeEntry, bool]:
        place = self._place(table, window, ROWS)
        with self.storage.alone(_LOCK):
            for _ in range(_TRIES):
                is_ours = self._commit(table, window, parts, replaces, facts, place)
                if is_ours is not None:
                    return self.entry(table, self._found(place) or place), is_ours
        raise LakeError(
            f"{self.storage.full_path(place)}: other runs committed this window again and again.",
            "Nothing of this run was published for it.",
            "Run again when they ended.",
        )

    def _commit(
        self,
        table: LakeTable,
        window: str,
        parts: Sequence[Part],
        replaces: str,
        facts: EntryFacts | None,
        place: str,
    ) -> bool | None:
        """Return whether the window has these parts now; None where somebody else was first, and it is to be judged
        anew."""
        rows, path = [part for part in parts if part.role == ROWS], self._found(place)
        found, tag = (self._etag(path), self.storage.etag(path)) if path else ("", "")
        if self._was_committed(path, rows):
            return True
        if found not in ("", replaces) and self._is_newer(path, rows[0].id, facts):
            for part in rows:
                self.storage.discard(part.id)
            return False
        # The window's own rows come last: once they are there, everything else of it is.
        for part in parts:
            if part.role != ROWS:
                self.storage.publish(part.id, self._place(table, window, part.role))
        return True if self._publish_rows(table, rows, facts, place, tag) else None

    def _was_committed(self, path: str, rows: Sequence[Part]) -> bool:
        """Return whether an earlier attempt published these parts: they have gone to their place, or stand in it."""
        if not self.storage.renames:
            return bool(path) and _folders.has_parts(self.storage, path, rows)
        return bool(path) and not any(self.storage.etag(part.id) for part in rows)

    def _publish_rows(
        self, table: LakeTable, rows: Sequence[Part], facts: EntryFacts | None, place: str, tag: str
    ) -> bool:
        if self.storage.renames and (facts is None or len(rows) == 1):
            [part] = rows
            self.storage.publish(part.id, place)
            return True
        return _folders.publish(self.storage, rows, self._footer(table, rows, facts), place, tag)

    def _footer(self, table: LakeTable, rows: Sequence[Part], facts: EntryFacts | None) -> dict[str, Any]:
        """Return the facts of an entry, as a commit file has them."""
        if facts is not None:
            return as_footer(self._name(table), table.column, facts)
        return own_facts(read_footer(self.storage, rows[0].id))

    def _is_newer(self, path: str, written: str, facts: EntryFacts | None) -> bool:
        """Return whether the entry that is there was read from the source when ours was, or later."""
        try:
            there = self._facts(path)["read_at"]
            ours = facts.read_at if facts is not None else read_footer(self.storage, written)["read_at"]
        except (OSError, ValueError, KeyError):
            return False
        return bool(there >= ours)

    def drop(self, table: LakeTable, window: str) -> None:
        self._delete(self._found(self._place(table, window, ROWS)))
        if table.layout is Layout.LOG:
            self.storage.delete(self._place(table, window, KEYS))

    def drop_superseded(self, table: LakeTable, ids: Sequence[str]) -> None:
        for path in ids:
            self._delete(path)

    def _delete(self, path: str) -> None:
        if _folders.is_folder(path):
            self.storage.delete_published_folder(_folders.place_of(path), _folders.COMMIT_FILE)
        elif path:
            self.storage.delete(path)

    # Small texts

    def read_text(self, path: str) -> str:
        return self.storage.read_text(path)

    def write_text(self, path: str, text: str) -> None:
        self.storage.write_text(path, text)

    # The scope. Footers cannot tell it after a value was forgotten.

    def save_scope(self, table: LakeTable, target: str, scope: Scope) -> None:
        self.storage.write_text(self._scope_file(table, target), scope.to_json())

    def saved_scope(self, table: LakeTable, target: str) -> Scope | None:
        try:
            return Scope.from_json(self.storage.read_text(self._scope_file(table, target)))
        except (ValueError, KeyError, TypeError):  # a copy that was cut is as good as lost
            return None

    def _scope_file(self, table: LakeTable, target: str) -> str:
        return _paths.scope_file(self._name(table), target)


def _first_line(problem: BaseException) -> str:
    return str(problem).strip().split("\n")[0].rstrip(".") or type(problem).__name__
