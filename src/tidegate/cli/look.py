"""status, explain, describe, grants, history, report, plugins."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, open_project, tables_argument

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@tables_argument
@config_option
@command_options
def status(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Where every table stands: its scope, its newest value, what is pending.

    Example: tidegate status
    """
    found = open_project(config, output).status(*tables)
    output.status(found)
    return 1 if any(table.state == "failed" for table in found) else 0


@click.command()
@click.argument("table")
@config_option
@click.option("--count", is_flag=True, help="Count the rows of every value, not only inside the look-back.")
@command_options
def explain(table: str, config: Path, count: bool, output: Output) -> int:
    """What source, lake and target hold of each value of a table, and what follows from it.

    Example: tidegate explain daily_transactions --count
    """
    found = open_project(config, output).table(table).status(count_all=count)
    output.explanation(found)
    return 1 if found.state == "failed" else 0


@click.command()
@click.argument("table")
@config_option
@command_options
def describe(table: str, config: Path, output: Output) -> int:
    """All that the catalogs of source and target tell of a table, and what of it this login is not told.

    Example: tidegate describe daily_transactions
    """
    found = open_project(config, output).describe(table)
    output.description(found)
    return 0 if all(found.values()) else 1


@click.command()
@config_option
@command_options
def grants(config: Path, output: Output) -> int:
    """The statements that an administrator runs for the logins of source and target: what they need, and no more.

    Asks no server. On SQL Server the script looks by itself whether a target table exists: else it grants its schema.

    Example: tidegate grants > grants.sql
    """
    tidegate = open_project(config, output)
    found = tidegate.grants()
    # Two scripts, for two databases: each says for which.
    places = {"source": tidegate.project.source, "target": tidegate.project.target}
    sides = ((f"-- {side}: run this at {places[side].display}", statements) for side, statements in found.items())
    output.facts(dict(found), "\n".join("\n".join([head, *(f"{one};" for one in all_)]) for head, all_ in sides))
    return 0


@click.command()
@config_option
@click.option("--last", type=int, default=20, show_default=True, help="How many.")
@command_options
def history(config: Path, last: int, output: Output) -> int:
    """The newest runs: when, what, how many rows, how long.

    Example: tidegate history --last 5
    """
    output.history(open_project(config, output).history(last))
    return 0


@click.command()
@config_option
@click.option(
    "-o",
    "--output",
    "path",
    type=click.Path(path_type=Path),
    default=Path("tidegate-report.html"),
    show_default=True,
)
@command_options
def report(config: Path, path: Path, output: Output) -> int:
    """Write one self-contained HTML page about the project and its runs.

    Example: tidegate report -o monday.html
    """
    written = open_project(config, output).report(path).absolute()
    output.facts({"report": str(written)}, str(written))
    return 0


@click.command()
@command_options
def plugins(output: Output) -> int:
    """List the databases, change strategies, lakes and loads that are installed.

    Example: tidegate plugins --json
    """
    from tidegate.plugins import installed

    found = installed()
    lines = [f"{plugin.folder:<10} {plugin.kind:<20} {plugin.about}" for plugin in found]
    output.facts({"plugins": [asdict(plugin) for plugin in found]}, "\n".join(lines))
    return 0
