"""Copies of watermarks, for programs that look for them there: a JSON file, a property of a lake table, a table row.

The ledger is the truth. A mirror is read only to be compared, and no sync depends on one.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from urllib.parse import quote

from tidegate.interfaces.lake import Lake
from tidegate.interfaces.open_table import OpenTable
from tidegate.interfaces.session import Session
from tidegate.model.records import Watermark, text_of
from tidegate.state.records import Records

PROPERTY = "tidegate.watermark"


class WatermarkMirror(ABC):
    """Keeps a copy of one table's watermark."""

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the copy is, for people. No secrets."""

    @abstractmethod
    def read(self) -> Watermark | None:
        """Return the copy; None where there is none. Raises ValueError for one that cannot be understood."""

    @abstractmethod
    def write(self, watermark: Watermark) -> None:
        """Replace the copy."""


@dataclass(frozen=True)
class FileMirror(WatermarkMirror):
    """A JSON file in the lake: `watermarks/{table}.json`."""

    lake: Lake
    table: str

    @property
    def path(self) -> str:
        return f"watermarks/{quote(self.table, safe='')}.json"

    @property
    def place(self) -> str:
        return f"{self.lake.place}/{self.path}"

    def read_text(self) -> str:
        """Return what the file holds; empty when there is none."""
        return self.lake.read_text(self.path)

    def write_text(self, text: str) -> None:
        self.lake.write_text(self.path, text)

    def read(self) -> Watermark | None:
        return _parsed(self.read_text())

    def write(self, watermark: Watermark) -> None:
        self.write_text(_as_json(watermark))


@dataclass(frozen=True)
class PropertyMirror(WatermarkMirror):
    """A property of a lake table. A lake table that does not exist yet has no copy, and none is written."""

    table: OpenTable
    name: str
    """The table, for people."""
    property_name: str = PROPERTY

    @property
    def place(self) -> str:
        return f"the property {self.property_name} of {self.name}"

    def read_text(self) -> str:
        """Return what the property holds; empty when there is none."""
        return self.table.properties().get(self.property_name, "") if self.table.exists else ""

    def write_text(self, text: str) -> None:
        self.table.set_properties({self.property_name: text})

    def read(self) -> Watermark | None:
        return _parsed(self.read_text())

    def write(self, watermark: Watermark) -> None:
        if self.table.exists:
            self.write_text(_as_json(watermark))


@dataclass(frozen=True)
class TableMirror(WatermarkMirror):
    """A row of Tidegate's own table of watermarks in the target."""

    session: Session
    pipeline: str
    source: str
    column: str

    @property
    def place(self) -> str:
        return f"the table {self.session.database.own_table('watermarks')}"

    def read(self) -> Watermark | None:
        return Records(self.session).watermark(self.pipeline, self.source, self.column)

    def write(self, watermark: Watermark) -> None:
        with self.session.transaction():
            Records(self.session).set_watermark(watermark)


def _as_json(watermark: Watermark) -> str:
    return json.dumps({**asdict(watermark), "watermark_value": text_of(watermark.watermark_value)}, indent=1)


def _parsed(text: str) -> Watermark | None:
    if not text:
        return None
    try:
        return Watermark(**json.loads(text))
    except TypeError as problem:  # JSON, but not that of a watermark
        raise ValueError(str(problem)) from None
