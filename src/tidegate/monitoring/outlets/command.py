"""Command: a program of the user gets the alerts as one JSON document on its standard input."""

from __future__ import annotations

import json
import subprocess

from tidegate.config.monitoring import Command
from tidegate.errors import TidegateError
from tidegate.model.health import News, Snapshot
from tidegate.monitoring.outlets import document_of


def start(health: Snapshot, command: Command, news: News) -> None:
    """Start the program for what is new, and wait for it. Raises TidegateError when it fails."""
    document = json.dumps(document_of(health, news), default=str)
    name = command.run[0]
    try:
        ended = subprocess.run(
            command.run, input=document, text=True, capture_output=True, timeout=command.timeout or None, check=False
        )
    except FileNotFoundError:
        raise TidegateError(f"{name} was not found.") from None
    except subprocess.TimeoutExpired:
        raise TidegateError(f"{name} took longer than {command.timeout} s and was ended.") from None
    if ended.returncode:
        raise TidegateError(f"{name} ended with {ended.returncode}: {ended.stderr.strip()[-200:]}")
