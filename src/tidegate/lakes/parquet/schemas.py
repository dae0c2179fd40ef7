"""The layout `schemas`: several databases are read and several schemas are loaded by way of one lake.

    incremental/sales_db/reporting_sales/customers/_target.json
    incremental/sales_db/reporting_sales/customers/year=2024/month=08/day=15/
        customers_2024-08-15_10-30-00_1.parquet           the batches of a window, one for each task that wrote
        customers_2024-08-15_10-30-00_2.parquet
        _customers_2024-08-15_10-30-00.incremental.json   its commit file

Partition tables have `{column}={value}/` instead of the day, whole tables the day on which they were read.

Facts that shape this file
 * A window is its commit file, in a folder as in a bucket. Batches that no commit file names are no entry.
 * A batch gets a number that no batch of its window has, so what is there stays readable until the commit file is
   replaced. What a killed run left is deleted by the next commit of the table.
 * Spark, pyarrow and COPY with a manifest skip names that begin with an underscore, or never hear of them.
 * Entries belong to one target: its watermark is theirs. `_target.json` names it, and another target is refused.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from tidegate.errors import LakeError
from tidegate.interfaces.lake import KEYS, ROWS, Entries, EntryFacts, Lake, LakeTable, Layout, Part
from tidegate.lakes._files import FORMAT
from tidegate.lakes.parquet import ParquetLake
from tidegate.lakes.parquet.beside import commit_facts, part_paths
from tidegate.model.names import LakeName
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.storage.door import Storage
from tidegate.storage.keys import SHORTENED, component, day_folder, safe, table_folder

_OWNER = "_target.json"
_UNREAD = "Nothing was read or written for this table."


class SchemaLake(ParquetLake):
    """Parquet files below the database that they come from and the schema that they are loaded into."""

    def __init__(self, storage: Storage, incremental_path: str) -> None:
        super().__init__(storage)
        self.incremental_path = incremental_path

    def arranged(self, layout: str, incremental_path: str) -> Lake:
        return self

    def _listed(self, folder: str) -> SchemaLake:
        return SchemaLake(self.storage.listed(folder), self.incremental_path)

    # Places

    def _name(self, table: LakeTable) -> str:
        place = _place_of(table)
        return "/".join(map(safe, (place.source_db, place.target_schema, place.below)))

    def _folder(self, table: LakeTable) -> str:
        place = _place_of(table)
        return table_folder(self.incremental_path, place.source_db, place.target_schema, place.below)

    def _place(self, table: LakeTable, window: str, role: str) -> str:
        """Return the commit file of a window, or the file of its keys."""
        match table.layout:
            case Layout.VALUES:
                folder = f"{self._folder(table)}/{_ending(table.column)}={safe(window)}"
                stem = f"{_leaf(table)}_{safe(table.column)}_{safe(window)}"
            case Layout.WHOLE:
                now = f"{datetime.now(UTC):%Y-%m-%d_%H-%M-%S}"
                folder, stem = day_folder(self._folder(table), now), f"{_leaf(table)}_{now}"
            case Layout.LOG:
                folder, stem = self._day(table, window), f"{_leaf(table)}_{_as_time(window)}"
        return f"{folder}/_{stem}.{KEYS}.parquet" if role == KEYS else f"{folder}/_{stem}.{_ending(table.column)}.json"

    def _day(self, table: LakeTable, window: str) -> str:
        try:
            return day_folder(self._folder(table), window)
        except ValueError:
            raise LakeError(
                f"{self.place}: the layout `schemas` files windows under their day, and {window} begins with none.",
                _UNREAD,
                "Use `layout: organized` for this table's lake.",
            ) from None

    def location(self, entry_id: str) -> str:
        folder, stem = _parts_of(entry_id)
        return f"{self.place}/{folder}/{stem}_*.parquet"

    # What is there

    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        return self._listed(self._folder(table))._entries(table, known)

    def _entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        if table.layout is Layout.WHOLE:
            paths = [path for _, path in self._commits(table)]
            if not paths:
                return Entries()
            entry, facts = self._opened(table, paths[-1])
            return Entries({facts.get("value", "all rows"): entry}, superseded=tuple(paths[:-1]))
        found: dict[str, LakeEntry] = {}
        scopes: list[tuple[str, str]] = []
        for named, path in self._commits(table):
            window: str | None = named
            seen = self._known(path, known.get(named)) if SHORTENED not in named else None
            if seen is None:
                seen, facts = self._opened(table, path)
                scopes += [(facts["read_at"], facts["scope"])] if facts.get("scope") else []
                window = facts.get("value", None if SHORTENED in named else named)
            if window is not None:
                has_keys = table.layout is Layout.LOG and bool(self.storage.etag(self._keys_path(table, path)))
                found[window] = replace(seen, has_keys=has_keys)
        is_log = table.layout is Layout.LOG
        return Entries(found, scope=Scope.from_json(max(scopes)[1]) if scopes and not is_log else None)

    def _newest(self, table: LakeTable) -> Entries:
        return self._entries(table, {})

    def _commits(self, table: LakeTable) -> Iterator[tuple[str, str]]:
        """Yield the windows of a table with their commit files, in the order of their names. Of whole tables the name
        of a window is the time when it was read."""
        root, ending = self._folder(table), f".{_ending(table.column)}.json"
        if table.layout is Layout.VALUES:
            prefix = f"{_ending(table.column)}="
            start = f"_{_leaf(table)}_{safe(table.column)}_"
            folders = [name for name in self.storage.names(root) if name.startswith(prefix)]
        else:
            start, folders = f"_{_leaf(table)}_", list(self._days(root))
        for folder in folders:
            names = self.storage.names(f"{root}/{folder}")
            texts = [name[len(start) : -len(ending)] for name in names if name.startswith(start)]
            for text in sorted(text for text in texts if f"{start}{text}{ending}" in names):
                window = unquote(text) if table.layout is Layout.VALUES else text.replace("_", "-", 1)
                yield window, f"{root}/{folder}/{start}{text}{ending}"

    def _days(self, root: str) -> Iterator[str]:
        for year in _named(self.storage, root, "year="):
            for month in _named(self.storage, f"{root}/{year}", "month="):
                for day in _named(self.storage, f"{root}/{year}/{month}", "day="):
                    yield f"{year}/{month}/{day}"

    def _found(self, place: str) -> str:
        return place if self.storage.etag(place) else ""

    def _etag(self, path: str) -> str:
        """Return what changes when the commit file or any of its batches changes."""
        committed = self.storage.etag(path)
        if not committed:
            return ""
        batches = [f"{name} {self.storage.etag(name)}" for name in self._batches_of(path)]
        return f"{committed}-{hashlib.sha256(chr(10).join(batches).encode()).hexdigest()[:16]}"

    def _batches_of(self, path: str) -> list[str]:
        """Return the batches that are there under the name of a window."""
        folder, stem = _parts_of(path)
        pattern = re.compile(rf"{re.escape(stem)}_[0-9]+\.parquet")
        return [f"{folder}/{name}" for name in self.storage.names(folder) if pattern.fullmatch(name)]

    def _own_batches(self, path: str) -> list[str]:
        """Return the batches that a commit file names: windows of two changes may share a second, and so a stem."""
        try:
            return part_paths(self.storage, path)
        except (OSError, ValueError, KeyError):
            return []

    def _facts(self, path: str) -> dict[str, Any]:
        return commit_facts(self.storage, path)

    def _files(self, path: str) -> list[str]:
        if path.endswith(".parquet"):  # a file of keys
            return [path]
        try:
            return part_paths(self.storage, path)
        except (OSError, ValueError, KeyError) as problem:
            raise self._unreadable(path, problem) from None

    def _keys_path(self, table: LakeTable, entry_id: str) -> str:
        folder, stem = _parts_of(entry_id)
        return f"{folder}/_{stem}.{KEYS}.parquet"

    def _log_paths(self, table: LakeTable, role: str) -> Iterator[tuple[str, str]]:
        for window, path in self._commits(table):
            if role == ROWS:
                yield window, path

    def _value_paths(self, table: LakeTable) -> Iterator[tuple[str, str | None]]:
        for window, path in self._commits(table):
            yield path, window

    # Writing

    def _was_committed(self, path: str, rows: Sequence[Part]) -> bool:
        try:
            return bool(path) and commit_facts(self.storage, path)["written"] == [part.id for part in rows]
        except (OSError, ValueError, KeyError):
            return False

    def _publish_rows(
        self, table: LakeTable, rows: Sequence[Part], facts: EntryFacts | None, place: str, tag: str
    ) -> bool:
        footer = self._footer(table, rows, facts)
        folder, stem = _parts_of(place)
        old, there = self._own_batches(place), self._batches_of(place)
        first = max((int(name.rpartition("_")[2].removesuffix(".parquet")) for name in there), default=0) + 1
        names = [f"{stem}_{number}.parquet" for number, _ in enumerate(rows, first)]
        for name, part in zip(names, rows, strict=True):
            self.storage.publish(part.id, f"{folder}/{name}")
        listed = [
            {"file": name, "rows": part.rows, "bytes": part.bytes} for name, part in zip(names, rows, strict=True)
        ]
        commit = {"format": FORMAT, **footer, "written": [part.id for part in rows], "parts": listed}
        done = self.storage.put_text(place, json.dumps(commit), tag)
        for path in old if done else [f"{folder}/{name}" for name in names]:
            self.storage.discard(path)
        if done:
            self._sweep(table, place)
        return done

    def _sweep(self, table: LakeTable, place: str) -> None:
        """Delete batches of older windows that have no commit file: their run was killed before it wrote one."""
        if table.layout is Layout.VALUES:
            return
        listed = self.storage.listed(self._folder(table))
        for day in SchemaLake(listed, self.incremental_path)._days(self._folder(table)):
            folder = f"{self._folder(table)}/{day}"
            names = listed.names(folder)
            committed = {_stem(name) for name in names if name.endswith(".json")}
            for name in names:
                stem = name.rpartition("_")[0]
                is_batch = name.endswith(".parquet") and not name.startswith("_")
                if is_batch and stem not in committed and f"{folder}/_{stem}" < place:
                    self.storage.delete(f"{folder}/{name}")

    def _delete(self, path: str) -> None:
        if path:
            batches = self._own_batches(path)
            self.storage.delete(path)
            for batch in batches:
                self.storage.delete(batch)

    # Whose entries they are

    def save_scope(self, table: LakeTable, target: str, scope: Scope) -> None:
        self._require_own(table, target)
        path, owner = f"{self._folder(table)}/{_OWNER}", json.dumps({"target": _without_login(target)})
        if not self.storage.read_text(path) and not self.storage.put_text(path, owner):
            self._require_own(table, target)
        self.storage.write_text(self._source_file(table, target), json.dumps({"source": _place_of(table).source_db}))
        super().save_scope(table, target, scope)

    def saved_scope(self, table: LakeTable, target: str) -> Scope | None:
        self._require_own(table, target)
        return super().saved_scope(table, target)

    def _require_own(self, table: LakeTable, target: str) -> None:
        """Raise LakeError where another target has these entries, or where another database fills the same table."""
        place, path = _place_of(table), f"{self._folder(table)}/{_OWNER}"
        there, target = _read(self.storage, path).get("target", ""), _without_login(target)
        if there not in ("", target):
            raise LakeError(
                f"{self.storage.full_path(self._folder(table))} belongs to another target: {there}.",
                _UNREAD,
                f"Give each target a lake or an `incremental_path` of its own. If it is the same target under a new"
                f" name, delete {self.storage.full_path(path)}.",
            )
        path = self._source_file(table, target)
        source = _read(self.storage, path).get("source", place.source_db)
        if source != place.source_db:
            raise LakeError(
                f"{place.target_schema}.{place.below} in the target is loaded from {source}, not from"
                f" {place.source_db}: rows of two databases would replace each other.",
                _UNREAD,
                f"Choose another target schema. If {source} was renamed, delete {self.storage.full_path(path)}.",
            )

    def _source_file(self, table: LakeTable, target: str) -> str:
        """Return the file that names the database which fills a table of a target."""
        place = _place_of(table)
        name = "/".join(map(component, (place.target_schema, place.below)))
        owner = hashlib.sha256(_without_login(target).encode()).hexdigest()[:12]
        return f".tidegate/sources/{owner}/{name}.json"


def _place_of(table: LakeTable) -> LakeName:
    if not isinstance(table.name, LakeName) or not table.name.source_db or not table.name.target_schema:
        raise LakeError(
            f"{table.name}: the layout `schemas` needs the database of the source and the schema of the target.",
            _UNREAD,
            "Use `layout: organized`.",
        )
    return table.name


def _without_login(target: str) -> str:
    """Return a URL without its user: another login is no other target."""
    return re.sub(r"//[^/@]*@", "//", target, count=1)


def _leaf(table: LakeTable) -> str:
    return component(_place_of(table).below)


def _ending(column: str) -> str:
    """Return the end of the names of commit files, which tells apart windows of different changes."""
    return component(column).replace(".", "%2E")


def _as_time(window: str) -> str:
    """Return the name of a window as a time in a key: `2024-08-15_10-30-00`."""
    return f"{safe(window[:10])}_{safe(window[11:])}" if len(window) > 10 else safe(window)


def _parts_of(path: str) -> tuple[str, str]:
    """Return the folder of a commit file and the beginning of the names of its batches."""
    folder, _, name = path.rpartition("/")
    return folder, _stem(name)


def _stem(name: str) -> str:
    return name.removeprefix("_").removesuffix(".json").rpartition(".")[0]


def _named(storage: Storage, folder: str, prefix: str) -> list[str]:
    return [name for name in storage.names(folder) if name.startswith(prefix)]


def _read(storage: Storage, path: str) -> dict[str, Any]:
    """Return what a small file says; nothing where it is missing or was cut."""
    try:
        found = json.loads(storage.read_text(path) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
