"""Turn Spark's filters into conditions of the source."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tidegate.interfaces.database import Database
from tidegate.interfaces.requests import ReadRequest
from tidegate.model.columns import Column
from tidegate.model.values import Value, ValueKind
from tidegate.sql.text import Literal, Name, Sql, sql

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_OPERATORS = {
    "EqualTo": "{column} = {value}",
    "GreaterThan": "{column} > {value}",
    "GreaterThanOrEqual": "{column} >= {value}",
    "LessThan": "{column} < {value}",
    "LessThanOrEqual": "{column} <= {value}",
}
_ORDERED = ("int16", "int32", "int64", "date", "timestamp", "timestamptz")
_KINDS = {
    "date": ValueKind.DATE,
    "timestamp": ValueKind.TIMESTAMP,
    "timestamptz": ValueKind.TIMESTAMP,
}


@dataclass(frozen=True)
class Pushed:
    """A condition for at least the rows that a filter lets through."""

    rows: Sql
    is_exact: bool
    """It lets through the same rows: Spark need not apply the filter again."""


def condition_of(given: Filter, request: ReadRequest, database: Database) -> Pushed | None:
    """Return the condition of a filter; None where the source could leave out a row that the filter lets through."""
    column = _column(given, request)
    if column is None:
        return None
    name, kind = Name.of(column.name), type(given).__name__
    if kind == "IsNull":
        return Pushed(sql("{column} IS NULL", column=name), is_exact=True)
    if kind == "IsNotNull":
        return Pushed(sql("{column} IS NOT NULL", column=name), is_exact=True)
    is_text = _is_text(column, database)
    if not is_text and not _is_ordered(column):
        return None
    if kind == "In":
        texts = [_text_of(column, value) for value in getattr(given, "value", ()) if value is not None]
        if not texts or None in texts:
            return None
        values = [Literal(text, column.type) for text in texts if text is not None]
        return Pushed(sql("{column} IN ({values})", column=name, values=values), is_exact=not is_text)
    # A server orders texts by their collation, Spark by their bytes.
    if kind not in _OPERATORS or (is_text and kind != "EqualTo"):
        return None
    text = _text_of(column, getattr(given, "value", None))
    if text is None:
        return None
    return Pushed(sql(_OPERATORS[kind], column=name, value=Literal(text, column.type)), is_exact=not is_text)


def _column(given: Any, request: ReadRequest) -> Column | None:
    """Return the column that a filter is about; None where it has no single one, or comes as text."""
    attribute = getattr(given, "attribute", None)
    if not attribute or len(attribute) != 1 or attribute[0] in request.text_columns:
        return None
    return next((column for column in request.columns if column.name == attribute[0]), None)


def _is_ordered(column: Column) -> bool:
    return column.storage_type in _ORDERED or column.storage_type.startswith("decimal(")


def _is_text(column: Column, database: Database) -> bool:
    return column.storage_type == "string" and database.value_kind(column) is ValueKind.TEXT


def _text_of(column: Column, value: Any) -> str | None:
    """Return a value as the text of a literal; None where its type is not that of the column."""
    if column.storage_type == "string":
        return value if isinstance(value, str) else None
    if isinstance(value, bool) or value is None:
        return None
    if column.storage_type in _KINDS:
        return _moment(column.storage_type, value)
    if isinstance(value, int):
        return str(value)
    return f"{value:f}" if isinstance(value, Decimal) and value.is_finite() else None


def _moment(storage_type: str, value: Any) -> str | None:
    if storage_type == "date":
        is_date = isinstance(value, date) and not isinstance(value, datetime)
        return Value.of(value.isoformat(), ValueKind.DATE).text if is_date else None
    if not isinstance(value, datetime) or (value.tzinfo is None) != (storage_type == "timestamp"):
        return None
    moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    return Value.of(moment.isoformat(" "), ValueKind.TIMESTAMP).text
