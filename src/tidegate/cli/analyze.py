"""The commands analyze and validate."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tidegate.cli.options import command_options, config_option, move_options, open_project, tables_argument

if TYPE_CHECKING:
    from tidegate.cli.output import Output

_SHOWN = 10


@click.command()
@tables_argument
@config_option
@command_options
def analyze(tables: tuple[str, ...], config: Path, output: Output) -> int:
    """Show what source, lake and target hold of each table, and what is missing: values, ranges, gaps, hashes.

    Counts rows and moves none. Exit code 3 when something is missing or differs.

    Example: tidegate analyze daily_transactions
    """
    from tidegate.model.analysis import is_missing

    found = open_project(config, output).analyze(*tables)
    output.facts(found, "\n".join(line for table, facts in found.items() for line in _lines(table, facts)))
    return 3 if any(map(is_missing, found.values())) else 0


def _lines(table: str, facts: dict[str, Any]) -> Iterator[str]:
    yield f"{table}  {facts['state']}"
    for name, value in facts.items():
        if name in ("state", "type") or value in (None, [], {}, False):
            continue
        if isinstance(value, list):
            more = f", ... ({len(value):,})" if len(value) > _SHOWN else ""
            value = ", ".join(map(str, value[:_SHOWN])) + more
        elif isinstance(value, dict):
            value = ", ".join(f"{key} {inner}" for key, inner in value.items() if inner not in (None, []))
        yield f"  {name.replace('_', ' ')}: {value}"


@click.command()
@tables_argument
@config_option
@click.option("--deep", is_flag=True, help="Name the keys of the rows that differ.")
@move_options
@command_options
def validate(tables: tuple[str, ...], config: Path, deep: bool, output: Output, **how: Any) -> int:
    """Compare every row, and look at versions, rules and native partitions. Exit code 3 for issues.

    Example: tidegate validate daily_transactions
    """
    with open_project(config, output, **how) as project:
        found = project.validate(*tables, deep=deep)
    lines = [
        f"{table}: {kind}: {text}" for table, kinds in found.items() for kind, texts in kinds.items() for text in texts
    ]
    output.facts(found, "\n".join(lines) or "validate: no issues")
    return 3 if found else 0
