"""Propose settings of a table from its schema: its kind, its keys, and the columns that show a change.

Two questions read rows: whether a proposed business key has several current rows (`current_rows.py`), and whether rows
have no value in a nullable column that would divide them (`null_values.py`). So a source with ten thousand tables costs
one read of its catalog, and a count for some of them. Every proposed setting has its reason, and the risk that it
accepts.

| what the schema shows                                            | kind                                              |
| ---------------------------------------------------------------- | ------------------------------------------------- |
| a reporting day                                                  | partition                                         |
| a cursor and a flag, or a cursor and two lesser signs of history | scd2                                              |
| a period, a load date                                            | partition                                         |
| few rows                                                         | static                                            |
| a key, and a time of the last change (by name, or by an index    | incremental                                       |
| and the server setting it) or an identity                        |                                                   |
| anything else                                                    | none: it is too large to compare as a whole       |
"""

from __future__ import annotations

from tidegate.model.columns import TableSchema
from tidegate.ops.detection import column_names as names
from tidegate.ops.detection.column_names import choose
from tidegate.ops.detection.incremental import propose_by_index, propose_incremental
from tidegate.ops.detection.partition import propose_partition
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.scd2 import find_history, propose_scd2
from tidegate.ops.detection.static import propose_nothing, propose_static
from tidegate.ops.detection.typed_schema import MOST_STATIC_ROWS, KindOf, TypedSchema

__all__ = ["MOST_STATIC_ROWS", "Proposal", "Setting", "compare_as_a_whole", "detect", "possible_by_index"]


def detect(
    schema: TableSchema,
    kind_of: KindOf,
    without: frozenset[str] = frozenset(),
    server_sets: frozenset[str] = frozenset(),
) -> Proposal:
    """Return the proposal for a table. `kind_of` gives how the database orders a column; None when it does not.

    Columns in `without` do not divide the table. The server sets those in `server_sets` at every change of a row."""
    if not schema.readable or not schema.columns:
        reason = "it has no columns" if schema.readable else "the login may see it, but not its rows"
        return Proposal(schema.name, "", (reason,))
    table = TypedSchema(schema, kind_of, without, server_sets)
    history = find_history(table)
    day = choose(schema, names.DAYS, table.can_partition)
    period = choose(schema, names.PERIODS, table.can_partition)
    chosen = day or (None if history or table.is_tiny else period)
    if chosen:
        return propose_partition(table, chosen, history)
    if history:
        return propose_scd2(table, history, period)
    if table.is_small:
        return propose_static(table)
    return propose_incremental(table, [*table.native, table.size]) or propose_nothing(table)


def possible_by_index(schema: TableSchema, kind_of: KindOf) -> Proposal | None:
    """Return the proposal to read what changed by an indexed time, which the user has to confirm; None without one."""
    return propose_by_index(TypedSchema(schema, kind_of))


def compare_as_a_whole(schema: TableSchema, kind_of: KindOf) -> Proposal:
    """Return the proposal that fits every table: all rows of both sides are read and compared."""
    return propose_static(TypedSchema(schema, kind_of))
