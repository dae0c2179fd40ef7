"""States of a table in a lake, as its history tells them."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class LakeVersion:
    """One state of a table: an Iceberg snapshot, or a Delta version."""

    id: str
    at: str
    """When it was committed, in UTC."""
    operation: str
    """`append`, `overwrite`, `replace` (compaction) or `delete`."""
    window: str = ""
    """The window that came with it; empty for commits of somebody else."""
    run: str = ""
    rows: int | None = None
    """How many rows the window has; None where that is not known."""
    why: str = ""
    watermark: str = ""
    """How far the source was read by this window, where it was read by a cursor."""

    @property
    def moment(self) -> datetime:
        return datetime.fromisoformat(self.at)


def version_at(versions: list[LakeVersion], wanted: object) -> LakeVersion | None:
    """Return the version of this id, or the newest one at a time; None when there was none yet.

    A time is a datetime, or a text such as `2024-01-31 10:00`, in UTC where it names no zone."""
    named = next((version for version in versions if version.id == str(wanted)), None)
    if named is not None:
        return named
    moment = wanted if isinstance(wanted, datetime) else datetime.fromisoformat(str(wanted))
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return next((version for version in reversed(versions) if version.moment <= moment), None)


@dataclass(frozen=True)
class LakeHealth:
    """The state of a table's files in a lake."""

    versions: int
    files: int
    bytes: int
    small_files: int
    """Files below 32 MB."""
    after_compaction: int
    """How many files compaction to 128 MB would leave, at least one in each folder of values."""
    foreign: tuple[str, ...] = ()
    """Versions in which somebody else took rows out of the table."""


@dataclass(frozen=True)
class LakeCleaning:
    """What cleaning took out of a table in a lake, or would take."""

    versions: int = 0
    """States that can no longer be read."""
    files: int = 0
    """Files that no state and no entry needs any more."""
    bytes: int = 0
    merged: int = 0
    """Small files whose rows readers find in fewer ones."""
    into: int = 0

    def __add__(self, other: LakeCleaning) -> LakeCleaning:
        """Return what was cleaned in two tables."""
        return LakeCleaning(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    place: str
    rows: int
    hash: str
