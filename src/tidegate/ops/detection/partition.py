"""Propose settings of a partition table: its partition column, and the column that shows a restatement."""

from __future__ import annotations

from tidegate.model.columns import Column, TableSchema
from tidegate.model.values import ValueKind
from tidegate.ops.detection import column_names as names
from tidegate.ops.detection.column_names import Choice, choose
from tidegate.ops.detection.keys import best_key, nullable_key
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.scd2 import History
from tidegate.ops.detection.typed_schema import TypedSchema

_FIRST_RUN = "the first run copies every value; with 10 it would take the newest ten and leave the older ones out"

_NULLS = "the column may be null: rows without a value are copied, too, as one window"


def propose_partition(table: TypedSchema, chosen: Choice, history: History | None) -> Proposal:
    reasons = [table.size]
    reasons += table.native
    if history:
        reasons.append(f"it could also be scd2: {history.signs}; a reporting day takes precedence")
    settings = (
        Setting("partition_column", chosen.column.name, _about_partition(table, chosen)),
        _restatement(table, chosen.column),
        _keys(table.schema),
        Setting("initial_load_count", "all", (_FIRST_RUN,)),
        *([Setting("values", {"nulls": "load"}, (_NULLS,))] if chosen.column.nullable else []),
    )
    return Proposal(table.schema.name, "partition", tuple(reasons), settings)


def _about_partition(table: TypedSchema, chosen: Choice) -> tuple[str, ...]:
    column, indexed = chosen.column, table.schema.has_index_on(chosen.column.name)
    what = "reporting day" if names.is_called(column, names.DAYS) else "day or period"
    why = [f"{column.name} ({column.type}) is a usual name for a {what}{'; an index starts with it' * indexed}"]
    why += chosen.preference
    if not indexed:
        why.append(f"risk: no index starts with {column.name}: planning scans the table")
    if table.kind_of(column) is ValueKind.TIMESTAMP:
        why.append(f"risk: {column.name} has a time of day: each time becomes a partition value")
    if table.kind_of(column) is ValueKind.TEXT:
        why.append(f"risk: {column.name} is text: the newest value is the last one in text order")
    return tuple(why)


def _restatement(table: TypedSchema, partition: Column) -> Setting:
    wanted = tuple(dict.fromkeys((*names.LOADS, *names.CHANGES, *names.ROW_VERSIONS, *names.ARRIVALS)))
    chosen = choose(table.schema, wanted, lambda column: column != partition and table.grows_with_loads(column))
    if chosen is None:
        other = choose(table.schema, names.LOADS + names.CHANGES, lambda column: column != partition)
        but = f" ({other.column.name} is {other.column.type}, which need not grow)" if other else ""
        risk = f"risk: no column shows restatements{but}: only row counts are compared"
        return Setting("restatement_column", None, (risk,))
    return Setting("restatement_column", chosen.column.name, _about_restatement(table, partition, chosen))


def _about_restatement(table: TypedSchema, partition: Column, chosen: Choice) -> tuple[str, ...]:
    column = chosen.column
    why = [
        f"{column.name} ({column.type}) shows a restatement even when the row count is the same",
        *chosen.preference,
    ]
    if names.is_called(column, names.ARRIVALS):
        why.append(f"risk: {column.name} changes when rows are inserted, not when they are updated")
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: rows without it are only counted")
    if table.kind_of(column) is ValueKind.DATE:
        why.append(f"risk: {column.name} has no time of day: a second restatement on the same day is not noticed")
    leading = [index for index in (table.schema.primary_key, *table.schema.indexes) if index[:1] == (partition.name,)]
    if leading and not any(column.name in index for index in leading):
        why.append(
            f"risk: no index contains {partition.name} and {column.name}: planning reads the rows of the look-back"
        )
    return tuple(why)


def _keys(schema: TableSchema) -> Setting:
    """Return the setting `keys`. The primary key is the default, so it is not written."""
    key = best_key(schema)
    if key is None:
        cost = "risk: no key: findings name a row by its first columns, which several rows may share"
        return Setting("keys", None, (*nullable_key(schema), cost))
    if key.is_primary:
        return Setting("keys", None, (f"keys: findings name a row by the primary key, {key}",))
    return Setting("keys", key.columns, (f"no primary key: {key} is unique and never null", *key.preference))
