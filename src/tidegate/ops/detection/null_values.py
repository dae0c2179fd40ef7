"""Check with the rows of the source whether every row has a value in the column that would divide the table.

A row without a cursor belongs to no window: it would never be copied. Rows without a partition value are a window of
their own (`values: {nulls: load}`).
"""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import DatabaseError
from tidegate.interfaces import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import pluralize
from tidegate.ops.detection import detect
from tidegate.ops.detection.proposed import Proposal
from tidegate.ops.detection.typed_schema import KindOf
from tidegate.sql.partitions import count_nulls

_DIVIDES = ("cursor_column", "timestamp_column")


def detect_by_rows(schema: TableSchema, kind_of: KindOf, session: Session) -> Proposal:
    """Return a proposal that copies every row. One that would leave rows out becomes a comment with its price."""
    others: list[Proposal] = []
    without: frozenset[str] = frozenset()
    proposal = _detect(schema, kind_of, without, session)
    while (column := _nullable_divisor(proposal, schema)) is not None:
        rows = _rows_without(session, schema, column)
        if not rows:
            break
        others.append(replace(proposal, missing=_price(column, rows)))
        without |= {column.name}
        proposal = _detect(schema, kind_of, without, session)
    return replace(proposal, instead=others[0]) if others else proposal


def _detect(schema: TableSchema, kind_of: KindOf, without: frozenset[str], session: Session) -> Proposal:
    """Return the proposal by names. A large table that none fits is one more question to the catalog."""
    proposal = detect(schema, kind_of, without)
    if proposal.kind or not schema.readable:
        return proposal
    return detect(schema, kind_of, without, session.columns_set_at_changes(schema.name))


def _nullable_divisor(proposal: Proposal, schema: TableSchema) -> Column | None:
    """Return the column that divides the rows, where it may be null."""
    named = {str(setting.value) for setting in proposal.settings if setting.name in _DIVIDES}
    return next((column for column in schema.columns if column.name in named and column.nullable), None)


def _rows_without(session: Session, schema: TableSchema, column: Column) -> int:
    """Return 0 where the source does not answer: the proposal names the risk."""
    try:
        return int(str(session.query(count_nulls(schema.name, column))[0][0]))
    except DatabaseError:
        return 0


def _price(column: Column, rows: int) -> str:
    without = f"{pluralize(rows, 'row')} of the source without {column.name}"
    return f"a value of {column.name} in every row: {without} would not be copied"
