"""The command triggers."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, confirm, open_project, yes_option
from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from tidegate.api import Tidegate
    from tidegate.cli.output import Output


@click.command()
@click.argument("action", type=click.Choice(["print", "install", "check", "remove"]))
@click.argument("table")
@config_option
@yes_option
@command_options
def triggers(action: str, table: str, config: Path, yes: bool, output: Output) -> int:
    """Print, install, check or remove the triggers of a table with `changes: triggers`, and their log.

    `print` shows what `install` would run, so that somebody else can run it. `check` says what is missing, with exit
    code 3. Nothing else ever removes a trigger.

    Example: tidegate triggers print orders
    """
    project = open_project(config, output)
    _require_triggers(project, table)
    if action == "check":
        [found] = project.doctor(table)
        problems = found.health.problems if found.health is not None else ()
        facts = {"table": table, "problem": found.problem, "problems": [asdict(problem) for problem in problems]}
        lines = [line for problem in problems for line in (problem.text, *problem.statements)]
        lines += [found.problem] if found.problem and not problems else []
        output.facts(facts, "\n".join(lines) or f"{table}: its triggers are installed and enabled.")
        return 3 if lines else 0
    command = project.drop_feed if action == "remove" else project.create_feed
    statements = [statement for outcome in command(table, dry_run=True) for statement in outcome.statements]
    if statements and action != "print":
        for statement in statements:
            click.echo(statement, err=True)
        confirm(f"{len(statements)} statements run on the source. Go on?", yes)
        command(table)
    said = "\n".join(statements) if action == "print" else f"{len(statements)} statements were run on the source."
    output.facts({"table": table, "action": action, "statements": statements}, said if statements else _NOTHING[action])
    return 0


_NOTHING = {
    "print": "-- everything is installed",
    "install": "Everything is installed.",
    "remove": "There is nothing to remove.",
}


def _require_triggers(project: Tidegate, table: str) -> None:
    settings = project.project.tables.get(table)
    if settings is not None and settings.change_name != "triggers":
        raise ConfigError(
            f"{table} is not read by triggers: it has `changes: {settings.change_name}`.",
            "Nothing was changed.",
            "Set `changes: triggers` for it.",
        )
