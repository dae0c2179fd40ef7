"""The command restore."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.options import command_options, config_option, confirm, move_options, open_project, yes_option
from tidegate.errors import ConfigError

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@click.argument("table")
@config_option
@click.option("--value", metavar="VALUE", help="The partition value whose replaced rows come back.")
@click.option("--as-of", metavar="TIME", help="The whole table as of a time, such as '2024-01-31 10:00', in UTC.")
@click.option("--entry", metavar="ID", help="The whole table as of a version of `tidegate lake history`.")
@yes_option
@move_options
@command_options
def restore(
    table: str,
    config: Path,
    value: str | None,
    as_of: str | None,
    entry: str | None,
    yes: bool,
    output: Output,
    **how: Any,
) -> int:
    """Bring back the rows of a partition value that the newest switch replaced, or a whole table as it was.

    `--value` needs `archive_retention_days`; `--as-of` and `--entry` need a lake that keeps a history. Until
    `tidegate run --resume`, runs leave the table as it is and exit with 3.

    Example: tidegate restore daily_transactions --value 20240105 --yes
    """
    if [value, as_of, entry].count(None) != 2:
        raise ConfigError(
            "A restore needs one of `--value`, `--as-of` and `--entry`.",
            "Nothing was changed.",
            "`tidegate lake history TABLE` lists times and versions.",
        )
    what = table if value is None else f"{table} {value}"
    confirm(f"{what} will get the rows that it had before. Go on?", yes)
    with open_project(config, output, **how) as project:
        if value is None:
            report = project.restore_as_of(table, as_of or entry, check=False)
            output.report(report)
            return report.exit_code
        restored = project.restore(table, value)
    way = "switched in" if restored.by_switch else "copied"
    text = f"{table} {value}: {restored.rows:,} rows {way} from {restored.archive}"
    output.facts(asdict(restored), f"{text}; `tidegate run --resume` goes on with the source's rows")
    return 0
