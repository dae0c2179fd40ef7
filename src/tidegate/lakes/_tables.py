"""A lake whose tables lie in a table format: one table for each synced table, and one commit for each window.

What the formats share is here: which entries follow from a table's commits, how a window is committed exactly once, and
how its rows are read back. A format adds how its log is read and written.

| place                  | holds                                                                          |
| ---------------------- | ------------------------------------------------------------------------------ |
| `default/orders/data/` | files with rows: those of the table, and parts that wait for their commit       |
| `.tidegate/keys/`      | keys of a source, for `deletes: close`; no reader of the table sees them        |
| `.tidegate/runs/`      | runs that are at work, or were killed                                          |
| `.tidegate/scopes/`    | copies of the scopes that targets declared                                     |

Facts that shape this file
 * A part lies in its table's folder from the beginning, under the name of its attempt: S3 has no rename. It belongs to
   the table from the moment when a commit names it.
 * A commit is made only if the table still stands where it was looked at. pyiceberg's own repetition lands a run twice.
 * An error of a commit says nothing: it may be there. So every error leads to another look.
"""

from __future__ import annotations

import hashlib
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError, TidegateError
from tidegate.interfaces.lake import KEYS, ROWS, Entries, EntryFacts, Lake, LakeTable, Layout, Part, PartWriter
from tidegate.interfaces.requests import BatchSize
from tidegate.lakes import _probes
from tidegate.lakes._commits import COMPACTED, Commit, facts_of_parts, history_of, live
from tidegate.lakes._files import FileWriter, merge_files, read_footer
from tidegate.lakes._frames import read_in_tasks
from tidegate.lakes._paths import scope_file
from tidegate.lakes._resting import as_extracted, as_resting, original_name
from tidegate.model.lake_versions import LakeCleaning, LakeHealth, LakeVersion
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.storage.door import Storage
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_RUNS, _KEYS = ".tidegate/runs", ".tidegate/keys"
_TRIES = 20
_LONGEST_NAME = 80
_SMALL, _LARGE = 32 << 20, 128 << 20
_ODD = re.compile(r"[^A-Za-z0-9._-]")
"""Formats differ in how they escape these in the paths of files."""
_OWN = re.compile(r"r-\d{8}-\d{6}-[0-9a-f]{6}\.")
"""How the name of a file begins that a run wrote."""
_DEFAULT_SCHEMA = "default"


class Conflict(Exception):
    """Somebody else committed since the table was looked at."""


@dataclass(frozen=True)
class Landing:
    """What one commit is to change: files that come, and files that go."""

    facts: Mapping[str, Any]
    add: tuple[str, ...] = ()
    """Names of files in the folder of the data."""
    remove: tuple[str, ...] = ()
    removes_all: bool = False
    """Everything that is in the table goes."""
    keeps_rows: bool = False
    """The files that come have exactly the rows of those that go."""


