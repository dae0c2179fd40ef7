"""Plug-ins: databases, changes, lakes, loads and checks, found by the name of their module or by an entry point.

A package outside of Tidegate adds one with an entry point in the group `tidegate.databases`, `tidegate.changes`,
`tidegate.lakes`, `tidegate.loads` or `tidegate.checks`. Its name is the plug-in's name, its object is the class.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tidegate.errors import Unsupported
from tidegate.interfaces.change import Change
from tidegate.interfaces.check import Check
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.load import Load
from tidegate.model.connection import Connection

FOLDERS: dict[str, type] = {"databases": Database, "changes": Change, "lakes": Lake, "loads": Load, "checks": Check}


@dataclass(frozen=True)
class PluginInfo:
    """One plug-in. `about` is the first sentence of its documentation."""

    folder: str
    kind: str
    about: str
    origin: str


def database(connection: Connection) -> Database:
    """Return the database of this kind, at this place. Nothing is connected yet."""
    return database_class(connection.kind)(connection)


def database_class(kind: str) -> type[Database]:
    found: type[Database] = _class("databases", kind)
    return found


def change(name: str) -> type[Change]:
    found: type[Change] = _class("changes", name)
    return found


def lake(name: str) -> type[Lake]:
    found: type[Lake] = _class("lakes", name)
    return found


def load(name: str) -> type[Load]:
    found: type[Load] = _class("loads", name)
    return found


def check(name: str) -> Check:
    found: type[Check] = _class("checks", name)
    return found()


def names(folder: str) -> list[str]:
    """Return the names of all plug-ins of a folder, built in or installed."""
    return [*_modules(folder), *(entry.name for entry in _entry_points(folder))]


def is_installed(folder: str, name: str) -> bool:
    """Return whether a plug-in of this name can be used. Packages are searched only where none is built in."""
    return name in _modules(folder) or name in names(folder)


def installed() -> list[PluginInfo]:
    """Return every plug-in, by folder."""
    return [info for folder in FOLDERS for info in _described(folder)]


def _described(folder: str) -> Iterator[PluginInfo]:
    for name in _modules(folder):
        module = importlib.import_module(f"tidegate.{folder}.{name}")
        yield PluginInfo(folder, name, _first_sentence(module.__doc__), "built in")
    for entry in _entry_points(folder):
        origin = entry.dist.name if entry.dist is not None else "entry point"
        yield PluginInfo(folder, entry.name, _first_sentence(entry.load().__doc__), origin)


def _class(folder: str, name: str) -> Any:
    if name in _modules(folder):
        return _class_of_module(folder, name)
    for entry in _entry_points(folder):
        if entry.name == name:
            return _checked(folder, entry)
    raise Unsupported(
        f"`{name}` is not among the {folder} that are installed here.",
        "Nothing was read.",
        f"Installed: {', '.join(names(folder))}.",
    )


def _checked(folder: str, entry: EntryPoint) -> Any:
    """Return the class of an entry point. Raises Unsupported for anything else: it would fail later, and in riddles."""
    found, base = entry.load(), FOLDERS[folder]
    if isinstance(found, type) and issubclass(found, base) and not getattr(found, "__abstractmethods__", None):
        return found
    missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
    raise Unsupported(
        f"The plug-in `{entry.name}` ({entry.value}) is no {base.__name__}"
        + (f": it lacks {missing}." if missing else ": its entry point must name a class of that interface."),
        "Nothing was read.",
        "Correct the package that brings it, or uninstall it.",
    )


def _class_of_module(folder: str, name: str) -> Any:
    """Return the class of a plug-in module: the one that says so by its `kind` or `name`."""
    module, base = importlib.import_module(f"tidegate.{folder}.{name}"), FOLDERS[folder]
    return next(
        thing
        for thing in vars(module).values()
        if isinstance(thing, type)
        and issubclass(thing, base)
        and name in (thing.__dict__.get("kind"), thing.__dict__.get("name"))
    )


@cache
def _modules(folder: str) -> list[str]:
    package = importlib.import_module(f"tidegate.{folder}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def _entry_points(folder: str) -> list[EntryPoint]:
    return list(entry_points(group=f"tidegate.{folder}"))


def _first_sentence(doc: str | None) -> str:
    return " ".join((doc or "").split("\n\n")[0].split())
