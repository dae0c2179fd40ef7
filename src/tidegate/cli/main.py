"""The command `tidegate`."""

from __future__ import annotations

import atexit
import importlib
import os
import sys

import click

from tidegate._version import __version__
from tidegate.spark.lean import keep_pandas_from_lists

# Where each command lives. Modules are imported when a command is asked for, so that --help stays quick.
_COMMANDS = {
    "start": ("init", "demo"),
    "daily": ("plan", "run", "verify", "repair", "backfill"),
    "look": ("status", "explain", "describe", "grants", "history", "report", "plugins"),
    "operate": ("adopt", "forget", "clean"),
}


class _Commands(click.Group):
    """Finds a command by its name, in the order of the day."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in _COMMANDS.values() for name in names]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        for module, names in _COMMANDS.items():
            if name in names:
                found: click.Command = getattr(importlib.import_module(f"tidegate.cli.{module}"), name)
                return found
        return None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="tidegate")
def main() -> None:
    """Keep copies of database tables up to date, incrementally and provably.

    Exit codes: 0 done, 1 failed, 2 wrong use or configuration, 3 differences found or data did not move.
    """
    keep_pandas_from_lists()


def process() -> None:
    """The command as a process of its own.

    It ends without taking its modules apart, which takes Python a tenth of a second: what had to be closed is closed
    by now, and whoever asked to be called in the end is called."""
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)


if __name__ == "__main__":
    process()
