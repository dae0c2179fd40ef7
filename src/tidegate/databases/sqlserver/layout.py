"""How the server partitions a table: the partition function, the last partition, and indexes that are not aligned.

Facts that shape this file
 * With RANGE RIGHT a boundary is the first value of the partition after it, with RANGE LEFT the last value of the
   partition before it. The last partition has no end: without a new boundary it takes every new value, and with rows
   in it, it can no longer be split cheaply.
 * Boundaries are a sql_variant. Each type inside needs its own style: 126 for dates and times, 3 for floats, 2 for
   money, 1 for bytes. A boundary may be null.
 * An index on another partition function or column, or on none, prevents SWITCH PARTITION.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.model.names import pluralize
from tidegate.sql.text import Literal, Name, Sql, sql

_FUNCTIONS = """
SELECT i.object_id, pf.name, pf.boundary_value_on_right, pf.fanout, c.name, {last},
       p.rows, p.data_compression_desc
FROM sys.indexes AS i
JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
JOIN sys.partition_functions AS pf ON pf.function_id = ps.function_id
JOIN sys.index_columns AS ic
  ON ic.object_id = i.object_id AND ic.index_id = i.index_id AND ic.partition_ordinal = 1
JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
LEFT JOIN sys.partitions AS p
  ON p.object_id = i.object_id AND p.index_id = i.index_id AND p.partition_number = pf.fanout
LEFT JOIN sys.partition_range_values AS v ON v.function_id = pf.function_id AND v.boundary_id = pf.fanout - 1
WHERE i.object_id IN ({tables}) AND i.index_id IN (0, 1)
"""
_BOUND = """
CASE WHEN {boundary} IS NOT NULL AND {value} IS NULL THEN N'(null)'
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, 'BaseType')) IN (N'binary', N'varbinary')
     THEN CONVERT(nvarchar(4000), CONVERT(varbinary(2000), {value}), 1)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, 'BaseType')) IN (N'float', N'real')
     THEN CONVERT(nvarchar(60), CONVERT(float, {value}), 3)
     WHEN CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY({value}, 'BaseType')) IN (N'money', N'smallmoney')
     THEN CONVERT(nvarchar(60), CONVERT(money, {value}), 2)
     ELSE CONVERT(nvarchar(4000), {value}, 126) END
"""
NOT_ALIGNED = """
SELECT i.name, s.name, i.object_id
FROM sys.indexes AS i
JOIN sys.data_spaces AS s ON s.data_space_id = i.data_space_id
JOIN sys.indexes AS base ON base.object_id = i.object_id AND base.index_id IN (0, 1)
JOIN sys.partition_schemes AS on_base ON on_base.data_space_id = base.data_space_id
LEFT JOIN sys.index_columns AS by_base
  ON by_base.object_id = base.object_id AND by_base.index_id = base.index_id AND by_base.partition_ordinal = 1
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
LEFT JOIN sys.index_columns AS by_own
  ON by_own.object_id = i.object_id AND by_own.index_id = i.index_id AND by_own.partition_ordinal = 1
WHERE i.object_id IN ({tables}) AND i.index_id > 1 AND i.is_disabled = 0 AND i.is_hypothetical = 0
  AND (ps.function_id IS NULL OR ps.function_id <> on_base.function_id OR by_own.column_id <> by_base.column_id)
ORDER BY i.object_id, i.index_id
"""


def questions(tables: Iterable[int]) -> list[Sql]:
    numbers = [Literal(number) for number in sorted(tables)]
    return [sql(_FUNCTIONS.strip(), last=bound("v"), tables=numbers), sql(NOT_ALIGNED.strip(), tables=numbers)]


def bound(values: str) -> Sql:
    """Return a boundary of `sys.partition_range_values`, under this alias, as text."""
    return sql(_BOUND.strip(), value=Name((values, "value")), boundary=Name((values, "boundary_id")))


def notes(functions: Sequence[Any], not_aligned: Sequence[Any]) -> dict[int, tuple[str, ...]]:
    """Return the notes on partitioning, by object_id of the table."""
    return {
        number: (
            _partitioning(name, bool(is_right), int(partitions), column, last, int(rows or 0), compression),
            *(
                f"its index {index} is not aligned with its partitions"
                for index, _, table in not_aligned
                if table == number
            ),
        )
        for number, name, is_right, partitions, column, last, rows, compression in functions
    }


def _partitioning(
    name: str, is_right: bool, partitions: int, column: str, last: str | None, rows: int, compression: str | None
) -> str:
    side = "RIGHT" if is_right else "LEFT"
    note = f"the server partitions it by {name} (RANGE {side} of {column}, {pluralize(partitions, 'partition')})"
    if last is None:
        return note
    rest = f"from {last} on" if is_right else f"after {last}"
    compressed = f", compressed by {compression}" if compression not in (None, "NONE") else ""
    return f"{note}, the last of which takes all {rest} and has about {pluralize(rows, 'row')}{compressed}"
