"""The command watermark."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, confirm, open_project, yes_option

if TYPE_CHECKING:
    from tidegate.cli.output import Output
    from tidegate.model.status import VersionsStatus


@click.command()
@click.argument("action", type=click.Choice(["get", "set", "reset"]))
@click.argument("table")
@click.argument("value", required=False)
@config_option
@click.option("--why", metavar="TEXT", help="Why it is changed. Kept in the ledger, with who and when.")
@click.option("--who", metavar="NAME", help="Who changes it, instead of the user of this process.")
@yes_option
@command_options
def watermark(
    action: str,
    table: str,
    value: str | None,
    config: Path,
    why: str | None,
    who: str | None,
    yes: bool,
    output: Output,
) -> int:
    """Show how far an incremental table is synced, set it, or reset it so that the next run reads all.

    Example: tidegate watermark set orders "2024-01-31 00:00:00" --why "the source was corrected" --yes
    """
    project = open_project(config, output)
    if action == "get":
        status = project.watermark(table)
        output.facts(_facts(status), "\n".join(_lines(status)))
        return 0
    if (action == "set") != (value is not None):
        raise click.UsageError("`set` needs a value, `reset` takes none.")
    if not why:
        raise click.UsageError("--why is needed: it is kept in the ledger.")
    confirm(f"The next run reads {table} {f'from {value} on' if value else 'from its beginning'}. Go on?", yes)
    done = project.set_watermark(table, value, why=why, who=who)
    facts = {"table": table, "watermark": value, "who": done.who, "why": done.why}
    output.facts(facts, f"{table}: {done}")
    return 0


def _facts(status: VersionsStatus) -> dict[str, object]:
    names = ("table", "watermark", "newest", "held_by", "gaps", "watermark_set")
    return {"column": status.partition_column, **{name: asdict(status)[name] for name in names}}


def _lines(status: VersionsStatus) -> list[str]:
    lines = [f"{status.table}: {status.partition_column} up to {status.watermark or 'nothing'}"]
    if status.newest != status.watermark:
        lines.append(f"the newest {status.partition_column} of the source is {status.newest or 'none'}")
    lines += [status.watermark_set] if status.watermark_set else []
    lines += [f"open: {holder}" for holder in status.held_by]
    return lines + [f"read again later: {gap}" for gap in status.gaps]
