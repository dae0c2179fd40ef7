"""Copies of watermarks, for programs that look for them there. No sync depends on one: ledger and data decide."""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tidegate.api import Frames, lake_table
from tidegate.facades.sync_coordinator.models import Watermark

PIPELINE = "SyncWatermarks"
PROPERTY = "sync.watermark"


class WatermarkStore(ABC):
    """Keeps one watermark for each table."""

    @abstractmethod
    def get_watermark(self, table_name: str) -> Watermark | None: ...

    @abstractmethod
    def set_watermark(self, table_name: str, watermark: Watermark) -> None: ...


class FileWatermarkStore(WatermarkStore):
    """JSON files: `{warehouse}/watermarks/{table}.json`. Each is replaced at once."""

    def __init__(self, warehouse: str | Path) -> None:
        self.folder = Path(warehouse) / "watermarks"

    def get_watermark(self, table_name: str) -> Watermark | None:
        try:
            return _read(self._file(table_name).read_text())
        except FileNotFoundError:
            return None

    def set_watermark(self, table_name: str, watermark: Watermark) -> None:
        file = self._file(table_name)
        file.parent.mkdir(parents=True, exist_ok=True)
        # Readers see the old text or the new one, and writers do not share a file.
        written = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
        written.write_text(_written(watermark))
        written.replace(file)

    def _file(self, table_name: str) -> Path:
        return self.folder / f"{quote(table_name, safe='')}.json"


class DatabaseWatermarkStore(WatermarkStore):
    """Tidegate's own table of watermarks in a database, under the pipeline `SyncWatermarks`."""

    def __init__(self, connection: Any) -> None:
        self._frames = Frames.of(connection)

    def get_watermark(self, table_name: str) -> Watermark | None:
        found = self._frames.stream(PIPELINE, table_name).watermark(PROPERTY)
        return None if found is None or found.watermark_value is None else _read(str(found.watermark_value))

    def set_watermark(self, table_name: str, watermark: Watermark) -> None:
        self._frames.stream(PIPELINE, table_name).set_watermark(_written(watermark), PROPERTY, "timestamp")


SqlServerWatermarkStore = DatabaseWatermarkStore


class TablePropertyWatermarkStore(WatermarkStore):
    """A property of the Iceberg table itself: `sync.watermark`."""

    def __init__(self, warehouse: str | Path) -> None:
        self.warehouse = Path(warehouse)

    def get_watermark(self, table_name: str) -> Watermark | None:
        table = lake_table("iceberg", self.warehouse, table_name)
        text = table.properties().get(PROPERTY) if table.exists else None
        return None if text is None else _read(text)

    def set_watermark(self, table_name: str, watermark: Watermark) -> None:
        lake_table("iceberg", self.warehouse, table_name).set_properties({PROPERTY: _written(watermark)})


def _written(watermark: Watermark) -> str:
    told = {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(watermark).items()
    }
    return json.dumps(told)


def _read(text: str) -> Watermark:
    told: dict[str, Any] = json.loads(text)
    for name in ("last_sync_timestamp", "created_at"):
        told[name] = datetime.fromisoformat(told[name]) if told[name] is not None else None
    return Watermark(**told)
