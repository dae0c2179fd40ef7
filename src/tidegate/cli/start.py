"""init and demo."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidegate.cli.options import command_options

if TYPE_CHECKING:
    from tidegate.cli.output import Output


@click.command()
@click.option("--source", required=True, metavar="URL", help="The source, or a variable such as '${PROD_URL}'.")
@click.option("--target", required=True, metavar="URL", help="The target, or a variable such as '${UAT_URL}'.")
@click.option("--lake", default="./parquet_data", show_default=True, help="The folder of the lake.")
@click.option("--table", "patterns", multiple=True, metavar="PATTERN", help="Only tables that match; may be repeated.")
@click.option(
    "-o", "--output", "path", type=click.Path(path_type=Path), default=Path("tidegate.yml"), show_default=True
)
@click.option("--force", is_flag=True, help="Overwrite the file if it exists.")
@command_options
def init(
    source: str, target: str, lake: str, patterns: tuple[str, ...], path: Path, force: bool, output: Output
) -> int:
    """Read the catalog of the source and propose a configuration, with a reason for each choice.

    A file that exists keeps all that is in it, and gets the tables that it does not have.

    Example: tidegate init --source '${PROD_URL}' --target '${UAT_URL}'
    """
    from tidegate.api import propose_file

    existing = path.read_text(encoding="utf-8") if path.exists() and not force else None
    proposed = propose_file(source, target, lake, patterns, existing)
    if proposed.text != existing:
        path.write_text(proposed.text, encoding="utf-8")
    if existing is not None:
        text = f"{path}: {proposed.tables} tables added; what was written before is as it was"
        facts = {"file": str(path), "tables": proposed.tables, "others": 0, "notes": list(proposed.notes)}
        output.facts(facts, "\n".join([text, *proposed.notes]))
        return 0
    others = "; comments give the reason for each of the others" if proposed.others else ""
    lines = [
        f"{path}: {proposed.tables} of {proposed.tables + proposed.others} tables proposed{others}",
        *proposed.notes,
    ]
    facts = {
        "file": str(path),
        "tables": proposed.tables,
        "others": proposed.others,
        "notes": list(proposed.notes),
    }
    output.facts(facts, "\n".join(lines))
    return 0


@click.command()
@click.option(
    "--rows",
    type=click.IntRange(min=10_000),
    default=1_000_000,
    show_default=True,
    help="About how many rows the source has at first.",
)
@click.option("--folder", type=click.Path(path_type=Path), help="Where to keep everything.  [default: ./tidegate-demo]")
@command_options
def demo(rows: int, folder: Path | None, output: Output) -> int:
    """Try Tidegate on an embedded PostgreSQL: first run, nothing to do, a new day, healing, a killed run, the proof.

    With --json the story goes to standard error, and the path of the report to standard output.

    Example: tidegate demo
    """
    from tidegate.demo.story import tell

    if not output.is_json:
        return tell(rows, folder)
    reports: list[Path] = []
    with _printing_on_standard_error():
        code = tell(rows, folder, reports.append)
    output.facts({"report": str(reports[0]) if reports else None, "exit_code": code}, "")
    return code


@contextmanager
def _printing_on_standard_error() -> Iterator[None]:
    """Send standard output to standard error inside of the block, also that of child processes."""
    sys.stdout.flush()
    standard_output = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(standard_output, 1)
        os.close(standard_output)
