"""Rules of the user: queries of `checks:`, asked with every verification. A rule that does not hold is a finding."""

from __future__ import annotations

import logging
import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from tidegate.errors import TidegateError
from tidegate.interfaces.database import Database
from tidegate.logs import log
from tidegate.model.names import pluralize
from tidegate.model.report import RULE, Finding
from tidegate.runs.run import Run
from tidegate.settings import Rule
from tidegate.tables.planned import PlannedTable

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
_LONGEST = 60

Answer = Sequence[str | None]


def ask_rules(run: Run, planned: Sequence[PlannedTable]) -> None:
    """Ask the rules of these tables, each in a session that can only read. One that cannot be asked fails its table."""
    for table in planned:
        for number, rule in enumerate(table.table.found.settings.checks, 1):
            name = rule.name or f"rule {number}"
            try:
                problem = _problem(run, rule)
            except TidegateError as refused:
                run.failed.setdefault(table.key, f"{name}: {refused}")
                continue
            if problem:
                run.findings.append(Finding(table.key, RULE, f"{name}: {problem}", severity=rule.severity))
            else:
                text = f"{table.key}: {name} holds, run {run.id}"
                log(logging.INFO, text, run.redact, event="rule", table=table.key, rule=name, run=run.id)


def _problem(run: Run, rule: Rule) -> str:
    """Return why a rule does not hold; empty when it does. Only counts and single values are shown, no rows."""
    pipeline = run.pipeline
    if rule.expect == "same":
        source, target = _answer(pipeline.source, rule), _answer(pipeline.target, rule)
        if _comparable(source) == _comparable(target):
            return ""
        return f"the source answers {_shown(source)}, the target {_shown(target)}"
    found = _answer(pipeline.source if rule.side == "source" else pipeline.target, rule)
    return "" if holds(found, rule.expect) else f"the answer is {_shown(found)}, expected {rule.expect}"


def _answer(database: Database, rule: Rule) -> Answer:
    with database.connect("verify", read_only=database.capabilities.read_only_sessions) as session:
        return session.query_user_sql(rule.sql)


def holds(answer: Answer, expected: str) -> bool:
    """Return whether an answer is what was expected: `empty`, `rows`, a value, or a comparison such as `>= 1`."""
    if expected == "empty":
        return not answer
    if expected == "rows":
        return bool(answer)
    if len(answer) != 1 or answer[0] is None:
        return False
    match = re.match(r"(<=|>=|!=|<|>|=)\s*(.+)", expected)
    compare, wanted = (_COMPARISONS[match[1]], match[2].strip()) if match else (operator.eq, expected)
    found_number, wanted_number = _number(answer[0]), _number(wanted)
    if found_number is not None and wanted_number is not None:
        return compare(found_number, wanted_number)
    return compare(answer[0], wanted)


def _comparable(answer: Answer) -> list[Any]:
    """Return an answer without the differences that two servers make of one number: 1.50 and 1.5."""
    return [value if value is None else number if (number := _number(value)) is not None else value for value in answer]


def _number(text: str) -> Decimal | None:
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _shown(answer: Answer) -> str:
    if len(answer) != 1:
        return pluralize(len(answer), "row")
    text = "null" if answer[0] is None else answer[0]
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
