"""The plan in words: the same records that a run does."""

from __future__ import annotations

from typing import assert_never

from tidegate.model.plan import ChangeSchema, CompleteSchema, Extract, Labels, Load, Notice, Read, Remove, Step
from tidegate.model.tokens import CursorWindow
from tidegate.model.values import Value
from tidegate.model.windows import is_whole


def verb_of(step: Step) -> str:
    """Return the word for a step, in logs, reports and JSON."""
    match step:
        case ChangeSchema():
            return "change schema"
        case CompleteSchema():
            return "complete schema"
        case Read():
            return "read"
        case Extract():
            return "extract"
        case Load():
            return "load"
        case Remove():
            return "remove"
        case Notice():
            return "note"
        case _:
            assert_never(step)


def value_of(step: Step) -> Value | None:
    return None if isinstance(step, ChangeSchema | CompleteSchema) else step.value


def place_of(table: str, value: str) -> str:
    """Return the table, and the window where it is one of several."""
    return table if is_whole(value) else f"{table} {value}".strip()


def explain(step: Step, labels: Labels | None = None) -> str:
    """Return one line, without the table."""
    labels = labels or Labels()
    match step:
        case ChangeSchema(statements, why):
            return f"change the target's schema: {why}\n" + "\n".join(
                f"    {line}" for text in statements for line in text.splitlines()
            )
        case CompleteSchema(statements, why):
            return f"complete the target's schema after the load: {why}\n" + "\n".join(
                f"    {line}" for text in statements for line in text.splitlines()
            )
        case Read(window, why, rows):
            return f"read {labels.name(window)}{_about(rows, labels)} on both sides: {why}"
        case Extract(window, why, rows, origin):
            where = "" if origin == "source" else " from the target"
            return f"extract {_range(step)}{labels.name(window)}{where}{_about(rows, labels)}: {why}"
        case Load(window, why, generation, rows, unless_hash, compare_first):
            condition = ", if the target does not hold it already" if unless_hash or compare_first else ""
            again = f" as generation {generation}" if generation > 1 else ""
            return f"load {labels.name(window)}{_about(rows, labels)}{again}{condition}: {why}"
        case Remove(window, side, why, entries=entries):
            what = f"{len(entries)} older {'entry' if len(entries) == 1 else 'entries'}" if entries else str(window)
            return f"remove {what} from the {side}: {why}"
        case Notice(text, about, severity):
            on = f" on {about}" if about is not None and not is_whole(about.text) else ""
            return f"{severity}{on}: {text}"
        case _:
            assert_never(step)


def _range(step: Extract) -> str:
    """Return the range of the cursor that a window reads, both ends included."""
    window = step.token
    if not isinstance(window, CursorWindow) or window.upto is None:
        return ""
    after = f"from {window.after} " if window.after is not None else ""
    return f"rows {after}to {window.upto} as "


def _about(rows: int | None, labels: Labels) -> str:
    return "" if rows is None else f", {rows:,} {labels.rows}"
