"""pyspark's daemon for Python workers, without the zipped copy of pyspark on the path.

Spark puts that copy in front of the installed package. Each task then makes Python read the directory of the archive
again, which costs more than a small task itself. Used on local masters only, where workers run our own Python.
"""

from __future__ import annotations

import sys


def without_archives() -> None:
    """Take zip files off the path, and forget what was found in them."""
    sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]
    for place in [place for place in sys.path_importer_cache if place.endswith(".zip")]:
        del sys.path_importer_cache[place]


if __name__ == "__main__":
    without_archives()
    from pyspark.daemon import manager

    manager()  # type: ignore[no-untyped-call]
