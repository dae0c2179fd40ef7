"""Copies of watermarks, for programs that look for them there. No sync depends on one: ledger and data decide."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from tidegate.api import Frames, watermark_file, watermark_property
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
        self.warehouse = Path(warehouse)

    def get_watermark(self, table_name: str) -> Watermark | None:
        text = watermark_file(self.warehouse, table_name).read_text()
        return _read(text) if text else None

    def set_watermark(self, table_name: str, watermark: Watermark) -> None:
        watermark_file(self.warehouse, table_name).write_text(_written(watermark))


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
        text = watermark_property(self.warehouse, table_name, PROPERTY).read_text()
        return _read(text) if text else None

    def set_watermark(self, table_name: str, watermark: Watermark) -> None:
        watermark_property(self.warehouse, table_name, PROPERTY).write_text(_written(watermark))


def _written(watermark: Watermark) -> str:
    values = {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(watermark).items()
    }
    return json.dumps(values)


def _read(text: str) -> Watermark:
    values: dict[str, Any] = json.loads(text)
    for name in ("last_sync_timestamp", "created_at"):
        values[name] = datetime.fromisoformat(values[name]) if values[name] is not None else None
    return Watermark(**values)
