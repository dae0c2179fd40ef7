"""The commands `dlt plan`, `dlt load` and `dlt verify`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options, config_option, open_project, tables_argument

if TYPE_CHECKING:
    from tidegate.cli.output import Output
    from tidegate.dlt.deliver import DeliveryReport

_MOST_LISTED = 10
_reload_option = click.option("--reload", is_flag=True, help="Deliver every entry again, whatever was delivered.")


@click.group()
def dlt() -> None:
    """Deliver entries of the lake to a destination of dlt, as `dlt:` in the configuration names it.

    Example: tidegate dlt load
    """


@dlt.command()
@tables_argument
@config_option
@_reload_option
@command_options
def plan(tables: tuple[str, ...], config: Path, reload: bool, output: Output) -> int:
    """Show which entries the destination lacks, and how each table would be written.

    Example: tidegate dlt plan daily_transactions
    """
    from tidegate.dlt.deliver import plan

    found = plan(open_project(config, output), *tables, reload=reload)
    lines = []
    for table in found:
        lines.append(f"{table.table}: {table.problem or table.way}")
        lines += [f"  deliver {window}" for window in table.windows[:_MOST_LISTED]]
        if len(table.windows) > _MOST_LISTED:
            lines.append(f"  ... and {len(table.windows) - _MOST_LISTED:,} more")
        if not table.windows and not table.problem:
            lines.append("  nothing to do")
    output.facts({"tables": [{**asdict(table), "way": str(table.way)} for table in found]}, "\n".join(lines))
    return 1 if any(table.problem for table in found) else 0


@dlt.command()
@tables_argument
@config_option
@_reload_option
@command_options
def load(tables: tuple[str, ...], config: Path, reload: bool, output: Output) -> int:
    """Deliver the entries that the destination lacks, read them back and compare them with the lake.

    Exit code 3 when the destination holds other rows than the lake.

    Example: tidegate dlt load
    """
    from tidegate.dlt.deliver import deliver

    report = deliver(open_project(config, output), *tables, reload=reload)
    words = "nothing to do" if not (report.windows or report.failures) else f"{report.windows:,} entries delivered"
    return _reported(report, output, f"{words}, {report.rows:,} rows")


@dlt.command()
@tables_argument
@config_option
@command_options
def verify(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Read all that was delivered, and compare it with the lake.

    Exit code 3 when the destination holds other rows than the lake.

    Example: tidegate dlt verify
    """
    from tidegate.dlt.deliver import verify

    return _reported(verify(open_project(config, output), *tables), output, "compared")


def _reported(report: DeliveryReport, output: Output, done: str) -> int:
    lines = [f"{proof.table} {proof.window}: {_in_words(proof.lake, proof.destination)}" for proof in report.differing]
    equal = len(report.proofs) - len(report.differing)
    lines.append(
        f"{report.destination}: {done}; {equal:,} of {len(report.proofs):,} receipts equal ({report.seconds:.1f} s)"
    )
    for table, problem in report.failures:
        if not output.is_json:
            output.failure(table, problem)
    output.facts({**asdict(report), "exit_code": report.exit_code}, "\n".join(lines))
    return report.exit_code


def _in_words(lake: str, destination: str) -> str:
    ours, theirs = lake.split()[0], destination.split()[0]
    return (
        f"the lake has {ours} rows, the destination {theirs}"
        if ours != theirs
        else f"{ours} rows, of which some are not those of the lake"
    )
