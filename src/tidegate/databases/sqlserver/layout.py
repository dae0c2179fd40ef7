"""How the server itself lays out a partitioned table: its function, its last partition, and what is not aligned.

Facts that shape this file
 * A function divides by boundaries. Of RANGE RIGHT a boundary is the first value of the partition after it, of RANGE
   LEFT the last one of the partition before it. The last partition has no end: without a new boundary it takes every
   new value, and once it has rows it can no longer be split cheaply.
 * Boundaries are a sql_variant; style 126 writes those of days and moments in full.
 * An index on another function, or on none, keeps partitions from being switched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tidegate.model.names import counted
from tidegate.sql.text import Literal, Sql, sql

_FUNCTIONS = """
SELECT i.object_id, pf.name, pf.boundary_value_on_right, pf.fanout, c.name, CONVERT(nvarchar(4000), v.value, 126),
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
_NOT_ALIGNED = """
SELECT i.object_id, i.name
FROM sys.indexes AS i
JOIN sys.indexes AS base ON base.object_id = i.object_id AND base.index_id IN (0, 1)
JOIN sys.partition_schemes AS on_base ON on_base.data_space_id = base.data_space_id
LEFT JOIN sys.partition_schemes AS ps ON ps.data_space_id = i.data_space_id
WHERE i.object_id IN ({tables}) AND i.index_id > 1 AND i.is_disabled = 0
  AND (ps.function_id IS NULL OR ps.function_id <> on_base.function_id)
ORDER BY i.object_id, i.index_id
"""


def questions(tables: Iterable[int]) -> list[Sql]:
    numbers = [Literal(number) for number in sorted(tables)]
    return [sql(text.strip(), tables=numbers) for text in (_FUNCTIONS, _NOT_ALIGNED)]


def remarks(functions: Sequence[Any], not_aligned: Sequence[Any]) -> dict[int, tuple[str, ...]]:
    """For each table what a person should know of it."""
    return {
        number: (
            _told(name, bool(is_right), int(partitions), column, last, int(rows or 0), compression),
            *(
                f"its index {index} is not aligned with its partitions"
                for table, index in not_aligned
                if table == number
            ),
        )
        for number, name, is_right, partitions, column, last, rows, compression in functions
    }


def _told(
    name: str, is_right: bool, partitions: int, column: str, last: str | None, rows: int, compression: str | None
) -> str:
    side = "RIGHT" if is_right else "LEFT"
    told = f"its server partitions it by {name} (RANGE {side} of {column}, {counted(partitions, 'partition')})"
    if last is None:
        return told
    rest = f"from {last} on" if is_right else f"after {last}"
    packed = f", compressed by {compression}" if compression not in (None, "NONE") else ""
    return f"{told}, the last of which takes all {rest} and has about {counted(rows, 'row')}{packed}"
