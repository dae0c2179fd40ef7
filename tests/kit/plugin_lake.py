"""An example plug-in: a lake of Arrow IPC files, each with a small JSON file beside it.

A package installs it with an entry point in `pyproject.toml`:

    [project.entry-points."tidegate.lakes"]
    arrow_files = "plugin_lake:ArrowFiles"

A project chooses it in `tidegate.yml`:

    lake: {format: arrow_files, path: arrow_lake}

| file                                       | holds                                                    |
| ------------------------------------------ | -------------------------------------------------------- |
| `entries/trades/cob/20240815.json`         | the facts of one entry, and the names of its Arrow files |
| `entries/trades/cob/20240815~1f0c….arrow`  | its rows                                                 |
| `parts/r-20240815-060001-3fa9c1/`          | parts of a run that are not committed yet                |
| `scopes/`                                  | copies of the scopes that targets declared               |

An entry exists from the moment when its JSON file was renamed into place. So rows and keys appear together. A killed
commit leaves nothing but Arrow files that no JSON file names.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from tidegate.errors import LakeError
from tidegate.interfaces.lake import KEYS, ROWS, Entries, EntryFacts, Lake, LakeTable, Layout, Part, PartWriter
from tidegate.interfaces.requests import BatchSize
from tidegate.model.scope import Scope
from tidegate.model.state import LakeEntry, LedgerEntry
from tidegate.model.tokens import CursorWindow, Token

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class ArrowFiles(Lake):
    """Arrow IPC files below one folder, each with its facts in a JSON file."""

    kind = "arrow_files"

    root: Path

    @classmethod
    def at(cls, path: Path) -> ArrowFiles:
        return cls(path)

    @property
    def place(self) -> str:
        return str(self.root)

    # What is committed

    def entries(self, table: LakeTable, known: Mapping[str, LedgerEntry]) -> Entries:
        listed = self._listed(table)
        if table.layout is Layout.WHOLE:
            # Only the newest entry counts, and it is one small JSON file. So it is always opened.
            older, newest = [entry_id for _, entry_id in listed[:-1]], listed[-1:]
            return Entries({window: self.entry(table, entry_id) for window, entry_id in newest}, tuple(older))
        arrow_files = {name.partition("~")[0] for name in self._names(table) if name.endswith(".arrow")}
        found: dict[str, LakeEntry] = {}
        scopes: list[tuple[str, str]] = []
        for window, entry_id in listed:
            entry = _as_known(entry_id, self._etag(entry_id), known.get(window))
            if entry is not None and Path(entry_id).stem in arrow_files:
                found[window] = replace(entry, has_keys=self._has_keys(table, window))
                continue
            found[window] = entry = self.entry(table, entry_id)
            if not entry.broken:
                facts = self._facts(entry_id)
                scopes += [(facts["read_at"], facts["scope"])] if facts["scope"] else []
        return Entries(found, scope=Scope.from_json(max(scopes)[1]) if scopes else None)

    def entry(self, table: LakeTable, entry_id: str) -> LakeEntry:
        etag = self._etag(entry_id)
        try:
            facts = self._facts(entry_id)
            if not all(path.exists() for path in self._arrow_files(entry_id, facts, ROWS)):
                return LakeEntry(entry_id, etag, broken="its Arrow file is missing")
        except (OSError, ValueError, KeyError) as problem:
            return LakeEntry(entry_id, etag, broken=f"its JSON file cannot be read: {problem}")
        return LakeEntry(
            id=entry_id,
            etag=etag,
            rows=facts["rows"],
            hash=facts["hash"],
            text_columns=tuple(facts["text_columns"]),
            columns=tuple(facts["columns"]),
            columns_id=facts["columns_id"],
            storage_types=tuple(facts["storage_types"]),
            token=Token.from_dict(facts["token"]),
            unproven=facts["unproven"],
            read_at=facts["read_at"],
            has_keys=KEYS in facts["files"],
        )

    def _listed(self, table: LakeTable) -> list[tuple[str, str]]:
        """Return the windows that have a JSON file, each with the id of its entry, oldest first."""
        stems = [name.removesuffix(".json") for name in self._names(table) if name.endswith(".json")]
        # A number follows `@` where every entry is the whole table. It counts up.
        ordered = sorted((unquote(stem.partition("@")[0]), stem.partition("@")[2], stem) for stem in stems)
        return [(window, f"{self._folder(table)}/{stem}.json") for window, _, stem in ordered]

    def _names(self, table: LakeTable) -> list[str]:
        try:
            return os.listdir(self.root / self._folder(table))
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise self._unusable(problem) from None

    def _has_keys(self, table: LakeTable, window: str) -> bool:
        start = f"{_escaped(window)}~"
        return any(name.startswith(start) and name.endswith(f".{KEYS}.arrow") for name in self._names(table))

    def _facts(self, entry_id: str) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self.root / entry_id).read_text())
        return facts

    def _arrow_files(self, entry_id: str, facts: dict[str, Any], role: str) -> list[Path]:
        return [(self.root / entry_id).with_name(name) for name in facts["files"][role]]

    def _etag(self, entry_id: str) -> str:
        """Return size and time of the JSON file, which is written again with every commit."""
        try:
            found = (self.root / entry_id).stat()
        except OSError:
            return ""
        return f"{found.st_size}-{found.st_mtime_ns}"

    # Reading

    def read(
        self, table: LakeTable, entry_id: str, batch: BatchSize, columns: Sequence[str] | None = None, role: str = ROWS
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            for path in self._arrow_files(entry_id, self._facts(entry_id), role):
                with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
                    for number in range(reader.num_record_batches):
                        rows = reader.get_batch(number)
                        yield from _within(rows if columns is None else rows.select(list(columns)), batch)
        except (pa.ArrowException, OSError, ValueError, KeyError) as problem:
            raise LakeError(
                f"{self.root / entry_id} cannot be read: {problem}.",
                "The target keeps what it had.",
                "Delete the file: the next run extracts it again.",
            ) from None

    def read_log(self, table: LakeTable, columns: Sequence[str], batch: BatchSize) -> Iterator[pa.RecordBatch]:
        for _, entry_id in self._listed(table):
            yield from self.read(table, entry_id, batch, columns)

    def dataframe(self, spark: SparkSession, table: LakeTable) -> DataFrame:
        import pyarrow as pa

        entries = self._listed(table)
        chosen = entries[-1:] if table.layout is Layout.WHOLE else entries
        if not chosen:
            raise LakeError(f"The lake {self.place} holds nothing of {table.name}.", "", "Run `tidegate run` first.")
        # Spark has no reader for Arrow IPC files.
        batches = [rows for _, entry_id in chosen for rows in self.read(table, entry_id, BatchSize())]
        tables = [pa.Table.from_batches([rows]) for rows in batches]
        return spark.createDataFrame(pa.concat_tables(tables, promote_options="default"))

    # Writing

    def begin(self, run: str) -> None:
        folder = self.root / "parts" / run
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "probe").write_text("")
            (folder / "probe").unlink()
        except OSError as problem:
            raise self._unusable(problem) from None

    def end(self, run: str) -> None:
        shutil.rmtree(self.root / "parts" / run, ignore_errors=True)

    def leftovers(self, older_than_seconds: float) -> list[str]:
        limit = time.time() - older_than_seconds
        folder = self.root / "parts"
        return sorted(run.name for run in folder.iterdir() if run.stat().st_mtime <= limit) if folder.exists() else []

    def writer(self, table: LakeTable, run: str, name: str, schema: pa.Schema, role: str = ROWS) -> PartWriter:
        return ArrowWriter(self.root, f"parts/{run}/{_escaped(name)}.{role}", schema, role)

    def commit(
        self,
        table: LakeTable,
        window: str,
        parts: Sequence[Part],
        replaces: str = "",
        facts: EntryFacts | None = None,
    ) -> tuple[LakeEntry, bool]:
        rows = [part for part in parts if part.role == ROWS]
        with self._lock():
            if not (self.root / rows[0].id).exists():
                return self._committed_before(table, rows[0]), True
            place = self._place(table, window)
            there, ours = self._etag(place), self._facts(rows[0].id) if facts is None else _as_json(facts)
            if there not in ("", replaces) and self._is_newer(place, ours["read_at"]):
                return self.entry(table, place), False
            files: dict[str, list[str]] = {}
            for part in parts:
                files.setdefault(part.role, []).append(self._publish(part, place))
            _write(self.root / place, json.dumps({**ours, "files": files, "part": rows[0].id}))
            (self.root / rows[0].id).unlink()
            self._delete_arrow_files(place, besides=[name for names in files.values() for name in names])
            return self.entry(table, place), True

    def _publish(self, part: Part, place: str) -> str:
        """Move the Arrow file of a part beside its entry's JSON file, under a name that nothing else has."""
        [written] = self._arrow_files(part.id, self._facts(part.id), part.role)
        ending = ".arrow" if part.role == ROWS else f".{part.role}.arrow"
        name = f"{Path(place).stem}~{uuid.uuid4().hex}{ending}"
        (self.root / place).parent.mkdir(parents=True, exist_ok=True)
        os.replace(written, (self.root / place).with_name(name))
        return name

    def _committed_before(self, table: LakeTable, part: Part) -> LakeEntry:
        """Return the entry that an earlier call of `commit` made of this part."""
        for _, entry_id in self._listed(table):
            if self._facts(entry_id).get("part") == part.id:
                return self.entry(table, entry_id)
        raise LakeError(f"The part {part.id} is gone.", "The target keeps what it had.", "Run again.")

    def _is_newer(self, place: str, read_at: str) -> bool:
        try:
            return bool(self._facts(place)["read_at"] >= read_at)
        except (OSError, ValueError, KeyError):
            return False

    def drop(self, table: LakeTable, window: str) -> None:
        self.drop_superseded(table, [entry_id for name, entry_id in self._listed(table) if name == window])

    def drop_superseded(self, table: LakeTable, ids: Sequence[str]) -> None:
        with self._lock():
            for entry_id in ids:
                (self.root / entry_id).unlink(missing_ok=True)
                self._delete_arrow_files(entry_id)

    def _delete_arrow_files(self, place: str, besides: Collection[str] = ()) -> None:
        for path in (self.root / place).parent.glob("*.arrow"):
            if path.name.startswith(f"{Path(place).stem}~") and path.name not in besides:
                path.unlink(missing_ok=True)

    # Scopes

    def save_scope(self, table: LakeTable, target: str, scope: Scope) -> None:
        try:
            _write(self._scope_file(table, target), scope.to_json())
        except OSError as problem:
            raise self._unusable(problem) from None

    def saved_scope(self, table: LakeTable, target: str) -> Scope | None:
        try:
            return Scope.from_json(self._scope_file(table, target).read_text())
        except (OSError, ValueError, KeyError):
            return None

    def _scope_file(self, table: LakeTable, target: str) -> Path:
        # Several targets may share one lake.
        place = hashlib.sha256(target.encode()).hexdigest()[:12]
        return self.root / "scopes" / f"{_escaped(str(table.name))}.{place}.json"

    # Places

    def _folder(self, table: LakeTable) -> str:
        return f"entries/{_escaped(str(table.name))}/{_escaped(table.column)}"

    def _place(self, table: LakeTable, window: str) -> str:
        """Return where the JSON file of a new entry goes. Entries of a whole table are numbered."""
        number = ""
        if table.layout is Layout.WHOLE:
            numbers = [int(entry_id.rpartition("@")[2].removesuffix(".json")) for _, entry_id in self._listed(table)]
            number = f"@{max(numbers, default=0) + 1:08}"
        return f"{self._folder(table)}/{_escaped(window)}{number}.json"

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold a lock against other writers of this lake. Raises LakeError for a file system that refuses."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            with open(self.root / "lock", "a") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
        except OSError as problem:
            raise self._unusable(problem) from None

    def _unusable(self, problem: OSError) -> LakeError:
        return LakeError(
            f"The lake {self.root} cannot be used: {problem.strerror or problem}.",
            "Entries that were committed before are complete; the target keeps what it had.",
            "Make room or correct the rights of the folder, then run again.",
        )


