"""Tidegate keeps copies of database tables up to date, incrementally and provably.

The vocabulary      errors, model, interfaces, plugins, sql, rows
What can be added   databases -> changes -> lakes -> loads
The engine          config, state, runs, ops, spark, reports
The doors           api, cli
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tidegate._version import __version__

if TYPE_CHECKING:
    from tidegate.api import TableSync as TableSync
    from tidegate.api import Tidegate as Tidegate
    from tidegate.errors import RunFailed as RunFailed
    from tidegate.errors import TidegateError as TidegateError
    from tidegate.runs.listener import Listener as Listener

__all__ = ["Listener", "RunFailed", "TableSync", "Tidegate", "TidegateError", "__version__"]

_HOMES = {
    "Listener": "tidegate.runs.listener",
    "RunFailed": "tidegate.errors",
    "TableSync": "tidegate.api",
    "Tidegate": "tidegate.api",
    "TidegateError": "tidegate.errors",
}


def __getattr__(name: str) -> Any:
    # Public names load on first use: `tidegate --help` and Spark's workers need none of them.
    if name not in _HOMES:
        raise AttributeError(f"module 'tidegate' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
