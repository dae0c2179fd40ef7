"""Partition tables: by which column, and what tells of a restatement."""

from __future__ import annotations

from tidegate.model.columns import Column, Shape
from tidegate.model.values import Kind
from tidegate.ops.detection import telling_names as names
from tidegate.ops.detection.keys import best_key, nullable_key
from tidegate.ops.detection.look import Look
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.scd2 import History
from tidegate.ops.detection.telling_names import Choice, choose


def as_partition(look: Look, chosen: Choice, history: History | None) -> Proposal:
    reasons = [look.size]
    reasons += look.native
    if history:
        reasons.append(f"it may be scd2 as well: {history.signs}; a reporting day is believed first")
    settings = (
        Setting("partition_column", chosen.column.name, _about_partition(look, chosen)),
        _restatement(look, chosen.column),
        _row_names(look.shape),
        Setting("initial_load_count", 10, ("the first run takes the newest ten values and sets the scope",)),
    )
    return Proposal(look.shape.name, "partition", tuple(reasons), settings)


def _about_partition(look: Look, chosen: Choice) -> tuple[str, ...]:
    column, indexed = chosen.column, look.shape.indexed(chosen.column.name)
    what = "reporting day" if names.is_called(column, names.DAYS) else "day or period"
    why = [f"{column.name} ({column.type}) is a usual name for a {what}{'; an index starts with it' * indexed}"]
    why += chosen.before
    if not indexed:
        why.append(f"risk: no index starts with {column.name}: planning scans the table")
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: rows without it are counted and not copied")
    if look.kind_of(column) is Kind.TIMESTAMP:
        why.append(f"risk: {column.name} has a time of day: every time is a value of its own")
    if look.kind_of(column) is Kind.TEXT:
        why.append(f"risk: {column.name} is text: the newest values are the last ones by spelling")
    return tuple(why)


def _restatement(look: Look, partition: Column) -> Setting:
    wanted = tuple(dict.fromkeys((*names.LOADS, *names.CHANGES, *names.ROW_VERSIONS, *names.ARRIVALS)))
    chosen = choose(look.shape, wanted, lambda one: one != partition and look.tells_of_loads(one))
    if chosen is None:
        other = choose(look.shape, names.LOADS + names.CHANGES, lambda one: one != partition)
        but = f" ({other.column.name} is {other.column.type}, which need not grow)" if other else ""
        risk = f"risk: no column tells of restatements{but}: only counts are watched"
        return Setting("restatement_column", None, (risk,))
    return Setting("restatement_column", chosen.column.name, _about_restatement(look, partition, chosen))


def _about_restatement(look: Look, partition: Column, chosen: Choice) -> tuple[str, ...]:
    column = chosen.column
    why = [f"{column.name} ({column.type}) tells of a restatement even when the row count stays", *chosen.before]
    if names.is_called(column, names.ARRIVALS):
        why.append(f"risk: {column.name} moves when rows are inserted, not when they are updated")
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: rows without it are watched by their count alone")
    if look.kind_of(column) is Kind.DATE:
        why.append(f"risk: {column.name} has no time of day: a second restatement on one day goes unseen")
    leading = [index for index in (look.shape.primary_key, *look.shape.indexes) if index[:1] == (partition.name,)]
    if leading and not any(column.name in index for index in leading):
        why.append(f"risk: no index holds {partition.name} and {column.name}: planning reads rows of the look-back")
    return tuple(why)


def _row_names(shape: Shape) -> Setting:
    """`keys` of a partition table. The primary key is the default, so it is not repeated."""
    key = best_key(shape)
    if key is None:
        cost = "risk: no key: findings name a row by its first columns, which several rows may share"
        return Setting("keys", None, (*nullable_key(shape), cost))
    if key.is_primary:
        return Setting("keys", None, (f"keys: findings name a row by the primary key, {key}",))
    return Setting("keys", key.columns, (f"no primary key: {key} is unique and never null", *key.before))
