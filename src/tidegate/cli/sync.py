"""sync: tables of one source database into one target schema, both chosen per run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.options import command_options, config_option, move_options, opened, schema_options

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@schema_options(required=True)
@click.option(
    "-t", "--tables", multiple=True, required=True, metavar="TABLE", help="A table, without schema; may be repeated."
)
@config_option
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option("--reload", is_flag=True, help="Extract and load everything in scope again.")
@move_options
@command_options
def sync(
    source_db: str,
    target_schema: str,
    tables_file: Path,
    tables: tuple[str, ...],
    config: Path,
    dry_run: bool,
    reload: bool,
    output: Output,
    **how: Any,
) -> int:
    """Bring tables of one source database into one schema of the target: what changed, or all of it.

    Connections and lake come from the configuration file, which needs no tables, or from TIDEGATE_SOURCE,
    TIDEGATE_TARGET and TIDEGATE_LAKE. conf/tables.yml says how each table is synced.

    Example: tidegate sync --source-db sales_db --target-schema reporting_sales --tables customers -t orders
    """
    from tidegate.config.per_run import Chosen, project_of

    chosen = Chosen(source_db, target_schema, tables)
    engine = "spark" if how.get("master") else how.get("engine")
    with opened(project_of(chosen, config, tables_file, engine=engine), output, **how) as project:
        if dry_run:
            planned = project.plan()
            output.plan(planned)
            return 1 if planned.failures else 0
        report = project.run(reload=reload, check=False)
        output.report(report)
    return report.exit_code
