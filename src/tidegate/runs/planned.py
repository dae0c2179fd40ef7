"""A table after planning: what was found, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tidegate.errors import TidegateError
from tidegate.model.coverage import Coverage
from tidegate.model.evidence import PartitionEvidence
from tidegate.model.plan import Plan, Request, TablePlan
from tidegate.runs.tables import ResolvedTable

Ask = Callable[[ResolvedTable, PartitionEvidence], Request]


@dataclass(frozen=True)
class Planned:
    """One table: what was found, and what follows."""

    key: str
    table: ResolvedTable
    evidence: PartitionEvidence
    plan: TablePlan
    coverage: Coverage = field(default_factory=Coverage)
    """How much of the source the scope of the plan covers."""


@dataclass(frozen=True)
class Unplanned:
    """A table that could not be planned, with what was found of it before the problem."""

    key: str
    problem: TidegateError
    table: ResolvedTable | None = None
    evidence: PartitionEvidence | None = None


def sorted_out(found: Sequence[Planned | Unplanned]) -> tuple[list[Planned], dict[str, str]]:
    """The tables that were planned, and the problems of the others."""
    problems = {one.key: str(one.problem) for one in found if isinstance(one, Unplanned)}
    return [one for one in found if isinstance(one, Planned)], problems


def as_plan(found: Sequence[Planned | Unplanned]) -> Plan:
    planned, problems = sorted_out(found)
    return Plan(tuple(one.plan for one in planned), tuple(problems.items()))
