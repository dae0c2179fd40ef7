"""The settings of a table: what every table has, and those of its change and its load.

The settings of a change or a load are a model in its own module. The model of a table is composed of them, so a plug-in
brings its settings along and nothing is listed here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Self

from pydantic import create_model, model_validator

from tidegate import plugins
from tidegate.config.kinds import KINDS
from tidegate.errors import Unsupported
from tidegate.settings import BATCH_BYTES, BATCH_ROWS, Count, Name, Settings, Size, Text, wrong


class Retain(Settings):
    """How much is kept. All, when it is left out."""

    target: Count | None = None
    """How many of the newest values the target keeps; older ones are removed by plan. Partition tables only."""
    lake: Count | None = None
    """How many of the newest entries of a table the lake keeps."""


class TableSettings(Settings):
    """What every table has."""

    filled_in: ClassVar[frozenset[str]] = frozenset({"name"})

    name: Text
    kind: Text
    """A preset of a change and a load: `partition`, `scd2` or `static`."""
    changes: Text | None = None
    """How the table knows what moved, instead of the kind's own change."""
    load: Text | None = None
    """How rows are applied to the target, instead of the kind's own load."""
    source_table: Name
    """Its name in the source, when it is not the key; `schema.table` where it is outside of the default schema."""
    target_table: Name
    """Its name in the target, likewise."""
    on_target_change: Literal["report", "restore", "keep"] = "report"
    """What happens to rows that somebody changed or added in the target: `report`, `restore` or `keep`."""
    retain: Retain = Retain()
    """How many values target and lake keep. All, when it is left out."""
    max_apply_rows: Count | None = None
    """How many rows one transaction may bring to the target. A plan that needs more is refused."""
    columns: Mapping[str, Literal["text"]] = {}
    """Columns that are kept as exact text: `{amount: text}`."""
    batch_rows: Count = BATCH_ROWS
    """Rows of one Arrow batch, at most."""
    batch_bytes: Size = BATCH_BYTES
    """Bytes of one Arrow batch, at most."""

    @property
    def change_name(self) -> str:
        return self.changes or KINDS[self.kind].change

    @property
    def load_name(self) -> str:
        return self.load or KINDS[self.kind].load

    @property
    def load_priority(self) -> int:
        return KINDS[self.kind].load_priority

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is composed: it has no module that pickle could import it from.
        return _restored, (self.kind, self.changes, self.load, self.__getstate__())

    @model_validator(mode="after")
    def _fits_the_change(self) -> Self:
        if self.retain.target is not None and not plugins.change(self.change_name).retains_in_target:
            raise wrong("has `retain: {target: ...}`, which only partition tables have")
        return self

    @model_validator(mode="before")
    @classmethod
    def _named_like_the_key(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        key = given.get("name")
        tables = {side: given.get(side) or key for side in ("source_table", "target_table")}
        return {**given, **tables}


def table_model(kind: str, changes: str | None = None, load: str | None = None) -> type[TableSettings]:
    """Return the model of a table's settings. Raises Unsupported for a change or load that is not installed, and for
    two that make no sense together."""
    preset = KINDS[kind]
    change = plugins.change(changes or preset.change)
    load_class = plugins.load(load or preset.load)
    if not (load_class.name in change.loads or change.name in load_class.changes):
        raise Unsupported(
            f"`load: {load_class.name}` does not fit `changes: {change.name}`.",
            "Nothing was read.",
            f"Loads that fit: {', '.join(change.loads)}.",
        )
    return _composed(kind, change.Settings, load_class.Settings)


@cache
def _composed(kind: str, change: type[Settings], load: type[Settings]) -> type[TableSettings]:
    bases: Any = tuple(dict.fromkeys((TableSettings, change, load)))
    composed: type[TableSettings] = create_model(f"{kind.title()}Table", __base__=bases)
    return composed


def _restored(kind: str, changes: str | None, load: str | None, state: dict[Any, Any]) -> TableSettings:
    model = table_model(kind, changes, load)
    settings = model.__new__(model)
    settings.__setstate__(state)
    return settings


def setting_names() -> set[str]:
    """Return every setting that some table may have."""
    models: list[type[Settings]] = [TableSettings]
    models += [plugins.change(name).Settings for name in plugins.names("changes")]
    models += [plugins.load(name).Settings for name in plugins.names("loads")]
    return {name for model in models for name in model.setting_names()}
