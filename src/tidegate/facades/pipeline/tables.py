"""The dictionaries of the pipeline class, translated into settings of tables.

| section            | kind        | keys that have another name here                                     |
| ------------------ | ----------- | -------------------------------------------------------------------- |
| `partition_tables` | `partition` | `partition_switching: {switch_method}` is `switch`; see `_translated`  |
| `scd_tables`       | `scd2`      | none                                                                 |
| `static_tables`    | `static`    | none                                                                 |

Every other key is a setting of the table under its own name. An unknown key is refused with the nearest right one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from tidegate.errors import ConfigError

SECTIONS = {"partition_tables": "partition", "scd_tables": "scd2", "static_tables": "static"}
GLOBAL_SETTINGS = {
    "parquet_compression",
    "decimal_precision_validation",
    "error_threshold",
    "enable_monitoring",
    "log_level",
}
PLACES = {"source_connection", "target_connection"}
SWITCHING = {
    "enabled",
    "switch_method",
    "staging_table_suffix",
    "validate_schema",
    "compress_staging",
    "parallel_load",
    "max_parallel",
    "cleanup_archives",
    "archive_retention_days",
}
UNTOUCHED = "Nothing was read or written."
Tables = Mapping[str, Mapping[str, Any]]


def sections_of(table_config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings of every table of a whole configuration, by name. Raises ConfigError for unknown keys."""
    require_known(table_config, {*SECTIONS, *PLACES, "global_settings"}, "the configuration")
    tables: dict[str, dict[str, Any]] = {}
    for section in SECTIONS:
        for name, settings in tables_of(section, table_config.get(section) or {}).items():
            if name in tables:
                raise ConfigError(
                    f"{name} stands in two sections of the configuration.", UNTOUCHED, "Keep one of them."
                )
            tables[name] = settings
    return tables


def tables_of(section: str, given: Tables | list[str]) -> dict[str, dict[str, Any]]:
    """Return the settings of the tables of one section. A list of names means tables without settings."""
    named: Tables = {name: {} for name in given} if isinstance(given, list) else given
    return {name: {"kind": SECTIONS[section], **_translated(name, settings or {})} for name, settings in named.items()}


def _translated(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with the keys of partition switching translated."""
    own = {
        key: value for key, value in settings.items() if key not in ("sql_server_partitioned", "partition_switching")
    }
    switching = settings.get("partition_switching") or {}
    require_known(switching, SWITCHING, f"partition_switching of {name}")
    if not switching or not switching.get("enabled", True) or settings.get("sql_server_partitioned") is False:
        return own
    keeps = not switching.get("cleanup_archives", False)
    translated = {
        "switch": switching.get("switch_method", "auto"),
        "staging_suffix": switching.get("staging_table_suffix"),
        "compress_staging": switching.get("compress_staging"),
        "parallel_load": switching.get("parallel_load"),
        "archive_retention_days": switching.get("archive_retention_days") if keeps else 0,
    }
    return {**own, **{key: value for key, value in translated.items() if value is not None}}


def parallel_of(tables: Tables) -> int | None:
    """Return how many partitions may be loaded at once, by the table that allows most; None where none says."""
    switching = [(settings or {}).get("partition_switching") or {} for settings in tables.values()]
    return max((int(given["max_parallel"]) for given in switching if given.get("max_parallel")), default=None)


def require_known(given: Mapping[str, Any], known: set[str], where: str) -> None:
    """Raise ConfigError for a key that is not among `known`, with the nearest right one."""
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Keys here: {', '.join(sorted(known))}."
            raise ConfigError(f"`{key}` is not a key of {where}.", UNTOUCHED, hint)
