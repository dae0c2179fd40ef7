"""Plug-ins: databases, changes, lakes, loads and checks, found by the name of their module or by an entry point.

A package outside of Tidegate adds one with an entry point in the group `tidegate.databases`, `tidegate.changes`,
`tidegate.lakes`, `tidegate.loads` or `tidegate.checks`. Its name is the plug-in's name, its object is the class.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tidegate.errors import Unsupported
from tidegate.interfaces.capabilities import Capabilities
from tidegate.interfaces.change import AnyChange, Change
from tidegate.interfaces.check import Check
from tidegate.interfaces.database import Database
from tidegate.interfaces.lake import Lake
from tidegate.interfaces.load import Load
from tidegate.model.connection import Connection
from tidegate.settings import Settings
from tidegate.sql.text import Dialect

FOLDERS: dict[str, type] = {"databases": Database, "changes": Change, "lakes": Lake, "loads": Load, "checks": Check}

_NAMED_BY = {"databases": "kind", "changes": "name", "lakes": "kind", "loads": "name", "checks": "name"}


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _are_settings(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Settings)


def _are_names(value: object) -> bool:
    # A text is a sequence of texts, too: loads = ("merge") would fit `m` and `e`.
    return isinstance(value, (tuple, list)) and all(_is_text(name) for name in value)


# What Python does not check: attributes of a class, which are read long after it was found.
_NAME = ("name", _is_text, "needs a class attribute `name`")
_KIND = ("kind", _is_text, "needs a class attribute `kind`")
_SETTINGS = ("Settings", _are_settings, "needs a class attribute `Settings`, a subclass of tidegate.settings.Settings")
_LOADS = ("loads", _are_names, "needs a class attribute `loads`, a tuple of names")
_ATTRIBUTES: dict[str, tuple[tuple[str, Callable[[object], bool], str], ...]] = {
    "databases": (
        _KIND,
        ("label", _is_text, "needs a class attribute `label`, its name for people"),
        ("dialect", lambda value: isinstance(value, Dialect), "needs a class attribute `dialect`, a Dialect"),
        (
            "capabilities",
            lambda value: isinstance(value, Capabilities),
            "needs a class attribute `capabilities`, a Capabilities",
        ),
    ),
    "changes": (_NAME, _SETTINGS, _LOADS),
    "lakes": (_KIND,),
    "loads": (_NAME, _SETTINGS, ("changes", _are_names, "needs `changes` to be a tuple of names")),
    "checks": (_NAME, _LOADS),
}


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


def change(name: str) -> type[AnyChange]:
    found: type[AnyChange] = _class("changes", name)
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
    entries = _entry_points(folder)
    for entry in entries:
        try:
            about = _first_sentence(_of_entry_point(folder, entry.name, entries).__doc__)
        except Unsupported as problem:
            about = f"cannot be used: {problem.happened}"
        yield PluginInfo(folder, entry.name, about, _origin(entry))


def _class(folder: str, name: str) -> Any:
    if name in _modules(folder):
        return _class_of_module(folder, name)
    entries = _entry_points(folder)
    if any(entry.name == name for entry in entries):
        return _of_entry_point(folder, name, entries)
    raise Unsupported(
        f"`{name}` is not among the {folder} that are installed here.",
        "Nothing was read.",
        f"Installed: {', '.join(names(folder))}.",
    )


def _of_entry_point(folder: str, name: str, installed: Iterable[EntryPoint]) -> Any:
    """Return the class that a package brings under this name. Raises Unsupported where two packages bring one, where
    the name is taken, and for a class that could not work: it would fail later, and in riddles."""
    entries = [entry for entry in installed if entry.name == name]
    origins = [*(["Tidegate"] if name in _modules(folder) else []), *map(_origin, entries)]
    if len(origins) > 1:
        raise Unsupported(
            f"The name `{name}` is taken twice among the {folder}: by {' and by '.join(origins)}.",
            "Nothing was read.",
            "Uninstall one of them, or give one another name.",
        )
    [entry] = entries
    wrong = _what_is_wrong(folder, entry)
    if wrong:
        raise Unsupported(
            f"The plug-in `{name}` ({entry.value}) {wrong}.",
            "Nothing was read.",
            "Correct the package that brings it, or uninstall it.",
        )
    return entry.load()


def _what_is_wrong(folder: str, entry: EntryPoint) -> str:
    """Return why the object of an entry point is no plug-in of this folder; empty when it is one."""
    try:
        found, base = entry.load(), FOLDERS[folder]
    except Exception as problem:  # whatever happens in a module of somebody else while it is imported
        return f"cannot be imported: {type(problem).__name__}: {problem}"
    if not (isinstance(found, type) and issubclass(found, base)):
        return f"is no {base.__name__}: its entry point must name a class of that interface"
    missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
    if missing:
        return f"is no {base.__name__}: it lacks {missing}"
    for name, fits, why in _ATTRIBUTES[folder]:
        if not fits(getattr(found, name, None)):
            return why
    own_name = getattr(found, _NAMED_BY[folder])
    is_other = own_name != entry.name
    return f"has the {_NAMED_BY[folder]} `{own_name}`: it must be the name of its entry point" if is_other else ""


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


def _origin(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "entry point"


@cache
def _modules(folder: str) -> list[str]:
    package = importlib.import_module(f"tidegate.{folder}")
    return sorted(module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_"))


def _entry_points(folder: str) -> list[EntryPoint]:
    return list(entry_points(group=f"tidegate.{folder}"))


def _first_sentence(doc: str | None) -> str:
    return " ".join((doc or "").split("\n\n")[0].split())
