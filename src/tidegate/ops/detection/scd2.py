"""Tables of versions (SCD type 2): what marks a version, what names an entity, what says that a version holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidegate.model.columns import Column, Shape
from tidegate.model.values import Kind
from tidegate.ops.detection import telling_names as names
from tidegate.ops.detection.keys import Key, keys_of, nullable_key
from tidegate.ops.detection.look import Look, may_be_flag
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.telling_names import Choice, choose


@dataclass(frozen=True)
class History:
    """The columns that make a table one of versions."""

    mark: Choice
    flag: Choice | None
    end: Column | None

    @property
    def signs(self) -> str:
        flag = f", flag {self.flag.column.name}" if self.flag else ""
        return f"mark {self.mark.column.name}{flag}" + (f", end {self.end.name}" if self.end else "")


def history_of(look: Look) -> History | None:
    """A mark is needed. A flag that means nothing else is enough then, of lesser signs it takes two."""
    mark = choose(look.shape, names.CHANGES + names.STARTS, look.is_moment)
    flag = choose(look.shape, names.FLAGS, may_be_flag)
    state = choose(look.shape, names.FLAGS_OR_STATES, may_be_flag)
    end = choose(look.shape, names.ENDS, look.is_moment)
    in_key = any(_without_versions(key) not in ((), key.columns) for key in keys_of(look.shape))
    if mark is None or not (flag or [bool(state), bool(end), in_key].count(True) >= 2):
        return None
    return History(mark, flag or state, end.column if end else None)


def _without_versions(key: Key) -> tuple[str, ...]:
    """What is left of a key that names a version: what names the entity."""
    versions = (*names.CHANGES, *names.STARTS, *names.ENDS, *names.FLAGS, *names.FLAGS_OR_STATES, *names.VERSIONS)
    return tuple(name for name in key.columns if names.plain(name) not in versions)


def as_scd2(look: Look, history: History, period: Choice | None) -> Proposal:
    reasons = [f"{look.size}; {history.signs}"]
    if period:
        reasons.append(f"{period.column.name} could partition it as well: signs of versions are believed first")
    entity = _entity(look.shape, history.mark.column)
    settings = (
        *entity,
        Setting("mark_column", history.mark.column.name, _about_mark(look, history.mark)),
        _flag(history),
        *_outside(history, entity),
        Setting("initial_load_days", 30, _about_the_first_run(history)),
    )
    return Proposal(look.shape.name, "scd2", tuple(reasons), settings, _lacks(history, entity))


def _lacks(history: History, entity: Sequence[Setting]) -> str:
    """What only a person knows, and without which rows would be told apart or flagged wrongly."""
    if not entity[0].value:
        return "`business_keys`, what names an entity"
    if history.flag and _is_text(history.flag.column):
        return f"`latest_value` and `superseded_value`, what {history.flag.column.name} says"
    return ""


def _about_the_first_run(history: History) -> tuple[str, ...]:
    cure = "; `initial_load: latest+window` takes what holds of them" if history.flag else ""
    return (f"risk: entities that did not change in these days are not in the first run{cure}",)


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
        return _keyed(key.columns, (f"{key} is {key.origin}", *key.before, risk), key.columns)
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


def _about_mark(look: Look, mark: Choice) -> tuple[str, ...]:
    column = mark.column
    why = [f"{column.name} ({column.type}) tells when a version came", *mark.before]
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: rows without it would never be seen")
    if look.kind_of(column) is Kind.DATE:
        why.append(f"risk: {column.name} has no time of day: the newest day is read again at every run")
    if not look.shape.indexed(column.name):
        why.append(f"risk: no index starts with {column.name}: every run scans the table")
    return tuple(why)


def _flag(history: History) -> Setting:
    if history.flag is None:
        return Setting("flag_column", None, ("no column says which version holds: no flags are kept",))
    column = history.flag.column
    why = [f"{column.name} ({column.type}) marks the version that holds", *history.flag.before]
    if column.nullable:
        why.append(f"risk: {column.name} is nullable: null is neither latest nor superseded")
    if _is_text(column):
        why.append(f"risk: {column.name} is no truth value: which text means yes is not in the catalog")
    return Setting("flag_column", column.name, tuple(why))


def _is_text(column: Column) -> bool:
    return column.rests_as in ("string", "text")


def _outside(history: History, entity: Sequence[Setting]) -> list[Setting]:
    """The end of a validity, which the source writes into a version that it knew without one."""
    named = {name for setting in entity if isinstance(setting.value, tuple) for name in setting.value}
    if history.end is None or history.end.name in named:
        return []
    why = f"{history.end.name} is written when a version is superseded: it is no part of what a version says"
    risk = f"risk: in the target {history.end.name} stays as it was when the version was read"
    return [Setting("outside", (history.end.name,), (why, risk))]