class ArrowWriter(PartWriter):
    """Writes one part: an Arrow file, and at the end a JSON file with its facts. The JSON file is the part's id."""

    def __init__(self, root: Path, stem: str, schema: pa.Schema, role: str) -> None:
        import pyarrow as pa

        self._root, self._stem, self._role = root, stem, role
        self._path = root / f"{stem}.arrow"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = pa.OSFile(str(self._path), "wb")
        self._writer = pa.ipc.new_file(self._file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self, facts: EntryFacts) -> Part:
        self._writer.close()
        self._file.close()
        _sync(self._path)
        told = {**_as_json(facts), "files": {self._role: [self._path.name]}}
        _write(self._root / f"{self._stem}.json", json.dumps(told))
        return Part(f"{self._stem}.json", self._role, facts.rows, self._path.stat().st_size)

    def abandon(self) -> None:
        for opened in (self._writer, self._file):
            with suppress(Exception):
                opened.close()
        self._path.unlink(missing_ok=True)


def _as_json(facts: EntryFacts) -> dict[str, Any]:
    return {**asdict(facts), "token": facts.token.to_dict()}


def _as_known(entry_id: str, etag: str, known: LedgerEntry | None) -> LakeEntry | None:
    """Return the entry as the ledger knows it; None when its JSON file must be opened."""
    if known is None or known.etag != etag:
        return None
    return LakeEntry(
        id=entry_id,
        etag=etag,
        rows=known.rows,
        hash=known.hash,
        text_columns=known.text_columns,
        columns=known.columns,
        columns_id=known.columns_id,
        storage_types=known.storage_types,
        token=known.token,
        read_at=known.token.read_at if isinstance(known.token, CursorWindow) else "",
    )


def _within(rows: pa.RecordBatch, batch: BatchSize) -> Iterator[pa.RecordBatch]:
    """Yield the rows in slices that respect both bounds."""
    fitting = batch.bytes * rows.num_rows // max(rows.nbytes, 1)
    step = max(1, min(batch.rows, fitting))
    for start in range(0, rows.num_rows, step):
        yield rows.slice(start, step)


def _write(path: Path, text: str) -> None:
    """Replace a small file at once, and make it durable."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    written.write_text(text)
    _sync(written)
    os.replace(written, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _escaped(text: str) -> str:
    """Return a name for the file system. `~` and `@` have a meaning of their own in names of entries."""
    escaped = quote(text, safe="").replace("~", "%7E")
    return f"%2E{escaped[1:]}" if escaped.startswith(".") else escaped
