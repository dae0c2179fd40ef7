"""The commands status, explain, describe, grants, history, report and plugins."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import (
    command_options,
    config_option,
    open_project,
    opened,
    schema_options,
    tables_argument,
)

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@tables_argument
@config_option
@command_options
def status(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Show the status of every table: its scope, its newest value, what is pending.

    Example: tidegate status
    """
    found = open_project(config, output).status(*tables)
    output.status(found)
    return 1 if any(table.state == "failed" for table in found) else 0


@click.command()
@click.argument("table")
@config_option
@click.option("--count", is_flag=True, help="Count the rows of every value, not only inside the look-back.")
@click.option("--sql", "as_sql", is_flag=True, help="Print the queries with which the next run would read rows.")
@schema_options(required=False)
@command_options
def explain(
    table: str,
    config: Path,
    count: bool,
    as_sql: bool,
    source_db: str | None,
    target_schema: str | None,
    tables_file: Path,
    output: Output,
) -> int:
    """Show the rows of each value in source, lake and target, its state, and the next step.

    With --source-db and --target-schema, of a table in conf/tables.yml.

    Example: tidegate explain daily_transactions --count
    """
    if source_db and target_schema:
        from tidegate.config.per_run import Chosen, project_of

        project = opened(project_of(Chosen(source_db, target_schema, (table,)), config, tables_file), output)
    else:
        project = open_project(config, output)
    if as_sql:
        statements = project.queries(table)
        lines = [f"-- {window}\n{statement};" for window, statement in statements.items()]
        output.facts(dict(statements), "\n".join(lines) or f"-- nothing of {table} is due: no rows would be read")
        return 0
    found = project.table(table).status(count_all=count)
    output.explanation(found)
    return 1 if found.state == "failed" else 0


@click.command()
@click.argument("table")
@config_option
@command_options
def describe(table: str, config: Path, output: Output) -> int:
    """Show what the catalogs of source and target say about a table, and what this login may not see of it.

    Example: tidegate describe daily_transactions
    """
    found = open_project(config, output).describe(table)
    output.description(found)
    return 0 if all(found.values()) else 1


@click.command()
@config_option
@command_options
def grants(config: Path, output: Output) -> int:
    """Print the statements that give the logins of source and target the rights they need, for an administrator.

    Connects to no server. On SQL Server the script itself checks whether a target table exists, else grants its schema.

    Example: tidegate grants > grants.sql
    """
    tidegate = open_project(config, output)
    found = tidegate.grants()
    # One script for each of two databases: its first line names the database.
    places = {"source": tidegate.project.source, "target": tidegate.project.target}
    lines = []
    for side, statements in found.items():
        lines += [f"-- {side}: run this at {places[side].display}", *(f"{statement};" for statement in statements)]
    output.facts(dict(found), "\n".join(lines))
    return 0


@click.command()
@config_option
@click.option("--last", type=int, default=20, show_default=True, help="How many runs.")
@command_options
def history(config: Path, last: int, output: Output) -> int:
    """List the newest runs: when, what, how many rows, how long.

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
    """List the installed databases, changes, lakes, loads and checks.

    Example: tidegate plugins --json
    """
    from tidegate.plugins import installed

    found = installed()
    lines = [f"{plugin.folder:<10} {plugin.kind:<20} {plugin.about}" for plugin in found]
    output.facts({"plugins": [asdict(plugin) for plugin in found]}, "\n".join(lines))
    return 0
