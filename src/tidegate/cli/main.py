"""The command `tidegate`: finds and runs a command by its name."""

from __future__ import annotations

import importlib

import click

from tidegate._version import __version__
from tidegate.spark.startup import exit_now
from tidegate.spark.startup.without_pandas import keep_pandas_from_lists

# The module of each command. A module is imported only when its command runs, so that --help stays fast.
_COMMANDS = {
    "start": ("init", "demo"),
    "sync": ("sync",),
    "daily": ("plan", "run", "verify", "repair", "backfill"),
    "analyze": ("analyze", "validate"),
    "show": ("status", "explain", "describe", "grants", "history", "report", "plugins"),
    "monitor": ("monitor",),
    "ui": ("ui",),
    "engine": ("engine",),
    "operate": ("adopt", "forget", "clean"),
    "lake": ("lake", "export"),
    "dlt": ("dlt",),
    "schema": ("schema",),
    "watermark": ("watermark",),
    "feed": ("feed", "doctor"),
    "triggers": ("triggers",),
    "snapshot": ("snapshot",),
    "restore": ("restore",),
    "config": ("config",),
}


class _Commands(click.Group):
    """Finds a command by its name. Lists the commands in the order in which a user needs them."""

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
    """Run the command, then end this process with its exit code."""
    try:
        main()
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        exit_now(end.code)


if __name__ == "__main__":
    process()
