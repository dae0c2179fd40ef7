"""The order in which tables are loaded: what a foreign key points to comes before the table that has the key.

The catalogs of both sides are asked. A target without foreign keys still gets its rows in the source's order, so that
no reader finds a row that refers to nothing. Tables without a relation keep the order of their kinds, and are loaded at
the same time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tidegate.model.columns import TableSchema
from tidegate.model.names import TableName
from tidegate.model.plan import Load
from tidegate.tables.found import FoundTable
from tidegate.tables.planned import FailedTable, PlannedTable

BETWEEN_KINDS = 1000
"""So many tables can refer to one another in a row before a kind would catch up with the next one."""


def in_load_order(
    results: Sequence[PlannedTable | FailedTable], default_schemas: tuple[str, str]
) -> list[PlannedTable | FailedTable]:
    """Return the tables with priorities that follow their foreign keys. `default_schemas` are source and target."""
    found = {result.key: result.table.found for result in results if isinstance(result, PlannedTable)}
    references = _references(found, default_schemas)
    cycles = {key: cycle for key in references if len(cycle := _cycle(key, references)) > 1}
    in_target = _references(found, default_schemas, ("target",))
    joint = {key: cycle for key in in_target if len(cycle := _cycle(key, in_target)) > 1}
    loaded = {result.key for result in results if isinstance(result, PlannedTable) and result.steps(Load)}
    together = {key: frozenset(cycle & loaded) for key, cycle in joint.items() if key in loaded}
    given = {result.key: result.table.load_priority for result in results if isinstance(result, PlannedTable)}
    order = _priorities(given, references, cycles)
    return [
        _placed(result, order[result.key], together.get(result.key, frozenset()))
        if isinstance(result, PlannedTable)
        else result
        for result in results
    ]


def _references(
    found: Mapping[str, FoundTable], default_schemas: tuple[str, str], sides: tuple[str, ...] = ("source", "target")
) -> dict[str, set[str]]:
    """Return for each table the other tables of this run that its foreign keys point to, on either side."""
    references: dict[str, set[str]] = {key: set() for key in found}
    for side, default_schema in zip(("source", "target"), default_schemas, strict=True):
        if side not in sides:
            continue
        schemas = {key: getattr(table, side) for key, table in found.items()}
        existing = {key: schema for key, schema in schemas.items() if schema is not None}
        for key, others in _references_on_one_side(existing, default_schema):
            references[key] |= set(others) - {key}
    return references


def _references_on_one_side(schemas: Mapping[str, TableSchema], default_schema: str) -> Iterable[tuple[str, list[str]]]:
    keys: dict[TableName, list[str]] = {}
    for key, schema in schemas.items():
        keys.setdefault(schema.name.within(default_schema), []).append(key)
    for key, schema in schemas.items():
        names = [name.within(default_schema) for text in schema.references if (name := _parsed(text)) is not None]
        yield key, [other for name in names for other in keys.get(name, ())]


def _parsed(text: str) -> TableName | None:
    """Return the name; None for a table that the login may not see, or whose name the catalog does not quote."""
    try:
        return TableName.parse(text)
    except ValueError:
        return None


def _cycle(start: str, references: Mapping[str, set[str]]) -> set[str]:
    """Return the tables from which foreign keys lead back to `start`, and `start` itself."""
    after = _reached(start, references)
    return {start, *(key for key in after if start in _reached(key, references))}


def _reached(start: str, references: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = references[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached


def _priorities(
    given: Mapping[str, int], references: Mapping[str, set[str]], cycles: Mapping[str, set[str]]
) -> dict[str, int]:
    """Return priorities in which every table comes after those that it refers to. Tables of a cycle come together."""
    order = {key: priority * BETWEEN_KINDS for key, priority in given.items()}
    for _ in order:
        before = dict(order)
        for key, others in references.items():
            together = cycles.get(key, {key})
            first = max((order[other] + 1 for other in others - together), default=0)
            order[key] = max(order[key], first, *(order[other] for other in together))
        if order == before:
            break
    return order


def _placed(planned: PlannedTable, priority: int, cycle: frozenset[str]) -> PlannedTable:
    together = cycle if len(cycle) > 1 else frozenset()
    return replace(planned, table=replace(planned.table, load_priority=priority), loads_with=together)
