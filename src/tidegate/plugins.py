"""Plug-ins: found by the name of their module in one of the plug-in folders, or by an entry point.

A package outside of Tidegate adds one with an entry point in the group `tidegate.databases` (or `changes`, `lakes`,
`loads`) whose name is the kind and whose object is what the folder's module would define.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from importlib.metadata import entry_points

from tidegate.errors import Unsupported
from tidegate.interfaces import Database
from tidegate.model.connection import Connection

FOLDERS = ("databases", "changes", "lakes", "loads")


@dataclass(frozen=True)
class PluginInfo:
    """One plug-in. `about` is the first sentence of its documentation."""

    folder: str
    kind: str
    about: str
    origin: str


def database(connection: Connection) -> Database:
    """The database of this kind, at this place. Nothing is connected yet."""
    if connection.kind not in _modules("databases"):
        for found in entry_points(group="tidegate.databases", name=connection.kind):
            made: type[Database] = found.load()
            return made(connection)
        known = ", ".join(_modules("databases"))
        raise Unsupported(
            f"{connection.kind} is not a database that is installed here.",
            "Nothing was read.",
            f"Installed: {known}.",
        )
    module = importlib.import_module(f"tidegate.databases.{connection.kind}")
    adapter = next(
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Database) and thing.__dict__.get("kind") == connection.kind
    )
    return adapter(connection)


def installed() -> list[PluginInfo]:
    """Every plug-in, by folder."""
    found = []
    for folder in FOLDERS:
        for name in _modules(folder):
            module = importlib.import_module(f"tidegate.{folder}.{name}")
            found.append(PluginInfo(folder, name, _first_sentence(module.__doc__), "built in"))
        for entry in entry_points(group=f"tidegate.{folder}"):
            origin = entry.dist.name if entry.dist is not None else "entry point"
            found.append(PluginInfo(folder, entry.name, _first_sentence(entry.load().__doc__), origin))
    return found


def _modules(folder: str) -> list[str]:
    package = importlib.import_module(f"tidegate.{folder}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def _first_sentence(doc: str | None) -> str:
    return " ".join((doc or "").split("\n\n")[0].split())
