"""The distinct values of one column, read from either side."""

from __future__ import annotations

from tidegate.errors import MissingObject, Unsupported
from tidegate.interfaces.database import Database
from tidegate.model.names import TableName
from tidegate.model.values import Value

MOST_VALUES = 1_000_000


def distinct_values(database: Database, table: TableName, column: str) -> list[Value]:
    """Return the values in order, without null; none when there is no such table. Raises MissingObject for a column
    that the table does not have, and Unsupported for one that has no order."""
    name = table.within(database.default_schema)
    with database.connect("inspect", read_only=True) as session:
        schema = session.table_schemas([name]).get(name)
        if schema is None:
            return []
        found = schema.column(column)
        if found is None:
            raise MissingObject(f"{name} has no column {column}.", "Nothing was read.", "Name a column of the table.")
        kind = database.value_kind(found)
        if kind is None:
            text = f"{found.name} of {name} is {found.type}, whose values have no order."
            raise Unsupported(text, "Nothing was read.")
        indexed = schema.has_index_on(found.name)
        texts = session.partition_values(schema.name, found, indexed=indexed, limit=MOST_VALUES)
    return sorted(Value.of(text, kind) for text in texts)
