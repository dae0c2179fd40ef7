"""The dictionaries of the manager: its own settings, and what an extraction is told."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidegate.api import Window
from tidegate.errors import ConfigError

UNTOUCHED = "Nothing was read or written."
DEFAULTS: dict[str, Any] = {
    "batch_size": 10_000,
    "timeout_seconds": 3600,
    "enable_gap_detection": True,
    "enable_duplicate_handling": True,
}
STRATEGIES = ("timestamp", "sequence", "hybrid", "cdc", "snapshot", "delta")
LOAD_TYPES = ("upsert", "append", "replace", "scd2")
EXTRACTION = {
    "incremental_strategy",
    "table",
    "timestamp_column",
    "sequence_column",
    "id_column",
    "snapshot_column",
    "snapshot_date",
    "primary_key",
    "columns",
    "text_columns",
    "inclusive",
    "look_back",
    "timezone",
    "null_cursor",
    "pipeline_id",
    "source_id",
    *DEFAULTS,
}
CDC = {
    "cdc_type",
    "table",
    "primary_key",
    "event_table",
    "operation_column",
    "position_column",
    "events",
    "feed_name",
    "keep_days",
    "resync",
    "pipeline_id",
    "source_id",
}


@dataclass(frozen=True)
class Extraction:
    """A checked configuration of one extraction."""

    strategy: str
    table: str
    cursor: tuple[str, ...]
    options: Mapping[str, Any]

    @property
    def columns(self) -> list[str] | None:
        return None if self.options.get("columns") is None else list(self.options["columns"])

    def window(self, after: Any) -> Window:
        return Window(
            self.cursor,
            after,
            inclusive=bool(self.options.get("inclusive", False)),
            look_back=int(self.options.get("look_back", 0)),
            timezone=self.options.get("timezone"),
        )


def extraction_of(config: Mapping[str, Any]) -> Extraction:
    """Return the extraction that a configuration asks for. Raises ConfigError."""
    require_known(config, EXTRACTION, "an extraction")
    strategy = one_of(config.get("incremental_strategy", "timestamp"), STRATEGIES, "incremental_strategy")
    if not config.get("table"):
        raise ConfigError("The configuration names no table.", UNTOUCHED, "Set `table`.")
    needed = {
        "timestamp": ("timestamp_column",),
        "sequence": ("sequence_column",),
        "hybrid": ("timestamp_column", "id_column"),
    }.get(strategy, ())
    for key in needed:
        if not config.get(key):
            raise ConfigError(f"The strategy `{strategy}` needs `{key}`.", UNTOUCHED, f"Name the column as `{key}`.")
    optional = ("timestamp_column",) if strategy == "delta" and config.get("timestamp_column") else ()
    cursor = tuple(str(config[key]) for key in (*needed, *optional))
    return Extraction(strategy, str(config["table"]), cursor, config)


def names(given: str | Iterable[str]) -> list[str]:
    """Return column names: one may be given as a text."""
    return [given] if isinstance(given, str) else list(given)


def one_of(given: Any, choices: tuple[str, ...], what: str) -> str:
    if given not in choices:
        near = difflib.get_close_matches(str(given), choices, n=1)
        hint = f"Did you mean `{near[0]}`?" if near else f"Choose one of: {', '.join(choices)}."
        raise ConfigError(f"`{given}` is no {what}.", UNTOUCHED, hint)
    return str(given)


def require_known(given: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    """Raise ConfigError for a key that is not known, with the nearest right one."""
    keys = set(known)
    for key in given:
        if key not in keys:
            near = difflib.get_close_matches(str(key), sorted(keys), n=1)
            hint = f"Did you mean `{near[0]}`?" if near else f"Keys here: {', '.join(sorted(keys))}."
            raise ConfigError(f"`{key}` is not a key of {where}.", UNTOUCHED, hint)
