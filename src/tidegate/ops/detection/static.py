"""Propose settings of a static table, or none for a table that is too large to compare as a whole."""

from __future__ import annotations

from tidegate.model.columns import Column
from tidegate.ops.detection import column_names as names
from tidegate.ops.detection.column_names import choose
from tidegate.ops.detection.keys import best_key, nullable_key
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.typed_schema import TypedSchema, can_be_flag


def propose_static(table: TypedSchema) -> Proposal:
    assumption = ", assumed to be small" if table.is_small and table.schema.row_estimate <= 0 else ""
    cost = "" if table.is_small else ": every run reads all rows of both sides"
    size = f"{table.size}{assumption}: compared as a whole{cost}"
    reasons = (size, *_not_a_partition(table), *_not_a_history(table))
    key = best_key(table.schema)
    if key is None:
        cost = "risk: no key: a change replaces the whole table, and findings name no row"
        settings = [Setting("merge_strategy", "replace", (*nullable_key(table.schema), cost))]
        return Proposal(table.schema.name, "static", reasons, tuple(settings))
    settings = [
        Setting("primary_keys", key.columns, (f"{key} is {key.origin}", *key.preference)),
        Setting("merge_strategy", "upsert", ("risk: rows that the source deletes stay in the target",)),
    ]
    return Proposal(table.schema.name, "static", reasons, tuple(settings))


def propose_nothing(table: TypedSchema) -> Proposal:
    reasons = [*table.native, f"{table.size}: assumed too large to compare as a whole"]
    reasons += _not_a_partition(table) or ["no partition column was recognised"]
    reasons += _not_a_history(table) or ["no flag or end date of versions was recognised"]
    return Proposal(table.schema.name, "", (*reasons, "no key with a time of the last change was recognised"))


def _not_a_partition(table: TypedSchema) -> list[str]:
    """Return why a column with the name of a partition column is not one; empty when there is no such column."""
    candidate = choose(table.schema, names.DAYS + names.PERIODS, lambda column: True)
    if candidate is None:
        return []
    return [f"{candidate.column.name} is not a partition column: {_why_no_partition(table, candidate.column)}"]


def _why_no_partition(table: TypedSchema, column: Column) -> str:
    if table.is_unique_alone(column):
        return "one row per value"
    if not table.can_partition(column):
        return f"type {column.type}"
    return "rows may have no value there" if column.nullable else "too few rows to divide them"


def _not_a_history(table: TypedSchema) -> list[str]:
    """Return why a table with a flag is not a table of versions; empty when it has no flag."""
    flag = choose(table.schema, names.FLAGS, can_be_flag)
    return [f"{flag.column.name} flags the current version, but no column has the time of change"] if flag else []
