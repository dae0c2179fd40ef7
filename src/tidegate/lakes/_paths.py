"""Where a Parquet lake keeps what: names that people can read, valid on every file system."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from tidegate.interfaces.lake import ROWS, LakeTable, Layout
from tidegate.model.names import TableName
from tidegate.storage.keys import SHORTENED, safe

__all__ = ["SHORTENED", "folder_of", "is_file_of", "log_folder", "log_window", "path_of", "safe", "scope_file"]


def path_of(table: LakeTable, window: str, role: str) -> str:
    """Return the place of a window: of its file, or of its folder. Whole tables get a new one every second."""
    name = safe(table.name.name)
    match table.layout:
        case Layout.VALUES:
            partition = f"{safe(table.column)}_{safe(window)}"
            return f"{folder_of(table.name)}/{partition}/{name}_{partition}.parquet"
        case Layout.WHOLE:
            now = f"{datetime.now(UTC):%Y-%m-%d-%H-%M-%S}"
            return f"{folder_of(table.name)}/{table.column}_{name}/{name}_{table.column}_{now}.parquet"
        case Layout.LOG:
            folder, stem = log_folder(table, role)
            return f"{folder}/{window[:10]}/{stem}{window}.parquet"


def log_folder(table: LakeTable, role: str) -> tuple[str, str]:
    """Return the folder and the beginning of file names. Keys stand apart: the folder of rows is read as one."""
    word = table.column if role == ROWS else role
    name = safe(table.name.name)
    return f"{folder_of(table.name)}/{word}_{name}", f"{name}_{word}_"


def log_window(place: str, table: LakeTable) -> str:
    """Return the window in the name of a log's file."""
    name = place.rpartition("/")[2]
    return name.removeprefix(f"{safe(table.name.name)}_{table.column}_").removesuffix(".parquet")


def folder_of(name: TableName) -> str:
    return f"organized/{_visible(safe(name.schema))}" if name.schema else "organized"


def is_file_of(file: str, stem: str) -> bool:
    return file.startswith(stem) and file.endswith(".parquet")


def _visible(name: str) -> str:
    """Escape a leading dot: `.` and `..` lead elsewhere, and other names with a dot in front are hidden."""
    return f"%2E{name[1:]}" if name.startswith(".") else name


def scope_file(table: str, target: str) -> str:
    """Return where the scope is kept that a target declared for a table. Several targets may share one lake."""
    place = hashlib.sha256(target.encode()).hexdigest()[:12]
    return f".tidegate/scopes/{safe(table)}.{place}.json"
