"""Propose settings of a table of versions (SCD type 2): its cursor, its business key, its flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.model.columns import Column, TableSchema
from tidegate.model.values import ValueKind
from tidegate.ops.detection import column_names as names
from tidegate.ops.detection.column_names import Choice, choose
from tidegate.ops.detection.keys import Key, keys_of, nullable_key
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.typed_schema import TypedSchema, can_be_flag


@dataclass(frozen=True)
class History:
    """The columns that show that a table keeps history."""

    cursor: Choice
    flag: Choice | None
    end: Column | None

    @property
    def signs(self) -> str:
        flag = f", flag {self.flag.column.name}" if self.flag else ""
        return f"cursor {self.cursor.column.name}{flag}" + (f", end {self.end.name}" if self.end else "")


def find_history(table: TypedSchema) -> History | None:
    """Return the columns of history, or None. A cursor is needed, and a clear flag or two weaker signs."""
    cursor = choose(table.schema, names.CHANGES + names.STARTS, table.is_time)
    flag = choose(table.schema, names.FLAGS, can_be_flag)
    state = choose(table.schema, names.FLAGS_OR_STATES, can_be_flag)
    end = choose(table.schema, names.ENDS, table.is_time)
    in_key = any(_without_versions(key) not in ((), key.columns) for key in keys_of(table.schema))
    if cursor is None or not (flag or [bool(state), bool(end), in_key].count(True) >= 2):
        return None
    return History(cursor, flag or state, end.column if end else None)


def _without_versions(key: Key) -> tuple[str, ...]:
    """Return the columns of a key without those of versions: what is left identifies the entity."""
    versions = (*names.CHANGES, *names.STARTS, *names.ENDS, *names.FLAGS, *names.FLAGS_OR_STATES, *names.VERSIONS)
    return tuple(name for name in key.columns if names.plain(name) not in versions)


def propose_scd2(table: TypedSchema, history: History, period: Choice | None) -> Proposal:
    reasons = [f"{table.size}; {history.signs}"]
    if period:
        reasons.append(f"{period.column.name} could also partition it: signs of versions take precedence")
    entity = _entity(table.schema, history.cursor.column)
    settings = (
        *entity,
        Setting("cursor_column", history.cursor.column.name, _about_cursor(table, history.cursor)),
        _flag(history),
        *_ignored(history, entity),
        Setting("initial_load", "full", _about_first_run(history)),
    )
    return Proposal(table.schema.name, "scd2", tuple(reasons), settings, _missing(history, entity))


def _missing(history: History, entity: Sequence[Setting]) -> str:
    """Return what only the user knows, and what the table cannot run without; empty when nothing."""
    if not entity[0].value:
        return "`business_keys`, the columns that identify an entity"
    if history.flag and _is_text(history.flag.column):
        return f"`current_value` and `superseded_value`, the values of {history.flag.column.name}"
    return ""


def _about_first_run(history: History) -> tuple[str, ...]:
    price = "the first run copies every version; `window` with `initial_load_days: 30` would leave older ones out"
    return (f"{price}, `latest+window` all but the current of them" if history.flag else price,)


def _entity(schema: TableSchema, cursor: Column) -> tuple[Setting, ...]:
    """Return `business_keys`, and `version_key` where the cursor is not a part of the key."""
    keys = keys_of(schema)
    of_versions = [key for key in keys if _without_versions(key) not in ((), key.columns)]
    of_entities = [key for key in keys if _without_versions(key) == key.columns]
    others = [key for key in of_entities if not _is_surrogate(schema, key)]
    if of_versions:
        key = replace(of_versions[0], runner_up=next(iter((*of_versions[1:], *others)), None))
        entity = _without_versions(key)
        why = (f"{key} is {key.origin}; without its version columns it identifies the entity", *key.preference)
        return _keyed(entity, why, () if cursor.name in key.columns else key.columns)
    if others:
        key = replace(others[0], runner_up=next(iter(others[1:]), None))
        risk = f"risk: {key} is unique by itself: either the table has no history, or {key} numbers the versions"
        return _keyed(key.columns, (f"{key} is {key.origin}", *key.preference, risk), key.columns)
    if of_entities:
        key = of_entities[0]
        why = (
            f"risk: {key} numbers the versions and no other key was found: fill in the columns that identify an entity",
        )
        return _keyed((), why, key.columns)
    why = (*nullable_key(schema), "risk: no key: fill in the columns that identify an entity")
    return _keyed((), why, ())


def _keyed(entity: tuple[str, ...], why: Sequence[str], version: tuple[str, ...]) -> tuple[Setting, ...]:
    settings = [Setting("business_keys", entity, tuple(why))]
    if version:
        settings.append(
            Setting("version_key", version, ("the cursor is not a part of the key that identifies a version",))
        )
    return tuple(settings)


def _is_surrogate(schema: TableSchema, key: Key) -> bool:
    """Return whether the key is one column that the server fills in: it identifies a row, not an entity."""
    column = schema.exact_column(key.columns[0])
    return len(key.columns) == 1 and column is not None and (column.identity or column.has_default)


def _about_cursor(table: TypedSchema, cursor: Choice) -> tuple[str, ...]:
    column = cursor.column
    why = [f"{column.name} ({column.type}) is the time of change of a version", *cursor.preference]
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: rows without it are never read")
    if table.kind_of(column) is ValueKind.DATE:
        why.append(f"risk: {column.name} has no time of day: the newest day is read again at every run")
    if not table.schema.has_index_on(column.name):
        why.append(f"risk: no index starts with {column.name}: every run scans the table")
    return tuple(why)


def _flag(history: History) -> Setting:
    if history.flag is None:
        return Setting("flag_column", None, ("no column flags the current version: no flags are kept",))
    column = history.flag.column
    why = [f"{column.name} ({column.type}) flags the current version", *history.flag.preference]
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: null is neither current nor superseded")
    if _is_text(column):
        why.append(f"risk: {column.name} is not a boolean: the catalog does not say which text means current")
    return Setting("flag_column", column.name, tuple(why))


def _is_text(column: Column) -> bool:
    return column.storage_type in ("string", "text")


def _ignored(history: History, entity: Sequence[Setting]) -> list[Setting]:
    """Return `ignore_columns` with the end date, which the source writes into a version when the next one comes."""
    named = {name for setting in entity if isinstance(setting.value, tuple) for name in setting.value}
    if history.end is None or history.end.name in named:
        return []
    why = f"{history.end.name} is written when a version is superseded: it is not part of the content of a version"
    risk = f"risk: in the target {history.end.name} keeps the value that it had when the version was read"
    return [Setting("ignore_columns", (history.end.name,), (why, risk))]
