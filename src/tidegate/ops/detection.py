"""Detection: of which kind a table is, what names its rows and what tells of a change, decided from its shape alone.

No row is read: looking at a source with ten thousand tables costs its catalog and nothing else. What a catalog
cannot tell is not guessed in silence: every setting has its reason, and the risk that it accepts.

| what the shape shows                                         | kind                                              |
| ------------------------------------------------------------ | ------------------------------------------------- |
| a reporting day                                              | partition                                         |
| a mark and a flag, or a mark and two lesser signs of history | scd2                                              |
| a period, a load date                                        | partition                                         |
| few rows                                                     | static                                            |
| anything else                                                | none: it is too large to be read whole every time |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidegate.model.columns import Column, Shape
from tidegate.model.names import TableName
from tidegate.model.values import Kind
from tidegate.ops import telling_names as names
from tidegate.ops.keys import Key, best_key, keys_of, nullable_key
from tidegate.ops.telling_names import Choice, choose

KindOf: TypeAlias = Callable[[Column], Kind | None]

MOST_STATIC_ROWS = 100_000


@dataclass(frozen=True)
class Setting:
    """One line of the file, and why it says that. Without a value only the reasons are written: it is left out."""

    name: str
    value: str | int | tuple[str, ...] | None
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """One table. Without a kind it is named in the file, with the reasons why it is not copied."""

    table: TableName
    kind: str
    reasons: tuple[str, ...]
    settings: tuple[Setting, ...] = ()

    @property
    def partition_column(self) -> str | None:
        """None when the table is not one that this version runs."""
        found = (setting.value for setting in self.settings if setting.name == "partition_column")
        return next((str(value) for value in found), None)


def detect(shape: Shape, kind_of: KindOf) -> Proposal:
    """`kind_of` is how the database orders the values of a column; None when it does not."""
    if not shape.readable or not shape.columns:
        reason = "it has no columns" if shape.readable else "the login may see it, but not its rows"
        return Proposal(shape.name, "", (reason,))
    look = _Look(shape, kind_of)
    history = _history(look)
    day = choose(shape, names.DAYS, look.may_partition)
    period = choose(shape, names.PERIODS, look.may_partition)
    chosen = day or (None if history else period)
    if chosen:
        return _partition(look, chosen, history)
    if history:
        return _scd2(look, history, period)
    return _static(look) if look.is_small else _none(look)


@dataclass(frozen=True)
class _Look:
    """A shape, and what the types of its columns allow."""

    shape: Shape
    kind_of: KindOf

    def may_partition(self, column: Column) -> bool:
        """A column that is unique by itself has one row per value: that is a calendar, not a partitioned table."""
        return self._has_values(column) and not self.alone_unique(column)

    def alone_unique(self, column: Column) -> bool:
        return (column.name,) in (self.shape.primary_key, *self.shape.unique_keys)

    def _has_values(self, column: Column) -> bool:
        match self.kind_of(column):
            case Kind.INTEGER | Kind.DATE | Kind.TIMESTAMP:
                return True
            case Kind.DECIMAL:
                return column.rests_as.endswith(",0)")
            case Kind.TEXT:
                return column.rests_as == "string"
        return False

    def is_moment(self, column: Column) -> bool:
        return self.kind_of(column) in (Kind.DATE, Kind.TIMESTAMP)

    def tells_of_loads(self, column: Column) -> bool:
        """Whether its greatest value can be relied on to move: that of a text or of a random id cannot."""
        if names.is_called(column, names.ROW_VERSIONS):
            return column.rests_as == "binary" and column.type in ("rowversion", "timestamp")
        return self.kind_of(column) in (Kind.INTEGER, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)

    @property
    def is_small(self) -> bool:
        """Small tables are often never analysed, so no estimate means small; nobody partitions a small one."""
        rows = self.shape.row_estimate
        return 0 < rows <= MOST_STATIC_ROWS or (rows <= 0 and not self.shape.partitioned_by)

    @property
    def size(self) -> str:
        rows = self.shape.row_estimate
        return f"estimated {rows:,} rows" if rows > 0 else "no row estimate (empty, or never analysed)"


# Partition


def _partition(look: _Look, chosen: Choice, history: _History | None) -> Proposal:
    reasons = [look.size]
    reasons += _native(look.shape)
    if history:
        reasons.append(f"it may be scd2 as well: {history.signs}; a reporting day is believed first")
    settings = (
        Setting("partition_column", chosen.column.name, _about_partition(look, chosen)),
        _restatement(look, chosen.column),
        _row_names(look.shape),
        Setting("initial_load_count", 10, ("the first run takes the newest ten values and sets the scope",)),
    )
    return Proposal(look.shape.name, "partition", tuple(reasons), settings)


def _native(shape: Shape) -> list[str]:
    return [f"the server partitions it by {shape.partitioned_by}"] if shape.partitioned_by else []


def _about_partition(look: _Look, chosen: Choice) -> tuple[str, ...]:
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


def _restatement(look: _Look, partition: Column) -> Setting:
    wanted = tuple(dict.fromkeys((*names.LOADS, *names.CHANGES, *names.ROW_VERSIONS, *names.ARRIVALS)))
    chosen = choose(look.shape, wanted, lambda one: one != partition and look.tells_of_loads(one))
    if chosen is None:
        other = choose(look.shape, names.LOADS + names.CHANGES, lambda one: one != partition)
        but = f" ({other.column.name} is {other.column.type}, which need not grow)" if other else ""
        risk = f"risk: no column tells of restatements{but}: only counts are watched"
        return Setting("restatement_column", None, (risk,))
    return Setting("restatement_column", chosen.column.name, _about_restatement(look, partition, chosen))


def _about_restatement(look: _Look, partition: Column, chosen: Choice) -> tuple[str, ...]:
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


# SCD type 2


@dataclass(frozen=True)
class _History:
    """The columns that make a table one of versions."""

    mark: Choice
    flag: Choice | None
    end: Column | None

    @property
    def signs(self) -> str:
        flag = f", flag {self.flag.column.name}" if self.flag else ""
        return f"mark {self.mark.column.name}{flag}" + (f", end {self.end.name}" if self.end else "")


def _history(look: _Look) -> _History | None:
    """A mark is needed. A flag that means nothing else is enough then, of lesser signs it takes two."""
    mark = choose(look.shape, names.CHANGES + names.STARTS, look.is_moment)
    flag = choose(look.shape, names.FLAGS, _may_be_flag)
    state = choose(look.shape, names.FLAGS_OR_STATES, _may_be_flag)
    end = choose(look.shape, names.ENDS, look.is_moment)
    in_key = any(_without_versions(key) not in ((), key.columns) for key in keys_of(look.shape))
    if mark is None or not (flag or [bool(state), bool(end), in_key].count(True) >= 2):
        return None
    return _History(mark, flag or state, end.column if end else None)


def _may_be_flag(column: Column) -> bool:
    return column.rests_as in ("bool", "int16", "int32", "int64", "decimal(1,0)", "string", "text")


def _without_versions(key: Key) -> tuple[str, ...]:
    """What is left of a key that names a version: what names the entity."""
    versions = (*names.CHANGES, *names.STARTS, *names.ENDS, *names.FLAGS, *names.FLAGS_OR_STATES, *names.VERSIONS)
    return tuple(name for name in key.columns if names.plain(name) not in versions)


def _scd2(look: _Look, history: _History, period: Choice | None) -> Proposal:
    reasons = [f"{look.size}; {history.signs}"]
    if period:
        reasons.append(f"{period.column.name} could partition it as well: signs of versions are believed first")
    settings = (
        *_entity(look.shape, history.mark.column),
        Setting("mark_column", history.mark.column.name, _about_mark(look, history.mark)),
        _flag(history),
        Setting(
            "initial_load_days", 30, ("risk: entities that did not change in these days are not in the first run",)
        ),
    )
    return Proposal(look.shape.name, "scd2", tuple(reasons), settings)


def _entity(shape: Shape, mark: Column) -> tuple[Setting, ...]:
    """`business_keys`, and the `version_key` where the mark is no part of the key."""
    keys = keys_of(shape)
    of_versions = [key for key in keys if _without_versions(key) not in ((), key.columns)]
    of_entities = [key for key in keys if _without_versions(key) == key.columns]
    others = [key for key in of_entities if not _is_surrogate(shape, key)]
    if of_versions:
        key = replace(of_versions[0], runner_up=next(iter((*of_versions[1:], *others)), None))
        entity = _without_versions(key)
        why = (f"{key} is {key.origin}; without its version columns it names the entity", *key.before)
        return _keyed(entity, why, () if mark.name in key.columns else key.columns)
    if others:
        key = replace(others[0], runner_up=next(iter(others[1:]), None))
        risk = f"risk: {key} is unique by itself: either it holds no history, or {key} numbers the versions"
        return _keyed(key.columns, (f"{key} is {key.origin}", *key.before, risk), ())
    if of_entities:
        key = of_entities[0]
        why = (f"risk: {key} numbers the versions and no other key was found: fill in what names the entity",)
        return _keyed((), why, key.columns)
    why = (*nullable_key(shape), "risk: no key: fill in what names the entity")
    return _keyed((), why, ())


def _keyed(entity: tuple[str, ...], why: Sequence[str], version: tuple[str, ...]) -> tuple[Setting, ...]:
    settings = [Setting("business_keys", entity, tuple(why))]
    if version:
        settings.append(Setting("version_key", version, ("the mark is no part of the key that names a version",)))
    return tuple(settings)


def _is_surrogate(shape: Shape, key: Key) -> bool:
    """One column that the server fills in by itself names rows, and a row is a version."""
    column = shape.exactly(key.columns[0])
    return len(key.columns) == 1 and column is not None and (column.identity or column.has_default)


def _about_mark(look: _Look, mark: Choice) -> tuple[str, ...]:
    column = mark.column
    why = [f"{column.name} ({column.type}) tells when a version came", *mark.before]
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: rows without it would never be seen")
    if look.kind_of(column) is Kind.DATE:
        why.append(f"risk: {column.name} has no time of day: the newest day is read again at every run")
    if not look.shape.indexed(column.name):
        why.append(f"risk: no index starts with {column.name}: every run scans the table")
    return tuple(why)


def _flag(history: _History) -> Setting:
    if history.flag is None:
        return Setting("flags", "recompute", ("no flag column: the newest version of an entity is the one that holds",))
    column = history.flag.column
    why = [f"{column.name} ({column.type}) marks the version that holds", *history.flag.before]
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: null is neither latest nor superseded")
    if column.rests_as in ("string", "text"):
        why.append(f"risk: {column.name} is no truth value: which text means yes is not in the catalog")
    return Setting("flag_column", column.name, tuple(why))


# Static, and none


def _static(look: _Look) -> Proposal:
    taken = "" if look.shape.row_estimate > 0 else ", taken for small"
    reasons = (f"{look.size}{taken}: read whole at each change", *_not_a_partition(look), *_not_a_history(look))
    key = best_key(look.shape)
    if key is None:
        cost = "risk: no key: a change replaces the whole table, and findings name no row"
        settings = [Setting("merge_strategy", "replace", (*nullable_key(look.shape), cost))]
        return Proposal(look.shape.name, "static", reasons, tuple(settings))
    settings = [
        Setting("primary_keys", key.columns, (f"{key} is {key.origin}", *key.before)),
        Setting("merge_strategy", "upsert", ("risk: rows that the source deletes stay in the target",)),
    ]
    return Proposal(look.shape.name, "static", reasons, tuple(settings))


def _none(look: _Look) -> Proposal:
    reasons = [*_native(look.shape), f"{look.size}: taken for too large to be read whole at each change"]
    reasons += _not_a_partition(look) or ["no partition column was recognised"]
    reasons += _not_a_history(look) or ["no flag or validity of versions was recognised"]
    mark, key = choose(look.shape, names.CHANGES, look.is_moment), best_key(look.shape)
    if mark and key:
        reasons.append(f"{mark.column.name} and the key {key} would suit kind incremental, not in this version")
    return Proposal(look.shape.name, "", tuple(reasons))


def _not_a_partition(look: _Look) -> list[str]:
    """Why a column with a telling name is not the partition column."""
    alike = choose(look.shape, names.DAYS + names.PERIODS, lambda column: True)
    if alike is None:
        return []
    name = alike.column.name
    unique = look.alone_unique(alike.column)
    return [f"{name} is no partition column: " + ("one row per value" if unique else f"type {alike.column.type}")]


def _not_a_history(look: _Look) -> list[str]:
    flag = choose(look.shape, names.FLAGS, _may_be_flag)
    return [f"{flag.column.name} is a flag of versions, but no column tells when a row changed"] if flag else []
