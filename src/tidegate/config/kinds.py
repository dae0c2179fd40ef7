"""Kinds of tables: presets of a change and a load. Every part can be chosen by itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """What a kind stands for, as long as a table does not say otherwise."""

    change: str
    load: str
    load_priority: int
    """Loads go from the smallest number to the greatest: reference data, then dimensions, then facts."""


KINDS = {
    "partition": Preset("partition", "replace_partition", 3),
    "scd2": Preset("cursor", "scd2", 2),
    "static": Preset("content_hash", "merge", 1),
}
COMING_KINDS = ("incremental",)
