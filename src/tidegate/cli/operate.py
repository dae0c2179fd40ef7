"""The commands adopt, forget and clean."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.options import (
    command_options,
    config_option,
    confirm,
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
@yes_option
@move_options
@command_options
def adopt(
    tables: tuple[str, ...],
    config: Path,
    yes: bool,
    output: Output,
    **how: Any,
) -> int:
    """Take over rows that the target already has: record their receipts and scope, and reload nothing.

    Example: tidegate adopt daily_transactions --yes
    """
    confirm("The rows of the target will be recorded as they are, not compared with the source. Go on?", yes)
    with open_project(config, output, **how) as project:
        report = project.adopt(*tables, check=False)
        output.report(report)
    return report.exit_code


@click.command()
@click.argument("table")
@config_option
@click.option("--value", required=True, metavar="VALUE", help="The value to remove from the scope.")
@yes_option
@command_options
def forget(table: str, config: Path, value: str, yes: bool, output: Output) -> int:
    """Remove a value from the scope. Its rows and its file stay; no later run changes them.

    Example: tidegate forget daily_transactions --value 20240105 --yes
    """
    confirm(f"{table} {value} will no longer be kept in sync. Go on?", yes)
    scope = open_project(config, output).forget(table, value)
    output.facts({"table": table, "forgotten": value, "scope": str(scope)}, f"{table}: scope is now {scope}")
    return 0


@click.command()
@config_option
@click.option(
    "--older-than",
    type=float,
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="Keep younger ones.",
)
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@command_options
def clean(config: Path, older_than: float, dry_run: bool, output: Output) -> int:
    """Remove what killed runs left: unfinished files of the lake, old reports. Committed files stay.

    Example: tidegate clean --dry-run
    """
    cleaned = open_project(config, output).clean(older_than_hours=older_than, dry_run=dry_run)
    word = "would be removed" if dry_run else "removed"
    lines = [
        *(f"{word}: {folder}" for folder in cleaned.workspaces),
        f"{len(cleaned.workspaces)} workspaces and {cleaned.reports} reports {word}",
        *([f"{cleaned.archives} archives of snapshots {word}"] if cleaned.archives else []),
    ]
    output.facts(asdict(cleaned), "\n".join(lines))
    return 0
