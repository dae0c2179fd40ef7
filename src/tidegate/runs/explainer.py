"""The plan in words: the same records that the executor does."""

from __future__ import annotations

import json

from typing_extensions import assert_never

from tidegate.changes.content_hash import WHOLE
from tidegate.changes.mark import ALL
from tidegate.model.plan import ChangeSchema, Land, Load, Notice, Remove, Step
from tidegate.model.scope import Scope
from tidegate.model.values import Value

_WHOLE_TABLES = frozenset({WHOLE.text, ALL.text})


def verb_of(step: Step) -> str:
    """The word of a step, in logs, reports and JSON."""
    match step:
        case ChangeSchema():
            return "change schema"
        case Land():
            return "land"
        case Load():
            return "load"
        case Remove():
            return "remove"
        case Notice():
            return "note"
        case _:
            assert_never(step)


def value_of(step: Step) -> Value | None:
    return None if isinstance(step, ChangeSchema) else step.value


def is_whole(value: str) -> bool:
    """Whether this stands for all of a table."""
    return value in _WHOLE_TABLES


def place_of(table: str, value: str) -> str:
    """The table, and the value where it is one of several."""
    return table if is_whole(value) else f"{table} {value}".strip()


def scope_in_words(scope: Scope, kind: str) -> str:
    if kind == "scd2" and scope.floor is None:
        return "all versions"
    return "the whole table" if kind == "static" else str(scope)


def explain(step: Step, kind: str = "partition") -> str:
    """One line, without the table."""
    match step:
        case ChangeSchema(statements, why):
            return f"change the target's schema: {why}\n" + "\n".join(
                f"    {line}" for text in statements for line in text.splitlines()
            )
        case Land(value, why, rows, origin):
            where = "" if origin == "source" else " from the target"
            return f"land {_marks(step)}{_named(value, kind)}{where}{_about(rows, kind)}: {why}"
        case Load(value, why, generation, rows, unless_hash, look_first):
            condition = ", if the target does not hold it already" if unless_hash or look_first else ""
            again = f" as generation {generation}" if generation > 1 else ""
            return f"load {_named(value, kind)}{_about(rows, kind)}{again}{condition}: {why}"
        case Remove(value, side, why):
            return f"remove {value} from the {side}: {why}"
        case Notice(text, about, severity):
            on = f" on {about}" if about is not None and not is_whole(about.text) else ""
            return f"{severity}{on}: {text}"
        case _:
            assert_never(step)


def _named(value: Value, kind: str) -> str:
    if kind == "static":
        return "the whole table"
    return f"batch {value}" if kind == "scd2" else str(value)


def _marks(step: Land) -> str:
    """The marks of a batch, both ends included."""
    window = json.loads(step.window or "{}")
    if not window.get("upto"):
        return ""
    after = f"from {window['after']} " if window["after"] else ""
    return f"what is marked {after}to {window['upto']} as "


def _about(rows: int | None, kind: str) -> str:
    return "" if rows is None else f", {rows:,} {'versions' if kind == 'scd2' else 'rows'}"
