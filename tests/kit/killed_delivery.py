"""A delivery to dlt that dies at one moment. Run as a program: configuration, moment."""

from __future__ import annotations

import os
import sys
from typing import Any

from tidegate.api import Tidegate
from tidegate.dlt import deliver


def _die(*_: Any, **__: Any) -> None:
    os._exit(9)


def main(file: str, moment: str) -> None:
    from dlt.load import Load
    from dlt.pipeline.pipeline import Pipeline

    if moment == "normalize":
        Pipeline.normalize = _die
    elif moment == "before the last word":
        Load.complete_package = _die
    else:
        finished, complete = [0], Load.complete_jobs

        def count(self: Load, *arguments: Any) -> Any:
            finished[0] += 1
            return _die() if finished[0] > 1 else complete(self, *arguments)

        Load.complete_jobs = count
    deliver(Tidegate.from_file(file))


main(*sys.argv[1:])
