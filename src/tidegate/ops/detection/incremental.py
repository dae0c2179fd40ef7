"""Propose settings of an incremental table: by the time of the last change, or by a number that grows."""

from __future__ import annotations

from dataclasses import replace

from tidegate.model.columns import Column
from tidegate.model.values import ValueKind
from tidegate.ops.detection import column_names as names
from tidegate.ops.detection.column_names import Choice, choose
from tidegate.ops.detection.keys import Key, best_key
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.typed_schema import TypedSchema

NO_DELETES = (
    "risk: rows that the source deletes stay in the target; `deletes: key_compare` compares all keys in each run"
)


def propose_incremental(table: TypedSchema, reasons: list[str]) -> Proposal | None:
    """Return the proposal for a table that is too large to compare as a whole; None where nothing tells a change."""
    key, changed = best_key(table.schema), choose(table.schema, names.CHANGES, table.is_time)
    if key is None:
        return None
    if changed is not None:
        return _by_time(table, key, changed, reasons, f"{changed.column.name} tells when a row changed")
    by_server = next((column for column in _indexed_times(table) if column.name in table.server_sets), None)
    if by_server is not None:
        why = f"the server sets {by_server.name} at every change of a row; an index starts with it"
        return _by_time(table, key, Choice(by_server), reasons, why)
    number = table.schema.exact_column(key.columns[0])
    if len(key.columns) == 1 and number is not None and number.identity:
        return _by_number(table, key, reasons)
    return None


def propose_by_index(table: TypedSchema) -> Proposal | None:
    """Return a proposal by a time that an index starts with, for the user to judge; None where there is no such time.

    The catalog does not say whether an update moves the column, as it moves `touched` and not `ordered_at`."""
    key, column = best_key(table.schema), next(iter(_indexed_times(table)), None)
    if key is None or column is None:
        return None
    why = f"an index starts with {column.name}; risk: where an update does not move it, the target keeps the old row"
    proposal = _by_time(table, key, Choice(column), [table.size], why)
    return replace(
        proposal, missing=f"`timestamp_column`, once you know that every update of a row moves {column.name}"
    )


def _indexed_times(table: TypedSchema) -> list[Column]:
    """Return the times that an index starts with and that every row has."""
    return [
        column
        for column in table.schema.columns
        if table.is_time(column) and not column.nullable and table.schema.has_index_on(column.name)
    ]


def _by_time(table: TypedSchema, key: Key, changed: Choice, reasons: list[str], why: str) -> Proposal:
    column = changed.column
    about = [why, *changed.preference]
    if not table.schema.has_index_on(column.name):
        about.append("risk: no index starts with it: every run scans the table")
    if column.nullable:
        about.append("risk: it may be null: such rows are refused, unless `null_cursor` says otherwise")
    settings = [Setting("timestamp_column", column.name, tuple(about))]
    by_id = len(key.columns) == 1 and _is_number(table, key.columns[0])
    if by_id:
        settings.insert(0, Setting("changes", "hybrid", (f"rows of an equal time are ordered by {key}",)))
        settings.append(Setting("id_column", key.columns[0]))
    else:
        settings.insert(0, Setting("changes", "timestamp"))
    settings.append(Setting("keys", key.columns, (f"{key} is {key.origin}", *key.preference, NO_DELETES)))
    return Proposal(table.schema.name, "incremental", (*reasons, "only rows that changed are read"), tuple(settings))


def _by_number(table: TypedSchema, key: Key, reasons: list[str]) -> Proposal:
    why = f"{key} is {key.origin}, and the server numbers it"
    risk = "risk: rows that are updated are not read again: no column tells when a row changed"
    settings = (
        Setting("changes", "sequence"),
        Setting("sequence_column", key.columns[0], (why,)),
        Setting("load", "append", (risk,)),
    )
    return Proposal(table.schema.name, "incremental", (*reasons, "only new rows are read"), settings)


def _is_number(table: TypedSchema, name: str) -> bool:
    column: Column | None = table.schema.exact_column(name)
    return column is not None and table.kind_of(column) in (ValueKind.INTEGER, ValueKind.DECIMAL)
