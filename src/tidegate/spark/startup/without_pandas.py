"""What the command and Spark's workers do without.

pyarrow imports pandas as soon as it is given a list, to tell whether it is one of its series. Nothing here ever is,
and the import takes as long as moving 100,000 rows. Whoever else asks for pandas gets it, Spark and plugins too, and so
does pyarrow itself once somebody asks it for a DataFrame.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

from tidegate.spark.startup import ENABLED

_WITH_LISTS = ("tidegate.", "pyarrow.compute", "pyarrow.parquet")


class _NotForLists(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas" and _whoever_imports().startswith(_WITH_LISTS):
            raise ModuleNotFoundError("pyarrow has to do without pandas here", name=fullname)
        return None


def _whoever_imports() -> str:
    """The module whose code runs; pyarrow's own is compiled and has no frame, so it is the one that called it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(("importlib", __name__)):
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


def keep_pandas_from_lists() -> None:
    """Calling it again does nothing."""
    if ENABLED and not any(isinstance(finder, _NotForLists) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NotForLists())
