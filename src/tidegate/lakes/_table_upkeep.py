"""Upkeep of tables of a table format: small files become large, old states are forgotten, own orphans are deleted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from tidegate.errors import LakeError
from tidegate.interfaces.lake import ROWS, LakeTable, Layout, Part
from tidegate.lakes._commits import COMPACTED, Commit, live
from tidegate.lakes._files import merge_files
from tidegate.lakes._landing import Conflict, Landing
from tidegate.lakes._table_format import KEY_FOLDER, ODD, RUNS, TRIES, TableFormat, file_name
from tidegate.model.lake_versions import LakeCleaning, LakeHealth

if TYPE_CHECKING:
    pass

_SMALL, _LARGE = 32 << 20, 128 << 20
_OWN = re.compile(r"r-\d{8}-\d{6}-[0-9a-f]{6}\.")
"""How the name of a file begins that a run wrote."""


class TableUpkeep(TableFormat):
    """Tells the health of tables, cleans them, and merges their files."""

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
        unneeded = {
            path: size for path, size in self._own_files(table, commits).items() if file_name(path) not in needed
        }
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
        path = f"{self.folder(table)}/data/{run}.{ODD.sub('_', name)}.parquet"
        rows, size = merge_files(self.storage, files, path)
        return Part(path, ROWS, rows, size)

    def commit_merged(self, table: LakeTable, run: str, merged: Mapping[str, Sequence[str]]) -> None:
        facts = {"dropped": [], COMPACTED: sum(map(len, merged.values())), "run": run}
        landing = Landing(
            facts,
            tuple(file_name(path) for path in merged),
            tuple(file_name(path) for files in merged.values() for path in files),
            keeps_rows=True,
        )
        for _ in range(TRIES):
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
        running = set(self.storage.names(RUNS))
        named = {name for commit in commits for name in (*commit.facts.get("parts", ()), *commit.files, *commit.keys)}
        found = {}
        for place in (f"{self.folder(table)}/data", f"{KEY_FOLDER}/{self.folder(table)}"):
            seen = self.storage.listed(place)
            for name in seen.names(place):
                if name.partition(".")[0] not in running and (name in named or _OWN.match(name)):
                    found[f"{place}/{name}"] = seen.size(f"{place}/{name}")
        return found
