"""The one question that detection asks the rows: whether a proposed business key has one current row at most.

A catalog cannot tell `version`, which numbers the states of a product, from `version`, which is a product of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.errors import DatabaseError
from tidegate.interfaces import Session
from tidegate.model.columns import Column, Shape
from tidegate.model.names import counted
from tidegate.ops.detection.keys import keys_of
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.sql.marks import count_several_current

CURRENT = "1"


def checked(proposal: Proposal, shape: Shape, session: Session) -> Proposal:
    """Return the proposal with a business key under which the source has no two current rows.

    Where no key of the catalog is wide enough a person has to fill it in."""
    settings = {setting.name: setting for setting in proposal.settings}
    flag = shape.exactly(str(settings["flag_column"].value)) if "flag_column" in settings else None
    if proposal.kind != "scd2" or not proposal.runs or flag is None:
        return proposal
    proposed = settings["business_keys"]
    assert isinstance(proposed.value, tuple)
    try:
        several = _several(session, shape, proposed.value, flag)
        if not several:
            return proposal
        wider = [key for key in _wider(shape, proposed.value, settings) if not _several(session, shape, key, flag)]
    except DatabaseError as problem:
        risk = f"risk: whether it has one current row at most could not be asked: {problem.happened}"
        return _with_key(proposal, replace(proposed, why=(*proposed.why, risk)))
    found = f"{counted(several, 'value')} of ({', '.join(proposed.value)}) have several current rows in the source"
    if wider:
        return _with_key(proposal, Setting("business_keys", wider[0], (*proposed.why, f"{found}: so it is wider")))
    lacks = f"`business_keys`, what names an entity: {found}; or `flags: recompute`"
    return replace(_with_key(proposal, replace(proposed, why=(*proposed.why, f"risk: {found}"))), lacks=lacks)


def _several(session: Session, shape: Shape, key: tuple[str, ...], flag: Column) -> int:
    columns = [column for column in shape.columns if column.name in key]
    return int(str(session.query(count_several_current(shape.name, columns, flag, CURRENT))[0][0]))


def _wider(shape: Shape, key: tuple[str, ...], settings: dict[str, Setting]) -> Iterator[tuple[str, ...]]:
    """Yield the keys of the catalog, less mark and flag, that hold this key and more columns."""
    less = {settings["mark_column"].value, settings["flag_column"].value}
    for other in keys_of(shape):
        columns = tuple(name for name in other.columns if name not in less)
        if set(key) < set(columns):
            yield columns


def _with_key(proposal: Proposal, key: Setting) -> Proposal:
    settings = (key if setting.name == key.name else setting for setting in proposal.settings)
    return replace(proposal, settings=tuple(settings))
