"""Which rows of a table are new: those after a watermark, by one column or by a pair of timestamp and id."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

from tidegate.errors import ConfigError, MissingObject
from tidegate.interfaces.session import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import TableName
from tidegate.model.values import Value, ValueKind
from tidegate.sql.cursors import between, is_after_pair, is_greater
from tidegate.sql.text import Sql

UNTOUCHED = "Nothing was read."
_OFFSET = re.compile(r"(Z|[+-]\d\d:?\d\d)$")


@dataclass(frozen=True)
class Window:
    """What is read: rows after `after`, by these columns."""

    columns: tuple[str, ...] = ()
    after: Any = None
    """One value, or one for each column; None means all rows."""
    inclusive: bool = False
    look_back: int = 0
    """Seconds of a timestamp or units of a number that are read once more before the watermark."""
    timezone: str | None = None
    """The zone of timestamps that have none: of the column, where the watermark has an offset, or the other way."""


def found_table(session: Session, table: str) -> TableSchema:
    """Return the table. Raises MissingObject."""
    name = TableName.parse(table).within(session.database.default_schema)
    schema = session.table_schemas([name]).get(name)
    if schema is None:
        raise MissingObject(f"There is no table {name}, or this login may not see it.", UNTOUCHED, "Check its name.")
    return schema


def column_of(schema: TableSchema, name: str) -> Column:
    """Return a column. Raises ConfigError."""
    column = schema.column(name)
    if column is None:
        names = ", ".join(column.name for column in schema.columns)
        raise ConfigError(f"{schema.name} has no column {name}.", UNTOUCHED, f"Its columns: {names}.")
    return column


def condition(session: Session, schema: TableSchema, window: Window) -> Sql | None:
    """Return the condition for the rows of a window; None for all rows."""
    if window.after is None or not window.columns:
        return None
    columns = [column_of(schema, name) for name in window.columns]
    given = window.after if isinstance(window.after, (tuple, list)) else (window.after,)
    values = [
        cursor_value(session, column, part, window.timezone) for column, part in zip(columns, given, strict=False)
    ]
    first, is_cut = values[0]
    if window.look_back:
        return between(columns[0], first.minus(window.look_back), None)
    if len(values) > 1:
        return is_after_pair(columns[0], columns[1], first, values[1][0], inclusive=window.inclusive)
    if window.inclusive or is_cut:
        return between(columns[0], first, None)
    return is_greater(columns[0], first)


def cursor_value(session: Session, column: Column, given: Any, timezone: str | None) -> tuple[Value, bool]:
    """Return a watermark as a value of its column, and whether it was cut to a date: then its day is read again."""
    kind = session.database.value_kind(column)
    if kind is None:
        raise ConfigError(
            f"Column {column.name} is {column.type}, which has no order to read by.",
            UNTOUCHED,
            "Name a timestamp, a date or a number.",
        )
    text = given.isoformat() if isinstance(given, (datetime, date)) else str(given)
    if kind not in (ValueKind.TIMESTAMP, ValueKind.DATE):
        return _value(column, text, kind), False
    moment = _in_zone_of(column, text, timezone)
    if kind is ValueKind.DATE and len(moment) > len("2024-01-31"):
        return _value(column, moment[:10], kind), True
    return _value(column, moment, kind), False


def _value(column: Column, text: str, kind: ValueKind) -> Value:
    try:
        return Value.of(text, kind)
    except ValueError as problem:
        raise ConfigError(f"The watermark {problem}; column {column.name} is {column.type}.", UNTOUCHED) from None


def _in_zone_of(column: Column, text: str, timezone: str | None) -> str:
    """Return a timestamp on the clock of its column: in UTC for instants, without a zone for others."""
    is_instant = column.logical_type.family in ("instant", "zoned")
    offset = _OFFSET.search(text[10:])
    if offset is None and not (is_instant and timezone):
        return text
    moment = datetime.fromisoformat(text)
    if offset is None:
        moment = moment.replace(tzinfo=ZoneInfo(str(timezone)))
    if is_instant:
        return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ")
    if timezone is None:
        raise ConfigError(
            f"The watermark {text} has a time zone, and column {column.name} has none.",
            UNTOUCHED,
            "Say in which zone the column is: `timezone: Europe/Zurich`, for instance.",
        )
    return moment.astimezone(ZoneInfo(timezone)).replace(tzinfo=None).isoformat(" ")


def chosen(schema: TableSchema, names: Sequence[str] | None) -> tuple[Column, ...]:
    """Return the columns that are read: these, or all."""
    if names is None:
        return schema.columns
    return tuple(column_of(schema, name) for name in names)
