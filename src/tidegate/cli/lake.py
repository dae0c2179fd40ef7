"""The commands `lake history`, `lake doctor`, `lake clean`, `lake adopt` and `export`."""

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
from tidegate.model.names import TableName

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.group()
def lake() -> None:
    """Look into an Iceberg or Delta lake: what happened to a table, and the state of its files.

    Example: tidegate lake history daily_transactions
    """


@lake.command()
@click.argument("table")
@config_option
@click.option("--last", type=click.IntRange(min=1), default=20, show_default=True, help="How many versions.")
@command_options
def history(table: str, config: Path, last: int, output: Output) -> int:
    """List the newest versions of a table: when, what happened, which window, how many rows.

    Example: tidegate lake history daily_transactions --last 5
    """
    found = open_project(config, output).lake_history(table)[::-1][:last]
    lines = [
        f"{version.at[:19]}  {version.id:<20} {version.operation:<10} {version.window:<20}"
        f" {'' if version.rows is None else f'{version.rows:,} rows':<16} {version.run or 'somebody else'}"
        for version in found
    ]
    output.facts({"versions": [asdict(version) for version in found]}, "\n".join(lines) or "no version yet")
    return 0


@lake.command()
@tables_argument
@config_option
@command_options
def doctor(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Show the files and versions of tables, how many files compaction would leave, and changes by somebody else.

    Exit code 3 when somebody else took rows out of a table.

    Example: tidegate lake doctor
    """
    found = open_project(config, output).lake_health(*tables)
    lines = []
    for table, health in found.items():
        lines.append(
            f"{table}: {health.versions:,} versions, {health.files:,} files, {health.bytes:,} bytes;"
            f" {health.small_files:,} of them small, compaction would leave {health.after_compaction:,}"
        )
        lines += [f"  version {version}: somebody else took rows out of the table" for version in health.foreign]
    output.facts({"tables": {table: asdict(health) for table, health in found.items()}}, "\n".join(lines))
    return 3 if any(health.foreign for health in found.values()) else 0


@lake.command()
@tables_argument
@config_option
@click.option("--keep-days", type=click.FloatRange(min=0), default=7.0, show_default=True, help="Keep younger states.")
@click.option("--merge/--no-merge", default=True, show_default=True, help="Merge small files into large ones.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@yes_option
@move_options
@command_options
def clean(
    tables: tuple[str, ...],
    config: Path,
    keep_days: float,
    merge: bool,
    dry_run: bool,
    yes: bool,
    output: Output,
    **how: Any,
) -> int:
    """Merge small files, forget old states of tables, and delete files that neither a state nor a run needs any more.

    Example: tidegate lake clean --keep-days 30 --dry-run
    """
    with open_project(config, output, **how) as project:
        found = project.lake_clean(*tables, keep_days=keep_days, merge=merge)
        versions, files, merged = (
            sum(getattr(one, name) for one in found.values()) for name in ("versions", "files", "merged")
        )
        if not dry_run and (versions or files or merged):
            question = f"{versions:,} states and {files:,} files will be removed, {merged:,} files merged. Go on?"
            confirm(question, yes)
            found = project.lake_clean(*tables, keep_days=keep_days, merge=merge, dry_run=False)
    word = "would be " if dry_run else ""
    lines = [
        f"{table}: {one.versions:,} states and {one.files:,} files of {one.bytes:,} bytes {word}removed,"
        f" {one.merged:,} small files {word}merged into {one.into:,}"
        for table, one in found.items()
    ]
    output.facts({"dry_run": dry_run, "tables": {table: asdict(one) for table, one in found.items()}}, "\n".join(lines))
    return 0


@lake.command()
@click.argument("table")
@config_option
@command_options
def adopt(table: str, config: Path, output: Output) -> int:
    """Take over an Iceberg table of a path catalog: name it in the catalog of the lake.

    From then on nobody else may write it by its path: both would go on from the same state.

    Example: tidegate lake adopt sales.orders
    """
    place = open_project(config, output).lake.opened(TableName.parse(table)).adopt()
    output.facts({"table": table, "metadata": place}, f"{table}: adopted from {place}")
    return 0


@click.command()
@click.argument("table")
@config_option
@click.option("--to", "kind", type=click.Choice(["iceberg", "delta", "parquet"]), default="iceberg", show_default=True)
@click.option("--path", type=click.Path(path_type=Path), default=Path("./warehouse"), show_default=True)
@move_options
@command_options
def export(table: str, config: Path, kind: str, path: Path, output: Output, **how: Any) -> int:
    """Write all rows that a table of the source has now into a lake of its own, as one version. No target is touched.

    Example: tidegate export daily_transactions --to iceberg --path ./warehouse
    """
    with open_project(config, output, **how) as project:
        exported = project.export(table, kind, path)
    facts = {"table": table, "rows": exported.rows, "place": exported.place, "hash": exported.hash}
    output.facts(facts, f"{table}: {exported.rows:,} rows in {exported.place}")
    return 0
