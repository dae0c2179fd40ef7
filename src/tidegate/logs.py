"""Logs by standard `logging`: the logger, two formats, and where lines go.

The logger is `tidegate`. A program that embeds Tidegate handles its lines as it handles all others. The command line
sets handlers by `logging:` of the configuration. Every text is redacted before it becomes a line.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LOGGER = logging.getLogger("tidegate")
# Without a handler, Python would print warnings of a library on standard error.
LOGGER.addHandler(logging.NullHandler())

_FACTS = "tidegate_facts"
_OURS = "tidegate_handler"
LEVELS = ("debug", "info", "warning", "error")


def log(level: int, text: str, redact: Callable[[str], str], **facts: Any) -> None:
    """Write one line. `facts` are what it says, for programs: table, window, rows, seconds, run."""
    if LOGGER.isEnabledFor(level):
        known = {name: redact(value) if isinstance(value, str) else value for name, value in facts.items()}
        LOGGER.log(level, "%s", redact(text), extra={_FACTS: known})


class TextFormat(logging.Formatter):
    """`2026-01-05T06:00:01.204Z INFO sales 20260104: load done, 100 rows, 0.4 s, run r-20260105-060001-3fa9c1`."""

    def format(self, record: logging.LogRecord) -> str:
        text = f"{_time(record)} {record.levelname} {record.getMessage()}".replace("\n", " | ")
        return f"{text}\n{self.formatException(record.exc_info)}" if record.exc_info else text


class JsonFormat(logging.Formatter):
    """One JSON object in each line: time, level, logger, message, and the facts of the line."""

    def format(self, record: logging.LogRecord) -> str:
        facts: Mapping[str, Any] = getattr(record, _FACTS, {})
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **facts,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def configure(level: str, form: str, file: Path | None) -> None:
    """Send lines of this level and above to a file, or to standard error. Replaces what an earlier call set."""
    for handler in [handler for handler in LOGGER.handlers if getattr(handler, _OURS, False)]:
        LOGGER.removeHandler(handler)
        handler.close()
    made: logging.Handler
    if file is None:
        made = logging.StreamHandler(sys.stderr)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Opened again when logrotate has moved the file away.
        made = logging.handlers.WatchedFileHandler(file, encoding="utf-8")
    made.setFormatter(JsonFormat() if form == "json" else TextFormat())
    setattr(made, _OURS, True)
    LOGGER.addHandler(made)
    LOGGER.setLevel(level.upper())
