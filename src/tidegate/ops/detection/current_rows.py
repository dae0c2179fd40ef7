"""Check with the rows of the source whether a proposed business key has one current row at most.

The catalog does not show what a column `version` is: the number of a state of a product, or a part of its key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tidegate.errors import DatabaseError
from tidegate.interfaces import Session
from tidegate.model.columns import Column, TableSchema
from tidegate.model.names import pluralize
from tidegate.ops.detection.keys import keys_of
from tidegate.ops.detection.proposed import Proposal, Setting
from tidegate.sql.cursors import count_keys_with_several_current

CURRENT = "1"


def check_business_key(proposal: Proposal, schema: TableSchema, session: Session) -> Proposal:
    """Return the proposal with a business key that has one current row at most in the source.

    Where no key of the catalog fits, the user has to fill it in."""
    settings = {setting.name: setting for setting in proposal.settings}
    flag = schema.exact_column(str(settings["flag_column"].value)) if "flag_column" in settings else None
    if proposal.kind != "scd2" or not proposal.can_run or flag is None:
        return proposal
    proposed = settings["business_keys"]
    assert isinstance(proposed.value, tuple)
    try:
        several = _keys_with_several(session, schema, proposed.value, flag)
        if not several:
            return proposal
        wider = [
            key
            for key in _wider(schema, proposed.value, settings)
            if not _keys_with_several(session, schema, key, flag)
        ]
    except DatabaseError as problem:
        risk = f"risk: not checked whether it has one current row at most: {problem.happened}"
        return _with_key(proposal, replace(proposed, why=(*proposed.why, risk)))
    found = f"{pluralize(several, 'value')} of ({', '.join(proposed.value)}) have several current rows in the source"
    if wider:
        return _with_key(
            proposal, Setting("business_keys", wider[0], (*proposed.why, f"{found}: so columns were added"))
        )
    missing = f"`business_keys`, the columns that identify an entity: {found}; or `flags: recompute`"
    return replace(_with_key(proposal, replace(proposed, why=(*proposed.why, f"risk: {found}"))), missing=missing)


def _keys_with_several(session: Session, schema: TableSchema, key: tuple[str, ...], flag: Column) -> int:
    columns = [column for column in schema.columns if column.name in key]
    return int(str(session.query(count_keys_with_several_current(schema.name, columns, flag, CURRENT))[0][0]))


def _wider(schema: TableSchema, key: tuple[str, ...], settings: dict[str, Setting]) -> Iterator[tuple[str, ...]]:
    """Yield the keys of the catalog, without cursor and flag, that have the columns of this key and more."""
    without = {settings["cursor_column"].value, settings["flag_column"].value}
    for other in keys_of(schema):
        columns = tuple(name for name in other.columns if name not in without)
        if set(key) < set(columns):
            yield columns


def _with_key(proposal: Proposal, key: Setting) -> Proposal:
    settings = (key if setting.name == key.name else setting for setting in proposal.settings)
    return replace(proposal, settings=tuple(settings))
