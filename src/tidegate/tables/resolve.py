"""Resolve a configured table: find it in both catalogs and bind its change, its load and its checks."""

from __future__ import annotations

from dataclasses import replace

from tidegate import plugins
from tidegate.config.tables import ConfiguredTable
from tidegate.tables.found import Catalogs, reconcile_schema, source_schema
from tidegate.tables.mapping import mapped, notices
from tidegate.tables.planned import SyncTable


def resolve(settings: ConfiguredTable, catalogs: Catalogs) -> SyncTable:
    """Raises MissingObject, Unsupported, ConfigError or DriftStop, each with what to do."""
    change_class, load_class = plugins.change(settings.change_name), plugins.load(settings.load_name)
    base = source_schema(settings, catalogs)
    source = mapped(settings, base, catalogs.source.database)
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
    found = replace(found, notices=(*found.notices, *notices(settings, base)))
    load, found = load_class.bind(settings, found, required, columns, catalogs)
    change = change_class.bind(settings, found, columns, load.needs, catalogs)
    checks = tuple(plugins.check(name) for name in settings.check or (load.check,))
    return SyncTable(change.table, change, load, checks, settings.load_priority)
