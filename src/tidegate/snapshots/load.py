"""Load archived snapshots: as frames of pandas, Polars, Arrow or Spark, and as Parquet files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidegate.errors import ConfigError, LakeError, MissingObject
from tidegate.model.snapshots import Archive
from tidegate.snapshots.archive import ArchiveStore
from tidegate.snapshots.frames import convert

if TYPE_CHECKING:
    import pyarrow as pa

KINDS = ("pandas", "polars", "arrow", "spark")
BATCH_ROWS = 10_000


def choose(
    store: ArchiveStore,
    table: str,
    *,
    archive_id: int | None = None,
    customer_filter: str | None = None,
    at: str | date | datetime | None = None,
    batch_id: str | None = None,
) -> Archive:
    """Return the archive that is meant: by its id, or the newest of a filter, at a moment or of a batch.

    A date without a time means its whole day."""
    if archive_id is not None:
        return store.archive(int(archive_id))
    until = None if at is None else _until(at)
    for archive in store.archives(table, customer_filter):
        is_in_time = until is None or archive.snapshot_date <= until
        if is_in_time and (batch_id is None or archive.batch_id == str(batch_id).lower()):
            return archive
    asked = ", ".join(
        f"{name} {value}"
        for name, value in (("filter", customer_filter), ("at", at), ("batch", batch_id))
        if value is not None
    )
    raise MissingObject(
        f"The archive has no snapshot of {table}{f' with {asked}' if asked else ''}.",
        "Nothing was changed.",
        "`tidegate snapshot list` names what there is.",
    )


def _until(at: str | date | datetime) -> str:
    try:
        moment = at if isinstance(at, date) else datetime.fromisoformat(at.strip())
    except ValueError:
        raise ConfigError(f"{at!r} is no date.", "Nothing was read.", "Write 2026-01-31 or 2026-01-31 07:00.") from None
    if isinstance(moment, datetime):
        is_whole_day = isinstance(at, str) and len(at.strip()) == 10
        if moment.tzinfo is not None:
            from datetime import UTC

            moment = moment.astimezone(UTC).replace(tzinfo=None)
        if not is_whole_day:
            return moment.isoformat(" ", "microseconds")
    return f"{moment:%Y-%m-%d} 23:59:59.999999"


def read_batches(
    store: ArchiveStore, archive: Archive, columns: Sequence[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of an archive, with bounded memory."""
    with store.open(archive) as file:
        yield from file.iter_batches(batch_size=BATCH_ROWS, columns=None if columns is None else list(columns))


def load(store: ArchiveStore, archive: Archive, kind: str, columns: Sequence[str] | None, spark: Any) -> Any:
    """Return the rows of an archive as a frame of this kind."""

    if kind not in KINDS:
        raise ConfigError(f"`{kind}` is no kind of frame.", "Nothing was read.", f"Use one of: {', '.join(KINDS)}.")
    if kind == "spark":
        from tidegate.snapshots.spark_frames import load_archive

        return load_archive(store, archive, columns, spark)
    with store.open(archive) as file:
        table: pa.Table = file.read(columns=None if columns is None else list(columns))
    return convert(table, kind)


def export(store: ArchiveStore, archive: Archive, path: Path) -> int:
    """Write an archive as a Parquet file and return its size. The file appears when it is complete."""
    path = path.expanduser()
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as problem:
        raise _unusable(path, problem) from None
    written = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for chunk in store.chunks_of(archive):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        size = written.stat().st_size
        written.rename(path)
    except OSError as problem:
        raise _unusable(path, problem) from None
    finally:
        written.unlink(missing_ok=True)
    return size


def _unusable(path: Path, problem: OSError) -> LakeError:
    return LakeError(
        f"{path} cannot be written: {problem.strerror or problem}.",
        "The archive is unchanged.",
        "Make room, or name another file.",
    )
