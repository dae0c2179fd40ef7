"""The command `monitor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, open_project, tables_argument

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@tables_argument
@config_option
@click.option("--no-send", is_flag=True, help="Only show figures and alerts; send nothing to the outlets.")
@command_options
def monitor(tables: tuple[str, ...], config: Path, no_send: bool, output: Output) -> int:
    """Evaluate figures and alerts now, and send them to the outlets of `monitoring:`.

    Moves no row. Exit code 1 with a critical alert, 3 with a warning, else 0.

    Example: tidegate monitor
    """
    project = open_project(config, output)
    health = project.monitor(*tables)
    failed = [] if no_send else project.publish(health)
    output.health(health, failed)
    return health.exit_code or (1 if failed else 0)
