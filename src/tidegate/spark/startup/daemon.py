"""pyspark's daemon for Python workers, prepared for what they will do.

Used on local masters only, where workers run our own Python.

Facts that shape this file
 * Workers are forks of the daemon: what it has imported, none of them has to import.
 * After each task a worker collects garbage, and looks for it in all objects of all modules that are not frozen.
 * Spark puts a zipped copy of pyspark in front of the installed package, and a jar of its own besides. Each task then
   makes Python read the directories of these archives again, which takes longer than a small task itself.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Iterable
from zipimport import zipimporter

from tidegate.spark.startup.without_pandas import keep_pandas_from_lists

MODULES = "TIDEGATE_WORKER_MODULES"
"""The variable that names what workers will need, as far as the process knew that started Spark."""
_ALWAYS = ("pyarrow.compute", "pyarrow.parquet")
_ARCHIVES = (".zip", ".jar")
_MOVE_ROWS = (
    "tidegate.databases.",
    "tidegate.runs.",
    "tidegate.hashing.",
    "tidegate.history.",
    "tidegate.loads.",
    "tidegate.lakes.",
    "tidegate.changes.",
    "tidegate.checks.",
    "tidegate.buckets.",
    "pyarrow.dataset",
)


def worth_importing(loaded: Iterable[str]) -> str:
    """The names among those of a process that splits will ask for, too."""
    return ",".join(sorted(name for name in loaded if name.startswith(_MOVE_ROWS)))


def import_for_workers() -> None:
    keep_pandas_from_lists()
    for name in (*_ALWAYS, *filter(None, os.environ.get(MODULES, "").split(","))):
        with contextlib.suppress(ImportError, OSError):  # the worker that needs it says so
            importlib.import_module(name)
    importlib.import_module("pyarrow").array([0])  # imports numpy.ma and dateutil, which takes longer than a small task


def without_archives() -> None:
    """Take zip files and jars off the path, and forget what was found in them."""
    sys.path[:] = [place for place in sys.path if not place.endswith(_ARCHIVES)]
    for place in [place for place, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)]:
        del sys.path_importer_cache[place]  # of a folder inside of one, too


if __name__ == "__main__":
    without_archives()
    from pyspark.daemon import manager

    import_for_workers()
    gc.freeze()
    manager()  # type: ignore[no-untyped-call]
