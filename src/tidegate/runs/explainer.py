"""The plan in words: the same records that the executor does."""

from __future__ import annotations

from typing_extensions import assert_never

from tidegate.model.plan import ChangeSchema, Land, Load, Notice, Remove, Step
from tidegate.model.values import Value


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


def explain(step: Step) -> str:
    """One line, without the table."""
    match step:
        case ChangeSchema(statements, why):
            return f"change the target's schema: {why}\n" + "\n".join(
                f"    {line}" for text in statements for line in text.splitlines()
            )
        case Land(value, why, rows, origin):
            where = "" if origin == "source" else " from the target"
            return f"land {value}{where}{_about(rows)}: {why}"
        case Load(value, why, generation, rows, unless_hash, look_first):
            condition = ", if the target does not hold it already" if unless_hash or look_first else ""
            again = f" as generation {generation}" if generation > 1 else ""
            return f"load {value}{_about(rows)}{again}{condition}: {why}"
        case Remove(value, side, why):
            return f"remove {value} from the {side}: {why}"
        case Notice(text, about, severity):
            return f"{severity}{f' on {about}' if about is not None else ''}: {text}"
        case _:
            assert_never(step)


def _about(rows: int | None) -> str:
    return "" if rows is None else f", {rows:,} rows"
