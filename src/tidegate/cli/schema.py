"""The commands `schema create` and `schema print`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, open_project

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.group()
def schema() -> None:
    """Create or print Tidegate's own tables: watermarks, metrics, gaps, late rows, duplicates and others.

    Example: tidegate schema create
    """


@schema.command()
@config_option
@command_options
def create(config: Path, output: Output) -> int:
    """Create the own tables in the target. Tables that are there get the columns that they lack.

    Example: tidegate schema create
    """
    added = open_project(config, output).create_schema()
    output.facts({"added": added}, "\n".join([*(f"created: {name}" for name in added), f"{len(added)} created"]))
    return 0


@schema.command(name="print")
@click.option(
    "--for",
    "kind",
    required=True,
    metavar="DATABASE",
    help="The database that the statements are for: sqlserver, postgresql or mysql.",
)
@command_options
def print_(kind: str, output: Output) -> int:
    """Print the statements that create the own tables, for an administrator. Connects to nothing.

    Example: tidegate schema print --for postgresql
    """
    from tidegate.api import schema_statements

    statements = schema_statements(kind)
    output.facts({"for": kind, "statements": statements}, "\n".join(f"{statement};" for statement in statements))
    return 0
