"""Resolve a configured table: find it in both catalogs and bind its change, its load and its checks."""

from __future__ import annotations

from dataclasses import replace

from tidegate import plugins
from tidegate.config.tables import ConfiguredTable
from tidegate.errors import Unsupported
from tidegate.interfaces.change import AnyChange
from tidegate.interfaces.load import Load
from tidegate.model.plan import Notice
from tidegate.tables.found import (
    UNTOUCHED,
    Catalogs,
    kept_in_lake,
    reconcile_schema,
    schema_of_target,
    source_schema,
)
from tidegate.tables.mapping import mapped, notices
from tidegate.tables.own_types import with_known_types, with_types
from tidegate.tables.planned import SyncTable
from tidegate.tables.transform import Transform
from tidegate.tables.triggers import with_triggers


def resolve(settings: ConfiguredTable, catalogs: Catalogs) -> SyncTable:
    """Raises MissingObject, Unsupported, ConfigError or DriftStop, each with what to do."""
    change_class, load_class = plugins.change(settings.change_name), plugins.load(settings.load_name)
    _require_capabilities(settings, change_class, load_class, catalogs)
    base = source_schema(settings, catalogs) if change_class.has_source_table else schema_of_target(settings, catalogs)
    source = with_known_types(settings, mapped(settings, base, catalogs.source.database), catalogs)
    columns = change_class.columns(settings, source, catalogs)
    required = load_class.requirements(settings, source, columns, catalogs)
    found = reconcile_schema(
        settings,
        required.source,
        catalogs,
        index=columns.index or required.index,
        keep_types=(*columns.keep_types, *required.keep_types),
        needed=required.needed,
        deletes=required.deletes,
        generated=required.generated,
    )
    found = with_triggers(replace(found, notices=(*found.notices, *notices(settings, base))), catalogs.target.database)
    found = kept_in_lake(found) if settings.target == "lake" else found
    raw_name, transform = found.lake_name, _transform_of(settings, change_class, load_class)
    if transform is not None:
        text = f"the target is derived: each row goes through `transform: {transform.text}`"
        found = replace(found, lake_name=transform.curated(raw_name), notices=(*found.notices, Notice(text)))
    found = with_types(found, catalogs)
    load, found = load_class.bind(settings, found, required, columns, catalogs)
    change = change_class.bind(settings, found, columns, load.needs, catalogs)
    checks = tuple(plugins.check(name) for name in settings.check or (load.check,))
    raw = replace(change.lake_table, name=raw_name) if transform is not None else None
    return SyncTable(change.table, change, load, checks, settings.load_priority, transform, raw)


def _require_capabilities(
    settings: ConfiguredTable, change: type[AnyChange], load: type[Load], catalogs: Catalogs
) -> None:
    """Raise Unsupported for a server that cannot do what the table asks for, before anything of it is read."""
    for capability in change.source_capabilities:
        asked = f"`changes: {change.name}` of {settings.name}"
        catalogs.source.database.require(capability, for_=asked, instead="Choose another `changes`.")
    for capability, setting in load.target_capabilities(settings).items():
        catalogs.target.database.require(
            capability, for_=f"{setting} of {settings.name}", instead=f"Leave out {setting}."
        )


def _transform_of(settings: ConfiguredTable, change: type[AnyChange], load: type[Load]) -> Transform | None:
    if settings.transform is None:
        return None
    if not (change.takes_transform and load.takes_transform):
        what = f"`changes: {change.name}`" if not change.takes_transform else f"`load: {load.name}`"
        raise Unsupported(
            f"{settings.name}: a table with {what} takes no `transform`: its versions are compared with the source.",
            UNTOUCHED,
            "Transform the rows in a view of the target, or before they are versions.",
        )
    if getattr(settings, "mode", None) == "images":
        raise Unsupported(
            f"{settings.name}: `mode: images` keeps changes in the lake as the log has them, untransformed.",
            UNTOUCHED,
            "Use `mode: keys`.",
        )
    return Transform(settings.transform.strip(), settings.name)
