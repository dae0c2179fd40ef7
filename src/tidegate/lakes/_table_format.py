"""Tables of a table format: what each format adds, and which entries follow from the commits of a table."""

from __future__ import annotations

import hashlib
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.interfaces.lake import Entries, Lake, LakeTable
from tidegate.lakes._commits import Commit, history_of, live
from tidegate.lakes._paths import scope_file
from tidegate.model.lake_versions import LakeVersion
from tidegate.model.names import TableName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.storage.door import Storage
from tidegate.storage.objects import Bucket

if TYPE_CHECKING:
    import pyarrow as pa

from tidegate.lakes._landing import Landing

RUNS, KEY_FOLDER = ".tidegate/runs", ".tidegate/keys"
TRIES = 20
ODD = re.compile(r"[^A-Za-z0-9._-]")
"""Formats differ in how they escape these in the paths of files."""
_LONGEST_NAME = 80
_DEFAULT_SCHEMA = "default"


class TableFormat(Lake):
    """The tables of a lake, their commits, and the entries that follow from these."""

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
        folder = f"{KEY_FOLDER}/{self.folder(table)}"
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

    def history(self, table: LakeTable) -> list[LakeVersion]:
        return history_of(self.commits(table))

    def entries_at(self, table: LakeTable, version: str) -> Mapping[str, LakeEntry]:
        commits = self.commits(table)
        last = next(number for number, commit in enumerate(commits) if commit.version == version)
        then = live(commits[: last + 1], table.layout)
        # What others took out of the table since is still there for those who read an older state.
        return {window: self._entry(table, commit, {}) for window, commit in then.items()}

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


def _plain(name: str) -> str:
    """Return a name of ordinary characters. One that had others, or that is long, gets a hash behind it."""
    plain = ODD.sub("_", name[:_LONGEST_NAME])
    if plain == name and not name.startswith((".", "_")):
        return name
    return f"{plain.lstrip('._')}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rpartition("/")[2]


def first_line(problem: BaseException | None) -> str:
    """Return the first line of an error without its full stop, or the name of its class."""
    return str(problem).strip().split("\n")[0].rstrip(".") or type(problem).__name__
