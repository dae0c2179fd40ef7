"""Turn `conf/tables.yml` into the tables of `tidegate.yml`, and back. Both say the same in two forms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tidegate.config.document import Document, composed, text_of
from tidegate.config.kinds import GENERATED, KINDS, STRATEGIES, VERSIONS_OF_COPIES, Strategy
from tidegate.config.project import Lake
from tidegate.config.secrets import refusal
from tidegate.config.tables_file import ID, NAME, SCD, STRATEGY, TIMESTAMP, read_tables_file
from tidegate.model.names import TableName

_PLACES = {"source": "${TIDEGATE_SOURCE}", "target": "${TIDEGATE_TARGET}"}
_LAKE = {"path": "${TIDEGATE_LAKE}", "layout": "schemas"}


def converted(path: Path) -> str:
    """Return the other form of a file, as YAML. Raises ConfigError for what the other form cannot say."""
    node, document = composed(text_of(path), path), Document()
    raw = document.value(node) if node else None
    tables = raw.get("tables") if isinstance(raw, Mapping) else None
    if isinstance(tables, list):
        return _as_project(path)
    if isinstance(raw, Mapping) and isinstance(tables, Mapping) and tables:
        return _as_list(path, raw, tables)
    raise refusal(f"{path}:1: the file has no tables.", "Name a `tables.yml` or a `tidegate.yml` that lists tables.")


def _as_project(path: Path) -> str:
    known = read_tables_file(path)
    lake = dict(_LAKE)
    if known.incremental_path is not None:
        lake["incremental_path"] = known.incremental_path
    tables = {str(name): dict(settings) for name, settings in known.tables.items()}
    return _written({**_PLACES, "lake": lake, "tables": tables})


def _as_list(path: Path, raw: Mapping[str, Any], tables: Mapping[str, Any]) -> str:
    found: dict[str, Any] = {}
    lake = raw.get("lake")
    incremental = lake.get("incremental_path") if isinstance(lake, Mapping) else None
    if incremental not in (None, Lake.model_fields["incremental_path"].default):
        found["s3"] = {"incremental_path": incremental}
    found["tables"] = [_entry(path, key, settings) for key, settings in tables.items()]
    return _written(found)


def _entry(path: Path, key: str, given: Any) -> dict[str, Any]:
    try:
        is_one = isinstance(given, Mapping) and not any(letter in key for letter in "*?[") and TableName.parse(key)
    except ValueError:
        is_one = False
    if not is_one:
        raise refusal(
            f"{path}: tables.{key} is a pattern or no table, which `tables.yml` cannot have.",
            "Name each table in a line of its own.",
        )
    settings = dict(given)
    name = settings.pop("source_table", None) or key
    if name != key and "target_table" not in settings:
        settings["target_table"] = key
    return {NAME: str(name), **_with_strategy(settings)}


def _with_strategy(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with a strategy and its columns, where one says the same."""
    rest = {key: value for key, value in settings.items() if key not in VERSIONS_OF_COPIES}
    if settings.items() >= {**VERSIONS_OF_COPIES, **GENERATED}.items():
        own = {key: value for key, value in rest.items() if key not in GENERATED}
        return {STRATEGY: "full_sync", SCD: 2, **own}
    for name, strategy in STRATEGIES.items():
        if (
            settings.get("kind") == strategy.kind
            and settings.get("changes", KINDS[strategy.kind].change) == strategy.change
        ):
            found = _of_strategy(name, strategy, settings)
            if found is not None:
                return found
    return settings


def _of_strategy(name: str, strategy: Strategy, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    rest = {key: value for key, value in settings.items() if key not in ("kind", "changes")}
    if strategy.timestamp and strategy.timestamp not in rest:
        return None
    pairs = ((TIMESTAMP, strategy.timestamp), (ID, strategy.id))
    columns = {key: rest.pop(setting) for key, setting in pairs if setting and setting in rest}
    versions = {}
    if rest.items() >= GENERATED.items() and (strategy.timestamp or strategy.id):
        versions = {SCD: 2}
        rest = {key: value for key, value in rest.items() if key not in GENERATED}
    elif strategy.load is not None and rest.get("load") == strategy.load:
        del rest["load"]
    elif strategy.load is not None:
        return None
    return {STRATEGY: name, **columns, **versions, **rest}


def _written(found: Mapping[str, Any]) -> str:
    return yaml.safe_dump(found, sort_keys=False, allow_unicode=True, default_flow_style=False)
