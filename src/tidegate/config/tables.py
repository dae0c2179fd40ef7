"""The settings of a table with its change and its load.

The settings of a change or a load are a model in its own module. The model of a table is composed of them, so a plug-in
brings its settings along and nothing is listed here.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any, Self

from pydantic import create_model, model_validator

from tidegate import plugins
from tidegate.config.kinds import KINDS
from tidegate.errors import Unsupported
from tidegate.interfaces.change import AnyChange
from tidegate.interfaces.load import Load
from tidegate.settings import Settings, TableSettings, wrong


class ConfiguredTable(TableSettings):
    """What every table has, and which parts it is made of."""

    @property
    def change_name(self) -> str:
        return self.changes or KINDS[self.kind].change

    @property
    def load_name(self) -> str:
        return KINDS[self.kind].load_for(self.__dict__)

    @property
    def reads_feed(self) -> bool:
        """Return whether changes and deletes come from a change feed."""
        return plugins.change(self.change_name).reads_feed

    @property
    def load_priority(self) -> int:
        return KINDS[self.kind].load_priority

    def __reduce__(self) -> tuple[Any, ...]:
        # The class is composed: it has no module that pickle could import it from.
        return _restored, (self.kind, self.changes, self.load_name, self.__getstate__())

    @model_validator(mode="after")
    def _checks_fit_the_load(self) -> Self:
        for name in self.check or ():
            if not plugins.is_installed("checks", name):
                known = ", ".join(f"`{check}`" for check in plugins.names("checks"))
                raise wrong(f"asks for the check `{name}`, which is not installed; installed: {known}")
            loads = plugins.check(name).loads
            if loads and self.load_name not in loads:
                raise wrong(f"asks for the check `{name}`, which does not understand `load: {self.load_name}`")
        return self

    @model_validator(mode="after")
    def _fits_the_change(self) -> Self:
        why_not = plugins.change(self.change_name).why_no_target_retention
        if self.retain.target is not None and why_not:
            raise wrong(
                f"has `retain: {{target: ...}}`, which makes no sense with `changes: {self.change_name}`: {why_not}."
                " `retain: {lake: ...}` does, and so does `kind: partition`"
            )
        return self


def table_model(kind: str, changes: str | None = None, load: str | None = None) -> type[ConfiguredTable]:
    """Return the model of a table's settings. Raises Unsupported for a change or load that is not installed, and for
    two that make no sense together."""
    preset = KINDS[kind]
    change = plugins.change(changes or preset.change)
    load_class = plugins.load(load or preset.load)
    if not (load_class.name in change.loads or change.name in load_class.changes):
        raise Unsupported(
            f"`load: {load_class.name}` does not fit `changes: {change.name}`.",
            "Nothing was read.",
            f"Loads that fit: {', '.join(_fitting_loads(change))}.",
        )
    _require_own_names(change, load_class)
    return _composed(kind, change.Settings, load_class.settings_for(change))


def _fitting_loads(change: type[AnyChange]) -> list[str]:
    """Return the loads that fit a change, those of plug-ins too."""
    return [
        name for name in plugins.names("loads") if name in change.loads or change.name in plugins.load(name).changes
    ]


def _require_own_names(change: type[AnyChange], load: type[Load]) -> None:
    """Raise Unsupported for a setting that two parts have and mean differently: one would win in silence."""
    parts: list[tuple[str, type[Settings]]] = [
        ("every table", TableSettings),
        (f"`changes: {change.name}`", change.Settings),
        (f"`load: {load.name}`", load.settings_for(change)),
    ]
    for (one, ours), (other, theirs) in combinations(parts, 2):
        for name, field in ours.model_fields.items():
            if name in theirs.model_fields and repr(field) != repr(theirs.model_fields[name]):
                raise Unsupported(
                    f"{one[0].upper()}{one[1:]} and {other} both have the setting `{name}`, with other values.",
                    "Nothing was read.",
                    "Choose another of them, or rename the setting in the plug-in.",
                )


@cache
def _composed(kind: str, change: type[Settings], load: type[Settings]) -> type[ConfiguredTable]:
    bases: Any = tuple(dict.fromkeys((ConfiguredTable, change, load)))
    composed: type[ConfiguredTable] = create_model(f"{kind.title()}Table", __base__=bases)
    return composed


def _restored(kind: str, changes: str | None, load: str | None, state: dict[Any, Any]) -> ConfiguredTable:
    model = table_model(kind, changes, load)
    settings = model.__new__(model)
    settings.__setstate__(state)
    return settings


def setting_names() -> set[str]:
    """Return every setting that some table may have."""
    models: list[type[Settings]] = [TableSettings]
    models += [plugins.change(name).Settings for name in plugins.names("changes")]
    changes = [plugins.change(name) for name in plugins.names("changes")]
    models += [plugins.load(name).settings_for(change) for name in plugins.names("loads") for change in changes]
    return {name for model in models for name in model.setting_names()}
