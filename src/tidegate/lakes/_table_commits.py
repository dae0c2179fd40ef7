"""Commits of windows to tables of a table format: exactly once, whatever becomes of the answer."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from tidegate.errors import LakeError, TidegateError
from tidegate.interfaces.lake import KEYS, ROWS, EntryFacts, LakeTable, Layout, Part, PartWriter
from tidegate.lakes import _probes
from tidegate.lakes._commits import Commit, facts_of_parts, live
from tidegate.lakes._files import FileWriter, read_footer
from tidegate.lakes._landing import Conflict, Landing
from tidegate.lakes._resting import as_resting
from tidegate.lakes._table_format import KEY_FOLDER, ODD, RUNS, TRIES, TableFormat, file_name, first_line
from tidegate.model.state import LakeEntry

if TYPE_CHECKING:
    import pyarrow as pa


class TableCommits(TableFormat):
    """Writes parts, and commits the parts of a window at once."""

    def begin(self, run: str) -> None:
        self.storage.make_folder(f"{RUNS}/{run}")
        if not self.storage.renames:
            _probes.require_conditions(self.storage)
            # A bucket has no folders: this object tells `clean` of a run that was killed.
            self.storage.write_text(f"{RUNS}/{run}/begun", run)

    def notes(self) -> tuple[str, ...]:
        return () if self.storage.renames else (_probes.answer(self.storage),)

    def end(self, run: str) -> None:
        for folder in {*self._table_folders(""), *self._table_folders(KEY_FOLDER)}:
            self._sweep(folder, run)
        self.storage.delete_folder(f"{RUNS}/{run}")

    def _table_folders(self, below: str) -> Iterator[str]:
        for schema in self.storage.names(below):
            if not schema.startswith("."):
                yield from (f"{schema}/{name}" for name in self.storage.names(f"{below}/{schema}" if below else schema))

    def _sweep(self, folder: str, run: str) -> None:
        """Delete the parts of a run that no commit names."""
        places = [f"{folder}/data", f"{KEY_FOLDER}/{folder}"]
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
        folders = self.storage.folders_older_than(RUNS, older_than_seconds)
        return [folder.rpartition("/")[2] for folder in folders]

    def writer(self, table: LakeTable, run: str, name: str, schema: pa.Schema, role: str = ROWS) -> PartWriter:
        file = f"{run}.{ODD.sub('_', name)}.parquet"
        if role == KEYS:
            path, resting = f"{KEY_FOLDER}/{self.folder(table)}/{file}", schema
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
        names = {role: [file_name(part.id) for part in parts if part.role == role] for role in (ROWS, KEYS)}
        unknown: Exception | None = None
        for attempt in range(TRIES):
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
            + (f"has no answer: {first_line(unknown)}." if unknown else "met another writer each time."),
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
        present = {file_name(path) for path in self.files_at(table)}
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
            "files": [file_name(part.id) for part in rows if part.rows],
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
        for _ in range(TRIES):
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
