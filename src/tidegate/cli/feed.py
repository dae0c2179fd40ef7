"""The commands feed and doctor."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, confirm, open_project, tables_argument, yes_option

if TYPE_CHECKING:
    from tidegate.api import Tidegate
    from tidegate.cli.output import Output


@click.command()
@click.argument("action", type=click.Choice(["create", "drop", "status"]))
@tables_argument
@config_option
@click.option("--dry-run", is_flag=True, help="Print the statements and run none of them.")
@yes_option
@command_options
def feed(action: str, tables: tuple[str, ...], config: Path, dry_run: bool, yes: bool, output: Output) -> int:
    """Create or drop on the source what change feeds need, with every statement shown; or show how the feeds are.

    Example: tidegate feed create orders --dry-run
    """
    project = open_project(config, output)
    if action == "status":
        return _examine(project, tables, output)
    command = project.create_feed if action == "create" else project.drop_feed
    planned = command(*tables, dry_run=True)
    statements = [statement for outcome in planned for statement in outcome.statements]
    if statements and not dry_run:
        # These are the only statements that change the source.
        for statement in statements:
            click.echo(statement, err=True)
        confirm(f"{len(statements)} statements run on the source. Go on?", yes)
        planned = command(*tables)
    facts = {"action": action, "feeds": [asdict(outcome) for outcome in planned]}
    said = "\n".join(statements) if dry_run else f"{len(statements)} statements were run on the source."
    output.facts(facts, said if statements else "Nothing has to be done.")
    return 0


@click.command()
@tables_argument
@config_option
@command_options
def doctor(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Say whether change feeds are alive, how far behind, what they cost, and what is missing. Exit code 3: problems.

    Example: tidegate doctor orders
    """
    return _examine(open_project(config, output), tables, output)


def _examine(project: Tidegate, tables: tuple[str, ...], output: Output) -> int:
    found = project.doctor(*tables)
    facts = {"tables": [{"table": each.table, "problem": each.problem, **_health(each.health)} for each in found]}
    output.facts(facts, "\n".join(project.in_words(found)))
    return 0 if all(each.health is not None and not each.health.problems for each in found) else 3


def _health(health: object) -> dict[str, object]:
    return {} if health is None else asdict(health)  # type: ignore[call-overload]
