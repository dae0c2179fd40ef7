"""The commands plan, run, verify, repair and backfill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.options import (
    command_options,
    config_option,
    confirm,
    exit_code_of,
    move_options,
    open_project,
    tables_argument,
    yes_option,
)

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@tables_argument
@config_option
@command_options
def plan(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Show what `run` would do, and change nothing.

    Example: tidegate plan 'daily_*'
    """
    planned = open_project(config, output).plan(*tables)
    output.plan(planned)
    return 1 if planned.failures else 0


@click.command()
@tables_argument
@config_option
@click.option("--reload", is_flag=True, help="Extract and load everything in scope again.")
@click.option("--resync", is_flag=True, help="Read tables as a whole whose change feed lost its place.")
@click.option("--resume", is_flag=True, help="Also go on with tables that were restored to an earlier state.")
@yes_option
@move_options
@command_options
def run(
    tables: tuple[str, ...],
    config: Path,
    reload: bool,
    resync: bool,
    resume: bool,
    yes: bool,
    output: Output,
    **how: Any,
) -> int:
    """Bring the target in sync with the source: extract what is new, load it, prove it.

    Example: tidegate run daily_transactions
    """
    if reload:
        confirm("Everything in scope will be extracted and replaced in the target. Go on?", yes)
    with open_project(config, output, **how) as project:
        report = project.run(*tables, reload=reload, resync=resync, resume=resume, check=False)
        output.report(report)
        return exit_code_of(project, report)


@click.command()
@tables_argument
@config_option
@click.option("--deep", is_flag=True, help="Name the keys of the rows that differ.")
@move_options
@command_options
def verify(
    tables: tuple[str, ...],
    config: Path,
    deep: bool,
    output: Output,
    **how: Any,
) -> int:
    """Compare every row of source and target within the scope. Exit code 3 when they differ.

    Example: tidegate verify --deep daily_transactions
    """
    with open_project(config, output, **how) as project:
        report = project.verify(*tables, deep=deep)
        output.report(report)
        return exit_code_of(project, report)


@click.command()
@tables_argument
@config_option
@yes_option
@move_options
@command_options
def repair(
    tables: tuple[str, ...],
    config: Path,
    yes: bool,
    output: Output,
    **how: Any,
) -> int:
    """Verify, then extract and load again the values that differ.

    Example: tidegate repair daily_transactions --yes
    """
    confirm("Values that differ from the source will be replaced in the target. Go on?", yes)
    with open_project(config, output, **how) as project:
        report = project.repair(*tables, check=False)
        output.report(report)
        return exit_code_of(project, report)


@click.command()
@click.argument("table")
@config_option
@click.option("--from", "from_", required=True, metavar="VALUE", help="The first value, included.")
@click.option("--to", required=True, metavar="VALUE", help="The last value, included.")
@move_options
@command_options
def backfill(table: str, config: Path, from_: str, to: str, output: Output, **how: Any) -> int:
    """Add a range of older values to the scope, and load those that are missing.

    Example: tidegate backfill daily_transactions --from 20240101 --to 20240131
    """
    with open_project(config, output, **how) as project:
        report = project.backfill(table, from_, to, check=False)
        output.report(report)
        return exit_code_of(project, report)
