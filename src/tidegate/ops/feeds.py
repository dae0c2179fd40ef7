"""Commands of change feeds: create and drop them on the source, with every statement shown, and ask how they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tidegate import plugins
from tidegate.errors import ConfigError, TidegateError
from tidegate.interfaces.feed import Feed, FeedHealth, Problem, TableFeed
from tidegate.model.names import TableName
from tidegate.runs.plan import planning
from tidegate.runs.run import Pipeline
from tidegate.tables.planned import FailedTable, PlannedTable

NOTHING = "Nothing was changed."


@dataclass(frozen=True)
class FeedOutcome:
    """What a command did, or would do: the statements, in their order."""

    feed: str
    tables: tuple[str, ...]
    statements: tuple[str, ...]
    done: bool


@dataclass(frozen=True)
class TableHealth:
    """What `tidegate doctor` says of one table."""

    table: str
    health: FeedHealth | None
    problem: str = ""
    """Why nothing could be asked."""


def change_feed(pipeline: Pipeline, keys: Sequence[str], command: str, *, dry_run: bool = False) -> list[FeedOutcome]:
    """Create or drop the feeds of these tables; `command` is `create` or `drop`. With `dry_run` nothing is done."""
    outcomes = []
    for feed, tables in _feeds(pipeline, keys).values():
        with pipeline.source.connect("feed") as source:
            statements = getattr(feed, command)(source, list(tables.values()))
            texts = tuple(pipeline.source.script(statement) for statement in statements)
            if not dry_run:
                for statement in statements:
                    source.execute(statement)
        outcomes.append(FeedOutcome(feed.id, tuple(tables), texts, not dry_run))
    return outcomes


def _feeds(pipeline: Pipeline, keys: Sequence[str]) -> dict[str, tuple[Feed, dict[str, TableName]]]:
    """Return the feeds of these tables, each with its tables. Raises ConfigError where none has a feed."""
    found: dict[str, tuple[Feed, dict[str, TableName]]] = {}
    schema = pipeline.source.default_schema
    for key in keys:
        settings = pipeline.project.tables[key]
        change = plugins.change(settings.change_name)
        feed = change.feed_of(settings, pipeline.source, pipeline.target) if change.reads_feed else None
        if feed is not None:
            found.setdefault(feed.id, (feed, {}))[1][key] = settings.source_table.within(schema)
    if not found:
        raise ConfigError(
            "No table of these is read from a change feed.",
            NOTHING,
            "Set `changes: cdc` for a table of the configuration.",
        )
    return found


def examine(pipeline: Pipeline, keys: Sequence[str]) -> list[TableHealth]:
    """Return how the feed of each of these tables is. Reads only."""
    _feeds(pipeline, keys)
    with planning(pipeline) as planner:
        results = planner.plan([key for key in keys if pipeline.project.tables[key].reads_feed])
    return [_examined(pipeline, result) for result in results]


def _examined(pipeline: Pipeline, result: PlannedTable | FailedTable) -> TableHealth:
    problem = str(result.problem) if isinstance(result, FailedTable) else ""
    found = result.table.change.table_feed(result.state) if result.table is not None else None
    if found is None:
        return TableHealth(result.key, None, problem)
    try:
        with pipeline.source.connect("doctor", read_only=True) as source:
            health = found.feed.health(source, found.table, found.position)
    except TidegateError as failure:
        return TableHealth(result.key, None, str(failure))
    return TableHealth(result.key, replace(health, facts={**health.facts, **_waiting(found)}), problem)


def _waiting(found: TableFeed) -> dict[str, str]:
    """Return how far behind a table is: changes that wait, and since when nothing was read."""
    facts = {}
    if found.state is not None and found.state.changes is not None:
        facts["changes that wait"] = f"{found.state.changes:,}"
    if found.read_at:
        facts["last read at"] = found.read_at
    return facts


def as_text(found: Sequence[TableHealth]) -> list[str]:
    """Return what the doctor says as lines for people."""
    lines: list[str] = []
    for each in found:
        if each.health is None:
            lines += [f"{each.table}: cannot be examined", *(f"  {line}" for line in each.problem.splitlines())]
            continue
        health = each.health
        lines.append(f"{each.table}: {health.feed} is {'alive' if health.alive else 'not usable'}")
        lines += _facts(health.facts)
        for problem in health.problems:
            lines += _problem(problem)
        if not health.problems and each.problem:
            lines += [f"  {line}" for line in each.problem.splitlines()]
    return lines


def _facts(facts: Mapping[str, str]) -> list[str]:
    return [f"  {name}: {value}" for name, value in facts.items()]


def _problem(problem: Problem) -> list[str]:
    return [f"  {problem.severity}: {problem.text}", *(f"    {statement}" for statement in problem.statements)]
