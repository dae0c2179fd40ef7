"""Kinds of tables: presets of a change and a load. Every part can be chosen by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_IN_LAKE = "lake_"


@dataclass(frozen=True)
class Preset:
    """What a kind stands for, as long as a table does not say otherwise."""

    change: str
    load: str
    load_priority: int
    """Loads go from the smallest number to the greatest: reference data, then dimensions, then facts."""
    load_by_setting: Mapping[str, str] = field(default_factory=dict)
    """Settings that choose a load by being there: `switch: auto` asks for `switch_partition`."""

    def load_for(self, given: Mapping[str, object]) -> str:
        """Return the load of a table: the one that it names, else by the settings that it has. A table of the lake is
        kept by a load of its own."""
        chosen = [load for setting, load in self.load_by_setting.items() if given.get(setting) is not None]
        load = str(given.get("load") or (chosen[0] if chosen else self.load))
        in_lake = given.get("target") == "lake" and not load.startswith(_IN_LAKE)
        return f"{_IN_LAKE}{load}" if in_lake else load


KINDS = {
    "partition": Preset("partition", "replace_partition", 3, {"switch": "switch_partition"}),
    "scd2": Preset("cursor", "scd2", 2),
    "static": Preset("content_hash", "merge", 1),
    "incremental": Preset("hybrid", "merge", 3),
}


@dataclass(frozen=True)
class Strategy:
    """What a `cdc_strategy` of `tables.yml` stands for, and the settings that its columns are."""

    kind: str
    change: str
    timestamp: str = ""
    """The setting that `cdc_timestamp_column` is; empty where a table has none."""
    id: str = ""
    """The setting that `cdc_id_column` is."""
    load: str | None = None


_FULL = Strategy("incremental", "full", load="replace")
STRATEGIES = {
    "hybrid": Strategy("incremental", "hybrid", "timestamp_column", "id_column"),
    "timestamp": Strategy("incremental", "timestamp", "timestamp_column"),
    "timestamp_only": Strategy("incremental", "timestamp", "timestamp_column"),
    "id_only": Strategy("incremental", "sequence", id="sequence_column"),
    "full_sync": _FULL,
}
DEFAULT_STRATEGY = "timestamp"
DEFAULT_TIMESTAMP = "update_at"
# Dimensions: the versions of a table that is read as a whole are generated from one copy to the next.
VERSIONED = "scd2"
VERSIONS_OF_COPIES = {"kind": "scd2", "initial_load": "full"}
GENERATED = {"load": VERSIONED, "history": "generate"}
