"""Complete what the configuration leaves open: the tables that its patterns select, and kinds that it does not name.

What was decided is remembered in the ledger and in the lake, with the scope of the table. So a table that grows, or
that gets another index, keeps its kind until somebody writes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tidegate.config.open_tables import OpenTables
from tidegate.config.project import own_targets, two_writers
from tidegate.config.tables import ConfiguredTable
from tidegate.errors import ConfigError, MissingObject
from tidegate.interfaces.lake import LakeTable, Layout
from tidegate.interfaces.session import Session
from tidegate.model.names import TableName, pluralize
from tidegate.model.scope import Scope
from tidegate.ops.detection import Proposal
from tidegate.ops.proposal import key_of, propose_tables
from tidegate.runs.run import Pipeline
from tidegate.runs.selection import SELECTION
from tidegate.state.ledger import SELECTED, Ledger

_SHOWN = 5


@dataclass(frozen=True)
class _Selection:
    """The tables that patterns select, those that came since the first run, and those that left."""

    taken: tuple[str, ...]
    new: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()


def complete(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline with every table that its patterns select, and with a kind for each. Reads the catalog of the
    source, and what ledger and lake remember."""
    open_tables = pipeline.project.open_tables
    if open_tables is None:
        return pipeline
    timeout = pipeline.project.query_timeout
    scopes = _remembered_scopes(pipeline)
    with pipeline.source.connect("inspect", read_only=True, query_timeout=timeout) as source:
        selection = _selected(pipeline, open_tables, source, scopes)
        keys = [*open_tables.named, *selection.taken]
        decided = {key: settings for key in keys if (settings := _remembered(pipeline, open_tables, scopes, key))}
        fresh = _decide(pipeline, open_tables, source, [key for key in keys if key not in decided])
    built = {key: open_tables.build(key, (decided | fresh)[key]) for key in keys}
    tables = _in_written_order(pipeline.project.tables, built, open_tables)
    problem = two_writers(tables) or own_targets(tables, pipeline.source.connection, pipeline.target.connection)
    if problem:
        raise ConfigError(f"`tables` {problem}.", "Nothing was read or written.", "Correct a `target_table`.")
    if not tables:
        raise ConfigError(
            f"No table of the source matches {', '.join(pattern.text for pattern in open_tables.patterns)}.",
            "Nothing was read or written.",
            "Correct the patterns, or grant the login SELECT on the tables.",
        )
    project = pipeline.project.model_copy(update={"tables": tables})
    notes = _notes(pipeline, selection, {key: built[key] for key in fresh})
    selected = selection.taken if open_tables.patterns else None
    return replace(pipeline, project=project, notes=notes, selected=selected)


def _remembered_scopes(pipeline: Pipeline) -> dict[str, Scope]:
    """Return what the ledger remembers; nothing where there is none, or where it belongs to another database."""
    with pipeline.target.connect("inspect", read_only=True) as session:
        ledger = Ledger(session)
        return ledger.scopes() if ledger.exists() else {}


def _selected(pipeline: Pipeline, open_tables: OpenTables, source: Session, scopes: Mapping[str, Scope]) -> _Selection:
    if not open_tables.patterns:
        return _Selection(())
    default = pipeline.source.default_schema
    keys = [key_of(name, default) for name in source.tables()]
    taken = tuple(key for key in keys if key not in open_tables.written and open_tables.selects(key))
    copy = scopes.get(SELECTED) or pipeline.lake.saved_scope(SELECTION, pipeline.target_place)
    if copy is None or not copy.settings:
        return _Selection(taken)
    known = frozenset(json.loads(copy.settings))
    new = tuple(key for key in taken if key not in known)
    gone = tuple(sorted(known - {*keys}))
    if pipeline.project.new_tables == "report":
        taken = tuple(key for key in taken if key in known)
    return _Selection(taken, new, gone)


