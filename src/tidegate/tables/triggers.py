"""What happens to triggers of the target while rows are loaded: `triggers: fire | bypass | refuse`."""

from __future__ import annotations

from dataclasses import replace

from tidegate.errors import Unsupported
from tidegate.interfaces.database import Database
from tidegate.model.plan import Notice
from tidegate.tables.found import UNTOUCHED, FoundTable

_MEANING = "a load whose rows they change is refused by its proof; what they do to other tables is not checked"


def with_triggers(table: FoundTable, target: Database) -> FoundTable:
    """Return the table with what the plan says of its triggers. Raises Unsupported, with what to do."""
    settings, names = table.settings, table.target.triggers if table.target is not None else ()
    if not names:
        return table
    shown = ", ".join(names)
    if settings.triggers == "fire":
        return _with_note(table, f"triggers fire on the target: {shown}; {_MEANING}")
    if settings.triggers == "refuse":
        raise Unsupported(
            f"{settings.name}: the target has triggers: {shown}.",
            UNTOUCHED,
            "Drop them, or write `triggers: fire` or `triggers: bypass`.",
        )
    if not target.can_bypass_triggers:
        raise Unsupported(
            f"{settings.name}: {target.label} cannot load rows without its triggers: {shown}.",
            UNTOUCHED,
            "Write `triggers: fire`, or drop the triggers before the run and create them again after it.",
        )
    note = f"triggers of the target do not fire: {shown}; what they would do is not done"
    return replace(_with_note(table, note), bypasses_triggers=True)


def _with_note(table: FoundTable, text: str) -> FoundTable:
    return replace(table, notices=(*table.notices, Notice(text)))
