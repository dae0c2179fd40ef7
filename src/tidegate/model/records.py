"""Values of Tidegate's own tables: a watermark, the metrics of a load, a gap."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from numbers import Integral
from typing import Any


@dataclass(frozen=True)
class Watermark:
    """How far a source was loaded, by one of its columns."""

    pipeline_id: str
    source_id: str
    watermark_column: str
    watermark_value: Any
    """As it was given: a text, a number, a date or a timestamp; a pair for timestamp and id; None after a reset."""
    strategy: str = "timestamp"
    updated_at: str = ""
    updated_by: str = ""
    reason: str | None = None
    """Why it was set by hand; None for a watermark that a load moved."""
    load_id: str | None = None


@dataclass(frozen=True)
class LoadMetrics:
    """What one load did."""

    load_id: str
    target_table: str = ""
    load_type: str = ""
    strategy: str = ""
    pipeline_id: str = ""
    source_id: str = ""
    watermark_column: str | None = None
    watermark_before: str | None = None
    watermark_after: str | None = None
    records_extracted: int = 0
    records_written: int = 0
    """Rows that were inserted or updated."""
    records_inserted: int | None = 0
    """None, as the counts below, where a load only knows how many rows it wrote."""
    records_updated: int | None = 0
    records_deleted: int | None = 0
    records_unchanged: int | None = 0
    duplicates_removed: int = 0
    late_records: int = 0
    milliseconds: int = 0
    status: str = "done"
    finished_at: str = ""


@dataclass(frozen=True)
class Gap:
    """A range of values that is missing in a stream. `status` is `open`, `harmless` or `settled`."""

    gap_type: str
    """`sequence`, `day` or `window`."""
    first_missing: str
    last_missing: str
    missing_count: int | None = None
    status: str = "open"
    reason: str | None = None


def type_of(value: Any) -> str:
    """Return the word under which `text_of` keeps a value of this type."""
    match value:
        case None:
            return "none"
        case bool():
            raise TypeError("a truth value is no watermark")
        case Integral():  # also numpy's, such as the maximum of a column
            return "integer"
        case Decimal():
            return "decimal"
        case float():
            return "float"
        case datetime():
            return "timestamp"
        case date():
            return "date"
        case tuple() | list():
            return "pair"
    return "text"


def text_of(value: Any) -> str | None:
    """Return the text that `value_of` reads as the same value."""
    match value:
        case None:
            return None
        case datetime() | date():
            return value.isoformat()
        case tuple() | list():
            return json.dumps([[type_of(part), text_of(part)] for part in value])
    return str(value)


def value_of(text: str | None, kind: str) -> Any:
    """Return the value that a text of this type means."""
    if text is None:
        return None
    match kind:
        case "integer":
            return int(text)
        case "decimal":
            return Decimal(text)
        case "float":
            return float(text)
        case "timestamp":
            return datetime.fromisoformat(text)
        case "date":
            return date.fromisoformat(text)
        case "pair":
            return tuple(value_of(part, of) for of, part in json.loads(text))
    return text