def _remembered(
    pipeline: Pipeline, open_tables: OpenTables, scopes: Mapping[str, Scope], key: str
) -> dict[str, Any] | None:
    """Return what was decided for a table once; None where nobody decided yet."""
    target = open_tables.target(key) or key
    name = target if isinstance(target, TableName) else TableName.parse(str(target))
    scope = scopes.get(str(name.within(pipeline.target.default_schema)))
    if scope is None or not scope.settings:
        lake_name = TableName.parse(key).within(pipeline.source.default_schema)
        if lake_name.schema == pipeline.source.default_schema:
            lake_name = TableName("", lake_name.name)
        scope = pipeline.lake.saved_scope(LakeTable(lake_name, Layout.WHOLE, ""), pipeline.target_place)
    settings = json.loads(scope.settings) if scope is not None and scope.settings else None
    # A kind that no longer takes what is written for the table was decided for other settings.
    return settings if settings and settings["kind"] in open_tables.kinds(key) else None


def _decide(
    pipeline: Pipeline, open_tables: OpenTables, source: Session, keys: Sequence[str]
) -> dict[str, dict[str, Any]]:
    if not keys:
        return {}
    default = pipeline.source.default_schema
    names = {key: _source_name(open_tables, key).within(default) for key in keys}
    proposals = propose_tables(pipeline.source, source, list(names.values()))
    decided = {}
    for key, name in names.items():
        proposal = proposals.get(name)
        if proposal is None or not proposal.can_run:
            reason = (
                "; ".join(proposal.reasons)
                if proposal
                else "the source has no such table, or this login may not see it"
            )
            raise MissingObject(
                f"{key}: its kind cannot be decided: {reason}.",
                "Nothing was read or written.",
                "Correct the name, grant SELECT on the table, or leave it out: write `false`.",
            )
        decided[key] = _fitting(open_tables.kinds(key), proposal)
    return decided


def _source_name(open_tables: OpenTables, key: str) -> TableName:
    return TableName.parse(str(open_tables.source(key) or key))


def _fitting(kinds: Sequence[str], proposal: Proposal) -> dict[str, Any]:
    """Return the proposed settings, or the kind that the written settings belong to."""
    if proposal.kind in kinds or not kinds:
        return as_settings(proposal)
    return {"kind": kinds[0]}


def as_settings(proposal: Proposal) -> dict[str, Any]:
    values = {setting.name: setting.value for setting in proposal.settings if setting.value is not None}
    return {
        "kind": proposal.kind,
        **{name: list(value) if isinstance(value, tuple) else value for name, value in values.items()},
    }


def _in_written_order(
    complete: Mapping[str, ConfiguredTable], built: Mapping[str, ConfiguredTable], open_tables: OpenTables
) -> dict[str, ConfiguredTable]:
    """Return all tables: those with a name of their own first, in the order of the file."""
    everything = {**complete, **built}
    named = [key for key in open_tables.written if key in everything]
    return {key: everything[key] for key in [*named, *(key for key in built if key not in named)]}


def _notes(pipeline: Pipeline, selection: _Selection, fresh: Mapping[str, ConfiguredTable]) -> tuple[str, ...]:
    notes = []
    if fresh:
        by_kind: dict[str, list[str]] = {}
        for key, table in fresh.items():
            by_kind.setdefault(table.kind, []).append(key)
        kinds = "; ".join(f"{kind}: {_listed(keys)}" for kind, keys in by_kind.items())
        notes.append(f"kinds decided from the catalog, and remembered by the first run: {kinds}")
    if selection.new and pipeline.project.new_tables == "report":
        notes.append(
            f"new in the source, not copied: {_listed(selection.new)}. `new_tables: sync` takes them; so does naming"
            " them in `tables`, and `false` leaves them out"
        )
    elif selection.new:
        notes.append(f"new in the source, taken from now on: {_listed(selection.new)}")
    if selection.gone:
        notes.append(f"no longer in the source: {_listed(selection.gone)}. Their rows stay in the target")
    return tuple(notes)


def _listed(keys: Sequence[str]) -> str:
    more = f" and {pluralize(len(keys) - _SHOWN, 'more table')}" if len(keys) > _SHOWN else ""
    return ", ".join(keys[:_SHOWN]) + more