class TableLake(Lake):
    """Committed windows as commits of tables in a table format."""

    storage: Storage

    @property
    def place(self) -> str:
        return self.storage.place

    @property
    def store(self) -> Bucket | None:
        is_s3 = isinstance(self.storage, Bucket) and self.storage.url.startswith(("s3://", "s3a://"))
        return self.storage if is_s3 and isinstance(self.storage, Bucket) else None

    # What a format adds

    @abstractmethod
    def commits(self, table: LakeTable) -> list[Commit]:
        """Return the commits of the table, oldest first; none when there is no such table."""

    @abstractmethod
    def land(self, table: LakeTable, seen: Sequence[Commit], landing: Landing) -> None:
        """Commit on top of what was seen. Raises Conflict if the table stands elsewhere by now."""

    @abstractmethod
    def file_schema(self, table: LakeTable, schema: pa.Schema) -> pa.Schema:
        """Return the schema of a file with rows of these columns. The table gets columns that it lacks."""

    @abstractmethod
    def files_at(self, table: LakeTable, version: str | None = None) -> list[str]:
        """Return the files that the table has now, or had at a version, by their paths in the lake."""

    @abstractmethod
    def spark_schema(self, table: LakeTable) -> str:
        """Return the columns of the table as Spark spells them."""

    @abstractmethod
    def taken_files(self, table: LakeTable, commit: Commit) -> set[str]:
        """Return the files that a commit of somebody else took out of the table, or whose rows it brought elsewhere."""

    @abstractmethod
    def brought_files(self, table: LakeTable, commit: Commit) -> set[str]:
        """Return the files that came with a commit of somebody else."""

    def small_files(self, table: LakeTable, below: int) -> list[list[tuple[str, int]]]:
        """Return the small files that the table has now, with their sizes, those that may become one together."""
        return [[(path, size) for path in self.files_at(table) if (size := self.storage.size(path)) < below]]

    def replaces_partitions(self, table: LakeTable) -> bool:
        """Return whether a value that comes again replaces all files of its partition, whoever wrote them."""
        return False

    @abstractmethod
    def kept_files(self, table: LakeTable, commits: Sequence[Commit]) -> set[str]:
        """Return the names of all files that the table has after one of these commits, the newest there are."""

    @abstractmethod
    def expire(self, table: LakeTable, commits: Sequence[Commit], kept: Sequence[Commit]) -> None:
        """Forget the states after these commits, but not their facts: some of `kept` are needed as entries."""

    # What is there

    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        commits = self.commits(table)
        current = live(commits, table.layout)
        lost = self._lost(table, commits)
        seen = self.storage.listed(self.folder(table))
        found = {window: self._entry(table, commit, lost, seen) for window, commit in current.items()}
        news = [
            (commit.facts["read_at"], commit.facts["scope"])
            for window, commit in current.items()
            if commit.facts["scope"] and (window not in known or known[window].etag != commit.version)
        ]
        # Older states of a whole table are its history, which `tidegate lake clean` shortens: none is superseded.
        return Entries(found, scope=Scope.from_json(max(news)[1]) if news else None)

    def entry(self, table: LakeTable, entry_id: str) -> LakeEntry:
        commits = self.commits(table)
        return self._entry(table, self._commit(table, entry_id, commits), self._lost(table, commits))

    def _entry(
        self, table: LakeTable, commit: Commit, lost: Mapping[str, str], seen: Storage | None = None
    ) -> LakeEntry:
        """Return the entry of a commit. `seen` is the folder of the table as it was listed, for many entries."""
        broken = next((lost[name] for name in commit.files if name in lost), "")
        broken = broken or self._damage(table, commit, seen or self.storage)
        entry = commit.entry(self._id(table, commit.version), broken)
        folder = f"{_KEYS}/{self.folder(table)}"
        if entry.has_keys and not set(commit.keys) <= set(self.storage.names(folder)):
            return Commit(commit.version, commit.at, commit.operation, {**commit.facts, "keys": ()}).entry(entry.id)
        return entry

    def _lost(self, table: LakeTable, commits: Sequence[Commit]) -> dict[str, str]:
        """Return files whose rows somebody else took out of the table, each with the reason. Rows may have gone into
        other files by a compaction before they were taken."""
        lost: dict[str, str] = {}
        origins: dict[str, set[str]] = {}
        for commit in commits:
            if not commit.rewrites or commit.is_expired:
                continue
            taken = self.taken_files(table, commit)
            named = {*taken, *(origin for name in taken for origin in origins.get(name, ()))}
            if commit.takes_rows:
                why = f"somebody took rows out of the table ({commit.operation}, version {commit.version})"
                lost |= dict.fromkeys(named, why)
            origins |= dict.fromkeys(self.brought_files(table, commit), named)
        return lost

    def _damage(self, table: LakeTable, commit: Commit, seen: Storage) -> str:
        """Return what is wrong with the files of an entry, as far as their sizes tell; nothing when they are whole."""
        for name, expected in zip(commit.files, commit.facts["sizes"], strict=True):
            size = seen.size(f"{self.folder(table)}/data/{name}")
            if size != expected:
                return f"{name} has {size} of {expected} bytes" if size else f"{name} is missing"
        return ""

    def _commit(self, table: LakeTable, entry_id: str, commits: Sequence[Commit]) -> Commit:
        version = entry_id.rpartition("@")[2]
        for commit in commits:
            if commit.version == version and commit.window is not None:
                return commit
        raise LakeError(
            f"{self.location(entry_id)} is no longer in the history of the table.",
            "The target keeps what it had.",
            "Run again: what is missing is extracted anew.",
        )

    def _id(self, table: LakeTable, version: str) -> str:
        return f"{self.folder(table)}@{version}"

    # Reading

    def read(
        self, table: LakeTable, entry_id: str, batch: BatchSize, columns: Sequence[str] | None = None, role: str = ROWS
    ) -> Iterator[pa.RecordBatch]:
        # A part that is not committed yet is known by its path.
        if entry_id.endswith(".parquet"):
            paths = [entry_id]
        else:
            commit = self._commit(table, entry_id, self.commits(table))
            paths = self._paths(table, commit, role)
        for path in paths:
            yield from self.batches(path, batch, columns)

    def _paths(self, table: LakeTable, commit: Commit, role: str) -> list[str]:
        if role == KEYS:
            return [f"{_KEYS}/{self.folder(table)}/{name}" for name in commit.keys]
        return [f"{self.folder(table)}/data/{name}" for name in commit.files]

    def read_log(self, table: LakeTable, columns: Sequence[str], batch: BatchSize) -> Iterator[pa.RecordBatch]:
        for commit in live(self.commits(table), table.layout).values():
            for path in self._paths(table, commit, ROWS):
                for rows in self.batches(path, batch, columns):
                    yield rows.select(list(columns))

    def history(self, table: LakeTable) -> list[LakeVersion]:
        return history_of(self.commits(table))

    def health(self, table: LakeTable) -> LakeHealth:
        commits = self.commits(table)
        seen = self.storage.listed(self.folder(table))
        sizes = [seen.size(path) for path in self.files_at(table)] if commits else []
        windows = len(live(commits, table.layout)) if table.layout is Layout.VALUES else 1
        return LakeHealth(
            versions=len(commits),
            files=len(sizes),
            bytes=sum(sizes),
            small_files=sum(size < _SMALL for size in sizes),
            after_compaction=min(len(sizes), max(windows, -(-sum(sizes) // _LARGE))),
            foreign=tuple(commit.version for commit in commits if commit.takes_rows),
        )

    def clean(self, table: LakeTable, before: datetime, dry_run: bool) -> LakeCleaning:
        commits = self.commits(table)
        entries = list(live(commits, table.layout).values())
        self._require_whole(table, commits, entries)
        readable = [commit for commit in commits if not commit.is_expired]
        # Only the oldest states leave, and never the current one.
        fresh = (place for place, commit in enumerate(readable) if datetime.fromisoformat(commit.at) >= before)
        old = readable[: min(next(fresh, len(readable)), max(len(readable) - 1, 0))]
        rest = readable[len(old) :]
        needed = self.kept_files(table, rest) if rest else set()
        needed |= {name for commit in (*entries, *rest) for name in (*commit.files, *commit.keys)}
        unneeded = {path: size for path, size in self._own_files(table, commits).items() if _name(path) not in needed}
        if not dry_run:
            if old:
                self._expire(table, old, entries)
            for path in unneeded:
                self.storage.discard(path)
        return LakeCleaning(len(old), len(unneeded), sum(unneeded.values()))

    def small(self, table: LakeTable) -> list[tuple[str, ...]]:
        # A value that comes again must be able to leave alone: its files are merged where it has a partition.
        if not self.commits(table) or not (table.layout is Layout.LOG or self.replaces_partitions(table)):
            return []
        groups: list[tuple[str, ...]] = []
        for files in self.small_files(table, _SMALL):
            group: list[str] = []
            total = 0
            for path, size in sorted(files):
                if group and total + size > _LARGE:
                    groups.append(tuple(group))
                    group, total = [], 0
                group.append(path)
                total += size
            groups.append(tuple(group))
        return [group for group in groups if len(group) > 1]

    def merge(self, table: LakeTable, run: str, name: str, files: Sequence[str]) -> Part:
        path = f"{self.folder(table)}/data/{run}.{_ODD.sub('_', name)}.parquet"
        rows, size = merge_files(self.storage, files, path)
        return Part(path, ROWS, rows, size)

    def commit_merged(self, table: LakeTable, run: str, merged: Mapping[str, Sequence[str]]) -> None:
        facts = {"dropped": [], COMPACTED: sum(map(len, merged.values())), "run": run}
        landing = Landing(
            facts,
            tuple(_name(path) for path in merged),
            tuple(_name(path) for files in merged.values() for path in files),
            keeps_rows=True,
        )
        for _ in range(_TRIES):
            commits = self.commits(table)
            present = set(self.files_at(table))
            if not all(path in present for files in merged.values() for path in files):
                break
            try:
                return self.land(table, commits, landing)
            except Conflict:
                continue
        raise LakeError(
            f"Files of {self.folder(table)} in the lake {self.place} changed while they were merged.",
            "The table is as the others left it.",
            "Clean again when no run is at work.",
        )

    def _expire(self, table: LakeTable, commits: Sequence[Commit], kept: Sequence[Commit]) -> None:
        try:
            self.expire(table, commits, kept)
        except Conflict:
            raise LakeError(
                f"Somebody committed to the table {self.folder(table)} of the lake {self.place} meanwhile.",
                "Nothing was removed.",
                "Clean again when no run is at work.",
            ) from None

    def _require_whole(self, table: LakeTable, commits: Sequence[Commit], entries: Sequence[Commit]) -> None:
        """Raise LakeError where an entry waits to be extracted anew: what tells so must not be forgotten."""
        lost = self._lost(table, commits)
        if any(name in lost for commit in entries for name in commit.files):
            raise LakeError(
                f"Somebody took rows out of the table {self.folder(table)} of the lake {self.place}.",
                "Nothing was removed.",
                "Run `tidegate run` first: it brings the rows back. Then clean.",
            )

    def _own_files(self, table: LakeTable, commits: Sequence[Commit]) -> dict[str, int]:
        """Return the files that ended runs have written for a table, each with its size. Files of others are theirs:
        whether they are about to be committed is not known here."""
        running = set(self.storage.names(_RUNS))
        named = {name for commit in commits for name in (*commit.facts.get("parts", ()), *commit.files, *commit.keys)}
        found = {}
        for place in (f"{self.folder(table)}/data", f"{_KEYS}/{self.folder(table)}"):
            seen = self.storage.listed(place)
            for name in seen.names(place):
                if name.partition(".")[0] not in running and (name in named or _OWN.match(name)):
                    found[f"{place}/{name}"] = seen.size(f"{place}/{name}")
        return found

    def entries_at(self, table: LakeTable, version: str) -> Mapping[str, LakeEntry]:
        commits = self.commits(table)
        last = next(number for number, commit in enumerate(commits) if commit.version == version)
        then = live(commits[: last + 1], table.layout)
        # What others took out of the table since is still there for those who read an older state.
        return {window: self._entry(table, commit, {}) for window, commit in then.items()}

    def dataframe(self, spark: SparkSession, table: LakeTable) -> DataFrame:
        return self.dataframe_at(spark, table, None, None)

    def dataframe_at(self, spark: SparkSession, table: LakeTable, version: str | None, after: str | None) -> DataFrame:
        if not self.commits(table):
            raise LakeError(f"The lake {self.place} holds nothing of {table.name}.", "", "Run `tidegate run` first.")
        before = set(self.files_at(table, after)) if after is not None else set()
        return self._frame(spark, table, [file for file in self.files_at(table, version) if file not in before])

    def _frame(self, spark: SparkSession, table: LakeTable, files: Sequence[str]) -> DataFrame:
        schema = self.spark_schema(table)
        if not files:
            return spark.createDataFrame([], schema)
        if self.storage.spark_reads:
            return spark.read.schema(schema).parquet(*map(self.storage.full_path, files))
        return read_in_tasks(spark, self.storage, files, schema)

    def changes_between(self, spark: SparkSession, table: LakeTable, after: str, version: str) -> DataFrame:
        from pyspark.sql import functions

        # Files that both states have hold nothing that changed.
        before, now = set(self.files_at(table, after)), set(self.files_at(table, version))
        left, came = (self._frame(spark, table, sorted(files)) for files in (before - now, now - before))
        inserted = came.exceptAll(left).withColumn("_change", functions.lit("insert"))
        return inserted.unionAll(left.exceptAll(came).withColumn("_change", functions.lit("delete")))

    def batches(self, path: str, batch: BatchSize, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file as they were extracted, within both bounds."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with self.storage.input(path) as opened, pq.ParquetFile(opened, page_checksum_verification=True) as file:
                fields = file.schema_arrow
                wanted = None
                if columns is not None:
                    wanted = [field.name for field in fields if original_name(field) in columns]
                for number in range(file.num_row_groups):
                    group = file.metadata.row_group(number)
                    fitting = batch.bytes * group.num_rows // max(group.total_byte_size, 1)
                    size = max(1, min(batch.rows, fitting))
                    for rows in file.iter_batches(size, row_groups=[number], columns=wanted):
                        yield as_extracted(rows, fields)
        except (pa.ArrowException, OSError) as problem:
            raise LakeError(
                f"{self.storage.full_path(path)} cannot be read: {_first_line(problem)}.",
                "The target keeps what it had.",
                "Run with `--reload` for this table: it is extracted anew.",
            ) from None

    # Writing

    def begin(self, run: str) -> None:
        self.storage.make_folder(f"{_RUNS}/{run}")
        if not self.storage.renames:
            _probes.require_conditions(self.storage)
            # A bucket has no folders: this object tells `clean` of a run that was killed.
            self.storage.write_text(f"{_RUNS}/{run}/begun", run)

    def notes(self) -> tuple[str, ...]:
        return () if self.storage.renames else (_probes.answer(self.storage),)

    def end(self, run: str) -> None:
        for folder in {*self._table_folders(""), *self._table_folders(_KEYS)}:
            self._sweep(folder, run)
        self.storage.delete_folder(f"{_RUNS}/{run}")

    def _table_folders(self, below: str) -> Iterator[str]:
        for schema in self.storage.names(below):
            if not schema.startswith("."):
                yield from (f"{schema}/{name}" for name in self.storage.names(f"{below}/{schema}" if below else schema))

    def _sweep(self, folder: str, run: str) -> None:
        """Delete the parts of a run that no commit names."""
        places = [f"{folder}/data", f"{_KEYS}/{folder}"]
        parts = [f"{place}/{name}" for place in places for name in self.storage.names(place)]
        parts = [path for path in parts if path.rpartition("/")[2].startswith(f"{run}.")]
        named = self.named_files(folder) if parts else set()
        for path in parts:
            if path.rpartition("/")[2] not in named:
                self.storage.discard(path)

    @abstractmethod
    def named_files(self, folder: str) -> set[str]:
        """Return the names of all files that a commit of the table in this folder names, also in its history."""

    def leftovers(self, older_than_seconds: float) -> list[str]:
        folders = self.storage.folders_older_than(_RUNS, older_than_seconds)
        return [folder.rpartition("/")[2] for folder in folders]

    def writer(self, table: LakeTable, run: str, name: str, schema: pa.Schema, role: str = ROWS) -> PartWriter:
        file = f"{run}.{_ODD.sub('_', name)}.parquet"
        if role == KEYS:
            path, resting = f"{_KEYS}/{self.folder(table)}/{file}", schema
        else:
            path, resting = f"{self.folder(table)}/data/{file}", self.file_schema(table, schema)
        return _PartFile(table, role, FileWriter(self.storage, path, resting), resting)

    def commit(
        self,
        table: LakeTable,
        window: str,
        parts: Sequence[Part],
        replaces: str = "",
        facts: EntryFacts | None = None,
    ) -> tuple[LakeEntry, bool]:
        names = {role: [_name(part.id) for part in parts if part.role == role] for role in (ROWS, KEYS)}
        unknown: Exception | None = None
        for attempt in range(_TRIES):
            commits = self.commits(table)
            done = next((commit for commit in commits if names[ROWS] == list(commit.facts.get("parts", ()))), None)
            if done is not None:
                return self._entry(table, done, {}), True
            told = self._facts(table, names, parts, replaces, commits, facts)
            current = live(commits, table.layout)
            there = next(iter(current.values()), None) if table.layout is Layout.WHOLE else current.get(window)
            if there is not None and self._stays(table, commits, there, replaces, told):
                for part in parts:
                    self.storage.discard(part.id)
                return self._entry(table, there, self._lost(table, commits)), False
            removed = there.files if there is not None else ()
            landing = Landing(told, tuple(told["files"]), removed, table.layout is Layout.WHOLE)
            try:
                self.land(table, commits, self._with_own_files(table, commits, landing))
                unknown = None
            except Conflict:
                unknown = None
            except TidegateError:
                raise
            except Exception as problem:
                if unknown is not None and attempt > 2:
                    break
                unknown = problem
            time.sleep(0.01 * attempt)
        raise LakeError(
            f"The commit of {table.name} {window} to the lake {self.place} "
            + (f"has no answer: {_first_line(unknown)}." if unknown else "met another writer each time."),
            "What the table had before stands, and nothing is committed twice: the next run looks first.",
            "Run again when the catalog answers and other writers are done.",
        )

    def _with_own_files(self, table: LakeTable, commits: Sequence[Commit], landing: Landing) -> Landing:
        """Return the landing with the files of the windows in the place of those into which somebody brought their
        rows: else the rows of a window that is replaced would stay in the table. A file of a window that is gone makes
        its entry broken, so that it is extracted anew."""
        rewriting = [commit for commit in commits if commit.rewrites and not commit.is_expired]
        if not rewriting or not landing.remove or landing.removes_all or self.replaces_partitions(table):
            return landing
        present = {_name(path) for path in self.files_at(table)}
        if set(landing.remove) <= present:
            return landing
        foreign = {name for commit in rewriting for name in self.brought_files(table, commit)}
        own = {name for commit in live(commits, table.layout).values() for name in commit.files} - set(landing.remove)
        back = [name for name in sorted(own - present) if self.storage.size(f"{self.folder(table)}/data/{name}")]
        gone = (*landing.remove, *(foreign & present))
        return replace(landing, add=(*landing.add, *back), remove=gone)

    def _facts(
        self,
        table: LakeTable,
        names: Mapping[str, list[str]],
        parts: Sequence[Part],
        replaces: str,
        commits: Sequence[Commit],
        facts: EntryFacts | None,
    ) -> dict[str, Any]:
        """Return the facts that the commit of these parts carries. A part without rows is no file of the table."""
        rows = [part for part in parts if part.role == ROWS]
        if facts is not None:
            told = {**asdict(facts), "token": facts.token.to_dict()}
        else:
            told = facts_of_parts([read_footer(self.storage, part.id) for part in rows])
        return {
            **told,
            "parts": names[ROWS],
            "files": [_name(part.id) for part in rows if part.rows],
            "sizes": [part.bytes for part in rows if part.rows],
            "keys": names[KEYS],
            "replaces": replaces,
            "previous": commits[-1].version if commits else "",
        }

    def _stays(
        self,
        table: LakeTable,
        commits: Sequence[Commit],
        there: Commit,
        replaces: str,
        facts: Mapping[str, Any],
    ) -> bool:
        """Return whether the entry that is there was committed by somebody else since planning, from newer rows."""
        if there.version == replaces or self._entry(table, there, self._lost(table, commits)).broken:
            return False
        if table.layout is Layout.WHOLE:
            return bool(there.facts["read_at"] > facts["read_at"])
        return bool(there.facts["read_at"] >= facts["read_at"])

    def drop(self, table: LakeTable, window: str) -> None:
        for _ in range(_TRIES):
            commits = self.commits(table)
            there = live(commits, table.layout).get(window)
            if there is None:
                return None
            try:
                landing = Landing({"dropped": [window]}, remove=there.files)
                return self.land(table, commits, self._with_own_files(table, commits, landing))
            except Conflict:
                continue
        raise LakeError(f"{table.name} {window} could not be dropped: other writers were faster.", "It stays.", "")

    def drop_superseded(self, table: LakeTable, ids: Sequence[str]) -> None:
        """Do nothing: older states of a table are its history, and `entries` calls none of them superseded."""

    # Small texts

    def read_text(self, path: str) -> str:
        return self.storage.read_text(path)

    def write_text(self, path: str, text: str) -> None:
        self.storage.write_text(path, text)

    # The scope

    def save_scope(self, table: LakeTable, target: str, scope: Scope) -> None:
        self.storage.write_text(scope_file(str(table.name), target), scope.to_json())

    def saved_scope(self, table: LakeTable, target: str) -> Scope | None:
        try:
            return Scope.from_json(self.storage.read_text(scope_file(str(table.name), target)))
        except (ValueError, KeyError, TypeError):  # a copy that was cut is as good as lost
            return None

    # Where things are

    def folder(self, table: LakeTable) -> str:
        """Return the folder of a table, relative to the lake."""
        schema, name = self.names(table.name)
        return f"{schema}/{name}"

    @staticmethod
    def names(name: TableName) -> tuple[str, str]:
        """Return the namespace and the name of a table in the format."""
        return _plain(name.schema or _DEFAULT_SCHEMA), _plain(name.name)


@dataclass(frozen=True)
class _PartFile(PartWriter):
    table: LakeTable
    role: str
    file: FileWriter
    schema: pa.Schema

    def write(self, batch: pa.RecordBatch) -> None:
        self.file.write(as_resting(batch, self.schema))

    def close(self, facts: EntryFacts) -> Part:
        footer = {**asdict(facts), "token": facts.token.to_dict()}
        footer["value"] = footer.pop("window")
        size = self.file.close({"table": str(self.table.name), "column": self.table.column, **footer})
        return Part(self.file.path, self.role, facts.rows, size)

    def abandon(self) -> None:
        self.file.abandon()


def _plain(name: str) -> str:
    """Return a name of ordinary characters. One that had others, or that is long, gets a hash behind it."""
    plain = _ODD.sub("_", name[:_LONGEST_NAME])
    if plain == name and not name.startswith((".", "_")):
        return name
    return f"{plain.lstrip('._')}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _first_line(problem: BaseException | None) -> str:
    return str(problem).strip().split("\n")[0].rstrip(".") or type(problem).__name__
