"""Static tables, and those of no kind: too large to be read whole every time."""

from __future__ import annotations

from tidegate.ops.detection import telling_names as names
from tidegate.ops.detection.keys import best_key, nullable_key
from tidegate.ops.detection.look import Look, may_be_flag
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.ops.detection.telling_names import choose


def as_static(look: Look) -> Proposal:
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


def as_none(look: Look) -> Proposal:
    reasons = [*look.native, f"{look.size}: taken for too large to be read whole at each change"]
    reasons += _not_a_partition(look) or ["no partition column was recognised"]
    reasons += _not_a_history(look) or ["no flag or validity of versions was recognised"]
    mark, key = choose(look.shape, names.CHANGES, look.is_moment), best_key(look.shape)
    if mark and key:
        reasons.append(f"{mark.column.name} and the key {key} would suit kind incremental, not in this version")
    return Proposal(look.shape.name, "", tuple(reasons))


def _not_a_partition(look: Look) -> list[str]:
    """Why a column with a telling name is not the partition column."""
    alike = choose(look.shape, names.DAYS + names.PERIODS, lambda column: True)
    if alike is None:
        return []
    name = alike.column.name
    unique = look.alone_unique(alike.column)
    return [f"{name} is no partition column: " + ("one row per value" if unique else f"type {alike.column.type}")]


def _not_a_history(look: Look) -> list[str]:
    flag = choose(look.shape, names.FLAGS, may_be_flag)
    return [f"{flag.column.name} is a flag of versions, but no column tells when a row changed"] if flag else []
