"""A project whose source database, target schema and tables are chosen per run: `tidegate sync`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from tidegate import plugins
from tidegate.config.document import Document, composed, text_of
from tidegate.config.engine import with_engine
from tidegate.config.project import Project
from tidegate.config.reading import Build
from tidegate.config.secrets import Variables, refusal
from tidegate.config.tables_file import TablesFile, read_tables_file
from tidegate.model.names import TableName

DEFAULT_CONFIG, DEFAULT_TABLES = Path("tidegate.yml"), Path("conf/tables.yml")
# Where a side is, when no file says it.
_VARIABLES = {"source": "TIDEGATE_SOURCE", "target": "TIDEGATE_TARGET", "lake": "TIDEGATE_LAKE"}


@dataclass(frozen=True)
class Chosen:
    """What one run is about."""

    source_db: str
    target_schema: str
    tables: Sequence[str]
    """Names of tables, without schema."""


def project_of(
    chosen: Chosen,
    config: Path = DEFAULT_CONFIG,
    tables_file: Path = DEFAULT_TABLES,
    environ: Mapping[str, str] | None = None,
    engine: str | None = None,
) -> Project:
    """Return the project of a run. Connections and lake come from `config`, or from the environment where there is no
    such file or it does not name them. Raises ConfigError with file and line."""
    variables = Variables(os.environ if environ is None else environ, config.parent)
    document = Document()
    raw = _settings(config, document)
    configured = raw.get("tables")
    listed = _listed(tables_file, config, configured)
    known = listed.checked(
        {key: raw[key] for key in ("defaults", "batch_rows", "batch_bytes") if key in raw}, variables
    )
    tables: dict[str, Any] = {}
    for table in chosen.tables:
        _require_plain(table, chosen.source_db)
        name = listed.find(chosen.source_db, table)
        if name is not None:
            settings = known[str(name)]
            target = settings.target_table.name if settings.target_table != settings.source_table else table
            own = settings.source_table if settings.source_table != name else TableName("", table)
            places = {"source_table": own, "target_table": TableName(chosen.target_schema, target), "name": table}
            tables[table] = settings.model_copy(update=places)
        elif isinstance(configured, Mapping) and isinstance(configured.get(table), Mapping):
            places = {"source_table": str(TableName("", table)), "target_table": _qualified(chosen, table)}
            tables[table] = {**places, **configured[table], "target_table": _qualified(chosen, table)}
        else:
            raise _unknown(table, chosen, listed, configured)
    raw = {**raw, "tables": tables, "lake": _lake(raw["lake"], listed)}
    if engine is not None:
        raw = with_engine(raw, engine)
    databases = {"source": lambda kind: chosen.source_db, "target": lambda kind: _database(kind, chosen.target_schema)}
    return Build(raw, variables, str(config), document.lines, document.problems, databases).project()


def _settings(config: Path, document: Document) -> dict[str, Any]:
    """Return what the file says, completed by the environment."""
    if config.exists() or config != DEFAULT_CONFIG:
        node = composed(text_of(config), config)
        raw = document.value(node) if node else {}
        if not isinstance(raw, Mapping):
            raise refusal(f"{config}:1: the file holds no settings.", "Begin with `source: ...`.")
    else:
        raw = {}
    missing = {side: f"${{{variable}}}" for side, variable in _VARIABLES.items() if raw.get(side) is None}
    return {**missing, **raw}


def _listed(tables_file: Path, config: Path, configured: Any) -> TablesFile:
    if tables_file.exists() or tables_file != DEFAULT_TABLES:
        return read_tables_file(tables_file)
    if isinstance(configured, Mapping) and configured:
        return TablesFile(tables_file, {})
    raise refusal(
        f"Neither {tables_file} nor `tables` in {config} says how tables are synced.",
        f"Write {tables_file}: `tables:` and below `- name: customers` with its `cdc_strategy`. docs/sync.md has one.",
    )


def _lake(lake: Any, listed: TablesFile) -> Any:
    """Return the settings of the lake, in the layout that keeps databases and schemas apart."""
    settings = dict(lake) if isinstance(lake, Mapping) else {"path": lake}
    settings.setdefault("layout", "schemas")
    if listed.incremental_path is not None:
        settings["incremental_path"] = listed.incremental_path
    return settings


def _database(kind: str, schema: str) -> str:
    """Return the target's database where a schema is one; "" keeps that of the URL."""
    is_schema = plugins.is_installed("databases", kind)
    return schema if is_schema and plugins.database_class(kind).capabilities.schemas_are_databases else ""


def _qualified(chosen: Chosen, table: str) -> str:
    return str(TableName(chosen.target_schema, table))


def _require_plain(table: str, source_db: str) -> None:
    schema, _, name = table.partition(".")
    if name and schema == source_db:
        raise refusal(f"--tables {table}: tables are named without a schema.", f"Write `--tables {name}`.")
    if not table:
        raise refusal("--tables: a name is empty.", "Name a table.")


def _unknown(table: str, chosen: Chosen, listed: TablesFile, configured: Any) -> Exception:
    here = [name.name for name in listed.tables if name.schema in ("", chosen.source_db)]
    here += list(configured) if isinstance(configured, Mapping) else []
    close = get_close_matches(table, here, n=3)
    elsewhere = [str(name) for name in listed.tables if name.name == table]
    if close:
        remedy = f"Did you mean {' or '.join(close)}?"
    elif elsewhere:
        remedy = f"It has {', '.join(elsewhere)}: another `--source-db`, or another name there?"
    else:
        known = f"Known of {chosen.source_db}: {', '.join(sorted(here)[:8])}." if here else ""
        remedy = f"Add `- name: {chosen.source_db}.{table}` to {listed.path}. {known}".strip()
    return refusal(f"{listed.path} says nothing of a table {table} of {chosen.source_db}.", remedy)
