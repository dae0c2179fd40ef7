"""Lines of log of the pipeline class. What a run does is said by the engine, on the logger `tidegate`."""

from __future__ import annotations

import logging

LOGGER = logging.getLogger("IncrementalSQLServerParquetPipeline")


def configure_logging(level: str | int | None) -> None:
    """Set the level of both loggers; where the lines go is the program's decision."""
    if level is not None:
        for logger in (LOGGER, logging.getLogger("tidegate")):
            logger.setLevel(level.upper() if isinstance(level, str) else level)
